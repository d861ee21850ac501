#include "daemon/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"

/* Join with "/" into buf; -ENAMETOOLONG. */
static int join(char *buf, size_t cap, const char *dir, const char *name)
{
	int n = snprintf(buf, cap, "%s%s%s", dir, dir[0] && name[0] ? "/" : "", name);

	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

/* Written relative to where the daemon was started; it must mean the same for programs that it starts. */
static int make_absolute(const struct berth_surroundings *around, const char *path, char *buf, size_t cap)
{
	return join(buf, cap, path[0] == '/' ? "" : around->cwd, path);
}

/* base/name below $XDG_x, or below home/fallback. */
static int find_xdg(const char *xdg, const char *home, const char *fallback, const char *name, char *buf,
                    struct berth_error *err)
{
	char base[BERTH_PATH_MAX];

	if (xdg && xdg[0] == '/')
		return join(buf, BERTH_PATH_MAX, xdg, name);
	if (!home || home[0] != '/')
		return berth_error_set(err, -EINVAL,
		                       "no home directory is known; set HOME, or give --state and --config");
	if (join(base, sizeof(base), home, fallback) < 0)
		return -ENAMETOOLONG;
	return join(buf, BERTH_PATH_MAX, base, name);
}

static int find_socket(const struct berth_surroundings *around, const char *given, struct berth_paths *paths)
{
	int n;

	if (given)
		return make_absolute(around, given, paths->socket, sizeof(paths->socket));
	if (around->runtime_dir && around->runtime_dir[0] == '/')
		return join(paths->socket, sizeof(paths->socket), around->runtime_dir, "berth/berth.sock");
	n = snprintf(paths->socket, sizeof(paths->socket), "/tmp/berth-%u/berth.sock", around->uid);
	return n < 0 || (size_t)n >= sizeof(paths->socket) ? -ENAMETOOLONG : 0;
}

static int too_long(int r, const char *what, size_t most, struct berth_error *err)
{
	if (r == -ENAMETOOLONG)
		return berth_error_set(err, -EINVAL, "the path of %s is too long: %zu bytes are the most", what, most);
	return r;
}

int berth_paths_find(const struct berth_surroundings *around, const char *config, const char *state, const char *socket,
                     struct berth_paths *ret, struct berth_error *err)
{
	struct berth_paths paths = {.is_config_given = config, .is_state_given = state, .is_socket_given = socket};
	int r;

	r = config ? make_absolute(around, config, paths.config, sizeof(paths.config))
	           : find_xdg(around->config_home, around->home, ".config", "berth/berth.yaml", paths.config, err);
	if (r < 0)
		return too_long(r, "the configuration", sizeof(paths.config) - 1, err);
	r = state ? make_absolute(around, state, paths.state, sizeof(paths.state))
	          : find_xdg(around->state_home, around->home, ".local/state", "berth", paths.state, err);
	if (r < 0)
		return too_long(r, "the state directory", sizeof(paths.state) - 1, err);
	r = find_socket(around, socket, &paths);
	if (r < 0)
		return too_long(r, "the unix socket (give a shorter one with --socket)", sizeof(paths.socket) - 1, err);
	*ret = paths;
	return 0;
}

int berth_paths_make(const struct berth_paths *paths, struct berth_error *err)
{
	char dir[sizeof(paths->socket)];
	int r = berth_dir_make_private(paths->state, err);

	if (r < 0 || paths->is_socket_given)
		return r;
	(void)snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(paths->socket, '/') - paths->socket), paths->socket);
	return berth_dir_make_private(dir, err);
}

/* The folder part of path; "" when it has none. */
static void folder_of(const char *path, char *buf, size_t cap)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(buf, cap, "%.*s", slash ? (int)(slash - path) : 0, path);
}

void berth_program_dirs_find(struct berth_program_dirs *ret)
{
	const char *libexec = getenv("BERTH_LIBEXEC");
	const char *called = (const char *)getauxval(AT_EXECFN); /* the name that execve was given */
	char real[BERTH_PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", real, sizeof(real) - 1);

	*ret = (struct berth_program_dirs){0};
	if (libexec)
		(void)snprintf(ret->libexec, sizeof(ret->libexec), "%s", libexec);
	if (called && called[0] == '/')
		folder_of(called, ret->called, sizeof(ret->called));
	else if (called) {
		BERTH_AUTO_FREE char *absolute = realpath(".", NULL);
		char whole[BERTH_PATH_MAX];

		if (absolute && join(whole, sizeof(whole), absolute, called) == 0)
			folder_of(whole, ret->called, sizeof(ret->called));
	}
	if (n > 0) {
		real[n] = '\0';
		folder_of(real, ret->real, sizeof(ret->real));
	}
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* dir/sub/name, when that is a program. sub may be "". */
static int try_place(const char *dir, const char *sub, const char *name, char *ret, size_t cap,
                     struct berth_text *tried)
{
	BERTH_AUTO_TEXT struct berth_text path = {0};

	if (!dir[0])
		return -ENOENT;
	berth_text_addf(&path, "%s%s%s/%s", dir, sub[0] ? "/" : "", sub, name);
	if (!berth_text_str(&path))
		return -ENOMEM;
	berth_text_addf(tried, "%s%s", tried->len ? ", " : "", berth_text_str(&path));
	if (path.len >= cap || !is_program(path.at))
		return -ENOENT;
	(void)snprintf(ret, cap, "%s", path.at);
	return 0;
}

int berth_program_find(const struct berth_program_dirs *dirs, const char *name, const char *room, char *ret, size_t cap,
                       struct berth_error *err)
{
	BERTH_AUTO_TEXT struct berth_text tried = {0};
	char sibling[64];
	const char *subs[] = {"", sibling, "../libexec/berth"};
	const char *bases[] = {dirs->called, dirs->real};
	size_t n_bases = strcmp(dirs->called, dirs->real) == 0 ? 1 : 2;

	(void)snprintf(sibling, sizeof(sibling), "../%s", room);
	if (dirs->libexec[0]) {
		if (try_place(dirs->libexec, "", name, ret, cap, &tried) == 0)
			return 0;
		return berth_error_set(err, -ENOENT, "%s is not in BERTH_LIBEXEC=%s", name, dirs->libexec);
	}
	for (size_t i = 0; i < sizeof(subs) / sizeof(subs[0]); i++)
		for (size_t k = 0; k < n_bases; k++)
			if (try_place(bases[k], subs[i], name, ret, cap, &tried) == 0)
				return 0;
	return berth_error_set(err, -ENOENT, "%s is missing: set BERTH_LIBEXEC to its folder; looked at %s", name,
	                       berth_text_str(&tried) ? tried.at : "");
}
