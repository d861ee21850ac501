#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define REMOVE_DEPTH_MAX 256

/* One read, EINTR retried: the number of bytes, 0 at the end, or -errno. */
static ssize_t read_some(int fd, void *buf, size_t n)
{
	ssize_t got;

	do
		got = read(fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* Fill buf until the end of the file or until cap bytes are there: the number of bytes or -errno. */
static ssize_t read_up_to(int fd, char *buf, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		ssize_t got = read_some(fd, buf + len, cap - len);

		if (got < 0)
			return got;
		if (got == 0)
			break;
		len += (size_t)got;
	}
	return (ssize_t)len;
}

static int check_regular(int fd, off_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_size = st.st_size;
	return 0;
}

int berth_file_read_at(int dirfd, const char *name, size_t max, char **ret, size_t *ret_len)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	BERTH_AUTO_FREE char *buf = NULL;
	off_t size = 0;
	size_t cap;
	ssize_t len;
	int r;

	if (fd < 0)
		return -errno;
	r = check_regular(fd, &size);
	if (r < 0)
		return r;
	if ((uint64_t)size > max)
		return -EFBIG;
	/* A file may grow between fstat and read, hence the room beyond its size: one more byte than fits is proof. */
	for (cap = (size_t)size + 1;; cap = cap > max / 2 ? max + 1 : cap * 2) {
		char *grown = realloc(buf, cap + 1);

		if (!grown)
			return -ENOMEM;
		buf = grown;
		if (lseek(fd, 0, SEEK_SET) < 0)
			return -errno;
		len = read_up_to(fd, buf, cap);
		if (len < 0)
			return (int)len;
		if ((size_t)len > max)
			return -EFBIG;
		if ((size_t)len < cap)
			break;
	}
	buf[len] = '\0';
	*ret = BERTH_TAKE(buf);
	if (ret_len)
		*ret_len = (size_t)len;
	return 0;
}

int berth_file_read_proc(const char *path, char *buf, size_t cap)
{
	BERTH_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t len;

	if (cap == 0)
		return -EINVAL;
	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	len = read_up_to(fd, buf, cap);
	if (len < 0 || (size_t)len == cap) {
		buf[0] = '\0';
		return len < 0 ? (int)len : -EFBIG;
	}
	buf[len] = '\0';
	return 0;
}

int berth_fd_write_all(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (put == 0)
			return -EIO;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

int berth_fd_sync(int fd)
{
	int r;

	do
		r = fsync(fd);
	while (r < 0 && errno == EINTR);
	/* EINVAL: a file system, such as cgroup2, that has nothing to write back. */
	return r < 0 && errno != EINVAL ? -errno : 0;
}

/* Open the directory that holds name, seen from dirfd, and point ret_base at its last part: the fd or -errno. */
static int open_parent_at(int dirfd, const char *name, const char **ret_base)
{
	const char *slash = strrchr(name, '/');
	BERTH_AUTO_FREE char *parent = slash ? strndup(name, slash == name ? 1 : (size_t)(slash - name)) : strdup(".");
	int fd;

	if (!parent)
		return -ENOMEM;
	fd = openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_base = slash ? slash + 1 : name;
	return fd;
}

/* Write the new content, durably, under a name of its own. */
static int write_temporary(int dirfd, const char *temporary, const void *data, size_t n, mode_t mode)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	int r;

	if (fd < 0)
		return -errno;
	r = berth_fd_write_all(fd, data, n);
	return r < 0 ? r : berth_fd_sync(fd);
}

int berth_file_replace_at(int dirfd, const char *name, const void *data, size_t n, mode_t mode)
{
	const char *base = NULL;
	BERTH_AUTO_CLOSE int parent = open_parent_at(dirfd, name, &base);
	char temporary[40];
	uint64_t random;
	int r;

	if (parent < 0)
		return parent;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(temporary, sizeof(temporary), ".berth-%016llx.tmp", (unsigned long long)random);
	r = write_temporary(parent, temporary, data, n, mode);
	if (r == 0 && renameat(parent, temporary, parent, base) < 0)
		r = -errno;
	if (r < 0) {
		if (r != -EEXIST)
			(void)unlinkat(parent, temporary, 0);
		return r;
	}
	return berth_fd_sync(parent);
}

/* One directory of a path; its name is durable when this returns. */
static int make_one(const char *path, mode_t mode)
{
	const char *base = NULL;
	struct stat st;
	int r;

	if (mkdir(path, mode) == 0) {
		BERTH_AUTO_CLOSE int parent = open_parent_at(AT_FDCWD, path, &base);

		return parent < 0 ? parent : berth_fd_sync(parent);
	}
	r = -errno;
	if (stat(path, &st) < 0)
		return r;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int berth_dir_make(const char *path, mode_t mode)
{
	BERTH_AUTO_FREE char *partial = strdup(path);
	size_t len;

	if (!partial)
		return -ENOMEM;
	for (len = strlen(partial); len > 1 && partial[len - 1] == '/'; len--)
		partial[len - 1] = '\0';
	for (char *slash = partial + strspn(partial, "/"); (slash = strchr(slash, '/')); slash++) {
		int r;

		*slash = '\0';
		r = make_one(partial, mode);
		*slash = '/';
		if (r < 0)
			return r;
	}
	return make_one(partial, mode);
}

static int check_private(const char *path, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return berth_error_errno(err, -errno, "cannot open the directory %s", path);
	if (S_ISLNK(st.st_mode))
		return berth_error_set(err, -EPERM, "%s is a symbolic link; berth needs a directory of its own there",
		                       path);
	if (!S_ISDIR(st.st_mode))
		return berth_error_set(err, -ENOTDIR, "%s is in the way: berth needs a directory there", path);
	if (st.st_uid != geteuid())
		return berth_error_set(err, -EPERM, "%s belongs to uid %u, not to you (uid %u)", path, st.st_uid,
		                       geteuid());
	if (st.st_mode & 077)
		return berth_error_set(err, -EPERM,
		                       "%s is open to others (mode %04o); if that is not wanted: chmod 700 %s", path,
		                       st.st_mode & 07777, path);
	return 0;
}

int berth_dir_make_private(const char *path, struct berth_error *err)
{
	int r = berth_dir_make(path, 0700);

	/* ENOTDIR may be the last part, a dangling link among them, of which check_private knows more to say. */
	if (r < 0 && r != -ENOTDIR && r != -EEXIST)
		return berth_error_errno(err, r, "cannot make the directory %s", path);
	return check_private(path, err);
}

static int remove_below(int fd, unsigned depth);

static int remove_entry(int dirfd, const char *name, unsigned depth)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0) {
		if (errno == ENOENT)
			return 0;
		if (errno != ENOTDIR && errno != ELOOP)
			return -errno;
		return unlinkat(dirfd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
	}
	r = remove_below(fd, depth);
	if (r < 0)
		return r;
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* Takes fd. */
static int remove_below(int fd, unsigned depth)
{
	__attribute__((cleanup(close_dir))) DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		int r = -errno;

		(void)close(fd);
		return r;
	}
	if (depth >= REMOVE_DEPTH_MAX)
		return -ELOOP;
	while ((errno = 0, entry = readdir(dir))) {
		int r;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = remove_entry(dirfd(dir), entry->d_name, depth + 1);
		if (r < 0)
			return r;
	}
	return -errno;
}

int berth_dir_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISDIR(st.st_mode) ? remove_entry(AT_FDCWD, path, 0) : -ENOTDIR;
}
