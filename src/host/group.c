#include "host/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "base/file.h"

#define DEPTH_MAX 64 /* of groups that a job made inside its own */

static int join(char *ret, size_t cap, const char *path, const char *name)
{
	int n = snprintf(ret, cap, "%s/%s", path, name);

	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

/* Fields of /proc/self/mountinfo write blanks and backslashes as \ooo. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		*to = *s;
		if (s[0] == '\\' && s[1] && s[2] && s[3]) {
			*to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		}
	}
	*to = '\0';
}

struct mount {
	char *line;       /* owned; root and at point into it */
	const char *root; /* which part of the hierarchy is seen there */
	const char *at;
};

/* "36 35 0:31 ROOT AT OPTIONS… - TYPE SOURCE OPTIONS": takes the line apart when it is cgroup2. */
static bool parse_mount(char *line, struct mount *ret)
{
	char *rest = strstr(line, " - cgroup2 ");
	char *field[5];

	if (!rest)
		return false;
	for (unsigned i = 0; i < 5; i++) {
		field[i] = strsep(&line, " ");
		if (!field[i] || !line)
			return false;
	}
	unescape(field[3]);
	unescape(field[4]);
	ret->root = field[3];
	ret->at = field[4];
	return true;
}

static void free_mount(struct mount *mount)
{
	free(mount->line);
}

static int find_mount(struct mount *ret)
{
	BERTH_AUTO_FCLOSE FILE *file = fopen("/proc/self/mountinfo", "re");
	BERTH_AUTO_FREE char *line = NULL;
	size_t cap = 0;

	if (!file)
		return -errno;
	while (getline(&line, &cap, file) > 0)
		if (parse_mount(line, ret)) {
			ret->line = BERTH_TAKE(line);
			return 0;
		}
	return -ENOENT;
}

/* The v2 line of /proc/self/cgroup, "0::/PATH". */
static int own_group(char *ret, size_t cap)
{
	char text[4096];
	char *at = text;
	int r = berth_file_read_proc("/proc/self/cgroup", text, sizeof(text));

	if (r < 0)
		return r;
	if (strncmp(text, "0::", 3) != 0) {
		at = strstr(text, "\n0::");
		if (!at)
			return -ENOENT;
		at++;
	}
	at += 3;
	at[strcspn(at, "\n")] = '\0';
	if (strlen(at) >= cap)
		return -ENAMETOOLONG;
	memcpy(ret, at, strlen(at) + 1);
	return 0;
}

/* The directory of our own group. */
static int find_own(char *ret, size_t cap, struct berth_error *err)
{
	__attribute__((cleanup(free_mount))) struct mount mount = {0};
	char group[BERTH_GROUP_PATH_MAX];
	int r = find_mount(&mount);
	const char *below = group;
	size_t n;

	if (r < 0)
		return berth_error_set(err, -EOPNOTSUPP, "no cgroup v2 file system is mounted");
	r = own_group(group, sizeof(group));
	if (r < 0)
		return berth_error_set(err, -EOPNOTSUPP, "/proc/self/cgroup names no v2 group");
	/* A mount may show only a part of the hierarchy, as in containers. */
	n = strcmp(mount.root, "/") == 0 ? 0 : strlen(mount.root);
	if (strncmp(group, mount.root, n) == 0 && (group[n] == '/' || group[n] == '\0'))
		below = group + n;
	r = snprintf(ret, cap, "%s%s", mount.at, strcmp(below, "/") == 0 ? "" : below);
	if (r < 0 || (size_t)r >= cap)
		return berth_error_set(err, -EOPNOTSUPP, "the path of the own cgroup is too long");
	return 0;
}

/* Is a group there that can be killed at once (Linux 5.14), and may we move processes from our own group into it? */
static int check_use(const char *own, const char *path, struct berth_error *err)
{
	char file[BERTH_GROUP_PATH_MAX + 32];

	if (join(file, sizeof(file), path, "cgroup.kill") < 0 || faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) < 0)
		return berth_error_set(err, -EOPNOTSUPP, "this kernel has no cgroup.kill (Linux 5.14)");
	if (join(file, sizeof(file), own, "cgroup.procs") < 0 || faccessat(AT_FDCWD, file, W_OK, AT_EACCESS) < 0)
		return berth_error_set(err, -EOPNOTSUPP, "may not move processes out of the own cgroup %s", own);
	return 0;
}

int berth_group_root(const char *tag, char *ret, size_t cap, struct berth_error *err)
{
	char own[BERTH_GROUP_PATH_MAX];
	char path[BERTH_GROUP_PATH_MAX];
	int n, r = find_own(own, sizeof(own), err);

	if (r < 0)
		return r;
	n = snprintf(path, sizeof(path), "%s/berth-%u-%s", own, geteuid(), tag);
	/* Room for a group's name behind it. */
	if (n < 0 || (size_t)n >= cap || (size_t)n + 64 >= sizeof(path))
		return berth_error_set(err, -EOPNOTSUPP, "the path of the own cgroup, %s, is too long", own);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return berth_error_set(err, -EOPNOTSUPP, "may not make a cgroup in %s: %s", own,
		                       strerrordesc_np(errno));
	r = check_use(own, path, err);
	if (r < 0) {
		(void)rmdir(path);
		return r;
	}
	memcpy(ret, path, (size_t)n + 1);
	return 0;
}

int berth_group_make(const char *root, const char *name, char *ret_path, size_t cap)
{
	int r = join(ret_path, cap, root, name);

	if (r < 0)
		return r;
	if (mkdir(ret_path, 0755) == 0)
		return 0;
	/* The last to leave may have removed the root. */
	if (errno != ENOENT || (mkdir(root, 0755) < 0 && errno != EEXIST))
		return -errno;
	return mkdir(ret_path, 0755) < 0 ? -errno : 0;
}

/* Control files take one write, whole; opened by path since a group may go at any time. */
static int write_control(const char *path, const char *name, const char *value)
{
	char file[BERTH_GROUP_PATH_MAX + 32];
	BERTH_AUTO_CLOSE int fd = -1;
	int r = join(file, sizeof(file), path, name);

	if (r < 0)
		return r;
	fd = open(file, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : berth_fd_write_all(fd, value, strlen(value));
}

pid_t berth_group_fork(const char *path)
{
	BERTH_AUTO_CLOSE int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD};
	pid_t pid;

	if (fd < 0)
		return -errno;
	args.cgroup = (uint64_t)fd;
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 ? -errno : pid;
}

int berth_group_attach(const char *path, pid_t pid)
{
	char number[16];

	(void)snprintf(number, sizeof(number), "%d", pid);
	return write_control(path, "cgroup.procs", number);
}

/* Of a group that went while we looked the kernel says ENODEV. */
static bool is_gone(int r)
{
	return r == -ENOENT || r == -ENODEV;
}

int berth_group_kill(const char *path)
{
	int r = write_control(path, "cgroup.kill", "1");

	return is_gone(r) ? 0 : r;
}

/* A number of a file of lines "key number"; -ENODATA when the key is not there. */
static int read_key(const char *path, const char *name, const char *key, unsigned long *ret)
{
	char file[BERTH_GROUP_PATH_MAX + 32];
	char text[1024];
	size_t n = strlen(key);
	int r = join(file, sizeof(file), path, name);

	if (r == 0)
		r = berth_file_read_proc(file, text, sizeof(text));
	if (r < 0)
		return r;
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strncmp(line, key, n) == 0 && line[n] == ' ') {
			*ret = strtoul(line + n + 1, NULL, 10);
			return 0;
		}
	return -ENODATA;
}

int berth_group_is_populated(const char *path)
{
	unsigned long n = 0;
	int r = read_key(path, "cgroup.events", "populated", &n);

	if (is_gone(r))
		return 0;
	return r < 0 ? r : n > 0;
}

bool berth_group_had_oom(const char *path)
{
	unsigned long n = 0;

	return read_key(path, "memory.events", "oom_kill", &n) == 0 && n > 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static int remove_group(const char *path, unsigned depth);

/* What is in the way is found out when the directory itself is removed. A group in use is left whole: empty groups
 * inside are the job's own affair. */
static void remove_below(const char *path, unsigned depth)
{
	__attribute__((cleanup(close_dir))) DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char below[BERTH_GROUP_PATH_MAX * 4];

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    join(below, sizeof(below), path, entry->d_name) == 0)
			(void)remove_group(below, depth + 1);
	}
}

static int remove_group(const char *path, unsigned depth)
{
	if (rmdir(path) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY && errno != ENOTEMPTY)
		return -errno;
	if (depth >= DEPTH_MAX || berth_group_is_populated(path) != 0)
		return -EBUSY;
	remove_below(path, depth);
	return rmdir(path) == 0 || errno == ENOENT ? 0 : -errno;
}

int berth_group_remove(const char *path)
{
	return remove_group(path, 0);
}

void berth_group_sweep(const char *root)
{
	remove_below(root, 0);
}
