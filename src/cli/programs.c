#include "cli/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

/* directory/between/name, when that can be run. */
static const char *try_place(const char *directory, size_t n, const char *between, const char *name,
                             struct berth_arena *arena)
{
	BERTH_AUTO_TEXT struct berth_text path = {0};

	berth_text_add_n(&path, directory, n);
	berth_text_addf(&path, "/%s%s", between, name);
	if (path.is_failed || access(path.at, X_OK) < 0)
		return NULL;
	return berth_arena_strdup(arena, path.at);
}

static const char *try_path(const char *name, struct berth_arena *arena)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		const size_t n = strcspn(path, ":");
		const char *found = n > 0 ? try_place(path, n, "", name, arena) : NULL;

		if (found)
			return found;
		path += n + (path[n] == ':');
	}
	return NULL;
}

const char *berth_program_find(const char *called, const char *name, struct berth_arena *arena)
{
	static const char *const betweens[] = {"", "../daemon/", "../libexec/berth/"};
	const char *slash = strrchr(called, '/');
	const char *found = slash ? try_place(called, (size_t)(slash - called), "", name, arena) : NULL;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (found)
		return found;
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; !found && slash && i < sizeof(betweens) / sizeof(betweens[0]); i++)
		found = try_place(self, (size_t)(slash - self), betweens[i], name, arena);
	return found ? found : try_path(name, arena);
}

static int take_all(int fd, struct berth_text *ret)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			berth_text_add_n(ret, buf, (size_t)n);
	}
	return ret->is_failed ? -ENOMEM : 0;
}

int berth_program_capture(const char *program, char *const *argv, struct berth_text *ret, int *ret_status)
{
	posix_spawn_file_actions_t actions;
	int ends[2];
	int status = 0;
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = posix_spawn_file_actions_init(&actions);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
	if (r == 0)
		r = posix_spawn(&pid, program, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(ends[1]);
	r = r == 0 ? take_all(ends[0], ret) : -r;
	(void)close(ends[0]);
	if (r < 0)
		return r;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

int berth_program_start(const char *name, char *const *argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r = posix_spawn_file_actions_init(&actions);

	for (int fd = 0; r == 0 && fd < 3; fd++)
		r = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawnp(&pid, name, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}
