#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"

/* Each test has a directory of its own, open as dir and named by path. */
struct place {
	char path[64];
	int dir;
};

static int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	(void)snprintf(place->path, sizeof(place->path), "/tmp/berth-file-test.XXXXXX");
	if (!mkdtemp(place->path))
		return -1;
	place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->dir < 0;
}

static int place_remove(void **state)
{
	struct place *place = *state;
	int r = berth_dir_remove(place->path);

	(void)close(place->dir);
	free(place);
	return r;
}

static char *below(const struct place *place, const char *name, char buf[static 512])
{
	(void)snprintf(buf, 512, "%s/%s", place->path, name);
	return buf;
}

static void write_file(const struct place *place, const char *name, const void *data, size_t n)
{
	BERTH_AUTO_CLOSE int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(berth_fd_write_all(fd, data, n), 0);
}

static void assert_content(const struct place *place, const char *name, const void *data, size_t n)
{
	BERTH_AUTO_FREE char *read = NULL;
	size_t len = 0;

	assert_int_equal(berth_file_read_at(place->dir, name, n, &read, &len), 0);
	assert_int_equal(len, n);
	assert_memory_equal(read, data, n);
	assert_int_equal(read[n], 0);
}

static void test_read_whole(void **state)
{
	const struct place *place = *state;
	static char big[100000];
	BERTH_AUTO_FREE char *read = NULL;

	memset(big, 'b', sizeof(big));
	write_file(place, "empty", "", 0);
	write_file(place, "zeroes", "a\0b", 3);
	write_file(place, "big", big, sizeof(big));
	assert_content(place, "empty", "", 0);
	assert_content(place, "zeroes", "a\0b", 3);
	assert_content(place, "big", big, sizeof(big));
	assert_int_equal(berth_file_read_at(place->dir, "zeroes", 100, &read, NULL), 0);
}

static void test_read_says_why_not(void **state)
{
	const struct place *place = *state;
	char *untouched = (char *)&errno;
	char *read = untouched;
	size_t len = 77;

	write_file(place, "four", "1234", 4);
	assert_int_equal(berth_file_read_at(place->dir, "four", 3, &read, &len), -EFBIG);
	assert_int_equal(berth_file_read_at(place->dir, "none", 9, &read, &len), -ENOENT);
	assert_int_equal(berth_file_read_at(place->dir, "four/x", 9, &read, &len), -ENOTDIR);
	assert_int_equal(mkdirat(place->dir, "dir", 0700), 0);
	assert_int_equal(berth_file_read_at(place->dir, "dir", 9, &read, &len), -EISDIR);
	assert_int_equal(symlinkat("four", place->dir, "link"), 0);
	assert_int_equal(berth_file_read_at(place->dir, "link", 9, &read, &len), -ELOOP);
	assert_int_equal(mkfifoat(place->dir, "fifo", 0600), 0);
	assert_int_equal(berth_file_read_at(place->dir, "fifo", 9, &read, &len), -EINVAL);
	assert_int_equal(berth_file_read_at(AT_FDCWD, "/dev/null", 9, &read, &len), -EINVAL);
	assert_ptr_equal(read, untouched);
	assert_int_equal(len, 77);
}

/* Files under /proc have no size before they are read. */
static void test_read_what_has_no_size(void **state)
{
	BERTH_AUTO_FREE char *read = NULL;
	char *none = NULL;
	size_t len = 0;

	assert_int_equal(berth_file_read_at(AT_FDCWD, "/proc/self/status", 1 << 20, &read, &len), 0);
	assert_true(len > 200 && strlen(read) == len);
	assert_non_null(strstr(read, "\nPid:"));
	assert_int_equal(berth_file_read_at(AT_FDCWD, "/proc/self/status", 100, &none, &len), -EFBIG);
}

static void test_read_proc(void **state)
{
	const struct place *place = *state;
	char name[512];
	char buf[16];
	int pid = 0;

	write_file(place, "f", "123456789012345", 15);
	assert_int_equal(berth_file_read_proc(below(place, "f", name), buf, sizeof(buf)), 0);
	assert_string_equal(buf, "123456789012345");
	assert_int_equal(berth_file_read_proc(name, buf, 15), -EFBIG);
	assert_string_equal(buf, "");
	assert_int_equal(berth_file_read_proc(name, buf, 0), -EINVAL);
	assert_int_equal(symlinkat("f", place->dir, "link"), 0);
	assert_int_equal(berth_file_read_proc(below(place, "link", name), buf, sizeof(buf)), 0);
	memcpy(buf, "old", 4);
	assert_int_equal(berth_file_read_proc(below(place, "none", name), buf, sizeof(buf)), -ENOENT);
	assert_string_equal(buf, "");
	{
		char stat[4096];

		assert_int_equal(berth_file_read_proc("/proc/self/stat", stat, sizeof(stat)), 0);
		assert_int_equal(sscanf(stat, "%d", &pid), 1);
	}
	assert_int_equal(pid, getpid());
}

static void *drain(void *arg)
{
	const int fd = *(int *)arg;
	static char all[300000];
	size_t len = 0;
	ssize_t got;

	while ((got = read(fd, all + len, sizeof(all) - len < 777 ? sizeof(all) - len : 777)) > 0)
		len += (size_t)got;
	return (void *)len;
}

/* A pipe takes less than was offered, many times over. */
static void test_write_all(void **state)
{
	static char big[250000];
	int ends[2];
	pthread_t reader;
	void *len;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&reader, NULL, drain, &ends[0]), 0);
	assert_int_equal(berth_fd_write_all(ends[1], big, sizeof(big)), 0);
	assert_int_equal(close(ends[1]), 0);
	assert_int_equal(pthread_join(reader, &len), 0);
	assert_int_equal((size_t)len, sizeof(big));
	assert_int_equal(close(ends[0]), 0);
	assert_int_equal(berth_fd_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(berth_fd_write_all(-1, NULL, 0), 0);
	{
		BERTH_AUTO_CLOSE int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

		assert_int_equal(berth_fd_write_all(full, "x", 1), -ENOSPC);
	}
}

static void test_sync(void **state)
{
	const struct place *place = *state;
	int ends[2];

	assert_int_equal(berth_fd_sync(place->dir), 0);
	assert_int_equal(berth_fd_sync(-1), -EBADF);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(berth_fd_sync(ends[1]), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static unsigned count_entries(const struct place *place)
{
	char command[600];
	unsigned n = 0;
	FILE *ls;

	(void)snprintf(command, sizeof(command), "ls -A %s | wc -l", place->path);
	ls = popen(command, "r");
	assert_non_null(ls);
	assert_int_equal(fscanf(ls, "%u", &n), 1);
	assert_int_equal(pclose(ls), 0);
	return n;
}

static void test_replace(void **state)
{
	const struct place *place = *state;
	struct stat st;
	char name[512];

	assert_int_equal(berth_file_replace_at(place->dir, "f", "one", 3, 0640), 0);
	assert_content(place, "f", "one", 3);
	assert_int_equal(berth_file_replace_at(place->dir, "f", "second", 6, 0600), 0);
	assert_content(place, "f", "second", 6);
	assert_int_equal(fstatat(place->dir, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(berth_file_replace_at(place->dir, "f", NULL, 0, 0600), 0);
	assert_content(place, "f", "", 0);
	assert_int_equal(mkdirat(place->dir, "sub", 0700), 0);
	assert_int_equal(berth_file_replace_at(place->dir, "sub/g", "x", 1, 0600), 0);
	assert_content(place, "sub/g", "x", 1);
	assert_int_equal(berth_file_replace_at(AT_FDCWD, below(place, "h", name), "y", 1, 0600), 0);
	assert_content(place, "h", "y", 1);
	assert_int_equal(count_entries(place), 3);
}

/* Whatever goes wrong, the old content stays and nothing else is left lying about. */
static void test_a_failed_replace_leaves_no_trace(void **state)
{
	const struct place *place = *state;

	assert_int_equal(mkdirat(place->dir, "dir", 0700), 0);
	assert_int_equal(berth_file_replace_at(place->dir, "dir", "x", 1, 0600), -EISDIR);
	assert_int_equal(berth_file_replace_at(place->dir, "none/f", "x", 1, 0600), -ENOENT);
	assert_int_equal(berth_file_replace_at(-1, "f", "x", 1, 0600), -EBADF);
	assert_int_equal(count_entries(place), 1);
}

/* A link is replaced, not followed: what it points to is not touched. */
static void test_replace_does_not_follow_a_link(void **state)
{
	const struct place *place = *state;

	write_file(place, "precious", "keep", 4);
	assert_int_equal(symlinkat("precious", place->dir, "f"), 0);
	assert_int_equal(berth_file_replace_at(place->dir, "f", "new", 3, 0600), 0);
	assert_content(place, "precious", "keep", 4);
	assert_content(place, "f", "new", 3);
}

static void test_dir_make(void **state)
{
	const struct place *place = *state;
	struct stat st;
	char name[512];

	assert_int_equal(berth_dir_make(below(place, "a/b//c/", name), 0750), 0);
	assert_int_equal(fstatat(place->dir, "a/b/c", &st, 0), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 0777 & ~0750u, 0);
	assert_int_equal(berth_dir_make(name, 0750), 0);
	write_file(place, "f", "", 0);
	assert_int_equal(berth_dir_make(below(place, "f", name), 0700), -ENOTDIR);
	assert_int_equal(berth_dir_make(below(place, "f/x", name), 0700), -ENOTDIR);
	assert_int_equal(symlinkat("a", place->dir, "link"), 0);
	assert_int_equal(berth_dir_make(below(place, "link/d", name), 0700), 0);
	assert_int_equal(fstatat(place->dir, "a/d", &st, 0), 0);
	assert_int_equal(berth_dir_make("/", 0700), 0);
	assert_int_equal(berth_dir_make("", 0700), -ENOENT);
}

static void test_private_dir(void **state)
{
	const struct place *place = *state;
	struct berth_error err = {0};
	struct stat st;
	char name[512];

	assert_int_equal(berth_dir_make_private(below(place, "p/q", name), &err), 0);
	assert_int_equal(fstatat(place->dir, "p/q", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(berth_dir_make_private(name, &err), 0);
	assert_int_equal(err.code, 0);
	assert_int_equal(fchmodat(place->dir, "p/q", 0710, 0), 0);
	assert_int_equal(berth_dir_make_private(name, &err), -EPERM);
	assert_non_null(strstr(err.text, "0710"));
	assert_non_null(strstr(err.text, "chmod 700"));
	assert_int_equal(fchmodat(place->dir, "p/q", 0701, 0), 0);
	assert_int_equal(berth_dir_make_private(name, NULL), -EPERM);
}

static void test_private_dir_is_no_link_and_no_file(void **state)
{
	const struct place *place = *state;
	struct berth_error err = {0};
	char name[512];

	assert_int_equal(mkdirat(place->dir, "real", 0700), 0);
	assert_int_equal(symlinkat("real", place->dir, "link"), 0);
	assert_int_equal(berth_dir_make_private(below(place, "link", name), &err), -EPERM);
	assert_non_null(strstr(err.text, "symbolic link"));
	assert_int_equal(symlinkat("nowhere", place->dir, "dangling"), 0);
	assert_int_equal(berth_dir_make_private(below(place, "dangling", name), &err), -EPERM);
	write_file(place, "f", "", 0);
	assert_int_equal(berth_dir_make_private(below(place, "f", name), &err), -ENOTDIR);
	assert_non_null(strstr(err.text, name));
	assert_int_equal(berth_dir_make_private("/proc/berth-cannot-be-here", &err), -ENOENT);
	assert_non_null(strstr(err.text, "/proc/berth-cannot-be-here"));
}

static void test_private_dir_of_another_user(void **state)
{
	const struct place *place = *state;
	struct berth_error err = {0};
	char name[512];

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(place->dir, "theirs", 0700), 0);
	assert_int_equal(fchownat(place->dir, "theirs", 12345, 12345, 0), 0);
	assert_int_equal(berth_dir_make_private(below(place, "theirs", name), &err), -EPERM);
	assert_non_null(strstr(err.text, "12345"));
}

static void test_dir_remove(void **state)
{
	const struct place *place = *state;
	char name[512];
	struct stat st;

	assert_int_equal(mkdirat(place->dir, "kept", 0700), 0);
	write_file(place, "kept/f", "k", 1);
	assert_int_equal(berth_dir_make(below(place, "t/a/b", name), 0700), 0);
	write_file(place, "t/a/b/f", "x", 1);
	write_file(place, "t/.hidden", "x", 1);
	assert_int_equal(mkfifoat(place->dir, "t/fifo", 0600), 0);
	assert_int_equal(symlinkat("../kept", place->dir, "t/link"), 0);
	assert_int_equal(symlinkat("nowhere", place->dir, "t/dangling"), 0);
	assert_int_equal(berth_dir_remove(below(place, "t", name)), 0);
	assert_int_equal(fstatat(place->dir, "t", &st, 0), -1);
	assert_content(place, "kept/f", "k", 1);
	assert_int_equal(berth_dir_remove(name), 0);
	assert_int_equal(berth_dir_remove(below(place, "kept/f", name)), -ENOTDIR);
	assert_int_equal(symlinkat("kept", place->dir, "l"), 0);
	assert_int_equal(berth_dir_remove(below(place, "l", name)), -ENOTDIR);
	assert_content(place, "kept/f", "k", 1);
}

static void test_dir_remove_gives_up_in_an_abyss(void **state)
{
	const struct place *place = *state;
	int fd = dup(place->dir);
	char name[512];
	int r;

	for (int depth = 0; depth < 300; depth++) {
		int next;

		assert_int_equal(mkdirat(fd, "d", 0700), 0);
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(fd);
		fd = next;
	}
	(void)close(fd);
	assert_int_equal(berth_dir_remove(place->path), -ELOOP);
	/* Take it apart from half way, then the rest. */
	(void)snprintf(name, sizeof(name), "%s", place->path);
	for (int depth = 0; depth < 100; depth++)
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "/d");
	r = berth_dir_remove(name);
	assert_int_equal(r, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_read_whole),
		TEST(test_read_says_why_not),
		TEST(test_read_what_has_no_size),
		TEST(test_read_proc),
		TEST(test_write_all),
		TEST(test_sync),
		TEST(test_replace),
		TEST(test_a_failed_replace_leaves_no_trace),
		TEST(test_replace_does_not_follow_a_link),
		TEST(test_dir_make),
		TEST(test_private_dir),
		TEST(test_private_dir_is_no_link_and_no_file),
		TEST(test_private_dir_of_another_user),
		TEST(test_dir_remove),
		TEST(test_dir_remove_gives_up_in_an_abyss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
