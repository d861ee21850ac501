#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "api/listen.h"
#include "base/file.h"

struct fixture {
	char dir[40];
	char path[64];
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	memcpy(fixture->dir, "/tmp/berth-listen-XXXXXX", 25);
	assert_non_null(mkdtemp(fixture->dir));
	(void)snprintf(fixture->path, sizeof(fixture->path), "%s/run/berth.sock", fixture->dir);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(berth_dir_remove(((struct fixture *)*state)->dir), 0);
	free(*state);
	return 0;
}

static bool can_connect(const char *path)
{
	BERTH_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	memcpy(addr.sun_path, path, strlen(path) + 1);
	return connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0;
}

static void test_the_socket_is_private(void **state)
{
	const struct fixture *fixture = *state;
	BERTH_AUTO_CLOSE int fd = berth_listen_unix(fixture->path, NULL);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(stat(fixture->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(can_connect(fixture->path));
}

static void test_a_dead_socket_is_replaced(void **state)
{
	const struct fixture *fixture = *state;
	int dead = berth_listen_unix(fixture->path, NULL);
	BERTH_AUTO_CLOSE int fd = -1;

	assert_true(dead >= 0);
	assert_int_equal(close(dead), 0);
	assert_false(can_connect(fixture->path));
	fd = berth_listen_unix(fixture->path, NULL);
	assert_true(fd >= 0);
	assert_true(can_connect(fixture->path));
}

static void test_a_live_socket_stays(void **state)
{
	const struct fixture *fixture = *state;
	BERTH_AUTO_CLOSE int first = berth_listen_unix(fixture->path, NULL);
	struct berth_error err = {0};

	assert_true(first >= 0);
	assert_int_equal(berth_listen_unix(fixture->path, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, fixture->path));
	assert_true(can_connect(fixture->path));
}

static void test_what_is_no_socket_stays(void **state)
{
	const struct fixture *fixture = *state;
	char run[64];
	struct berth_error err = {0};

	(void)snprintf(run, sizeof(run), "%s/run", fixture->dir);
	assert_int_equal(mkdir(run, 0700), 0);
	assert_int_equal(berth_file_replace_at(AT_FDCWD, fixture->path, "mine", 4, 0600), 0);
	assert_int_equal(berth_listen_unix(fixture->path, &err), -EEXIST);
	assert_int_equal(access(fixture->path, F_OK), 0);
}

static void test_bad_paths(void **state)
{
	const struct fixture *fixture = *state;
	char path[200];
	char wide[64];

	(void)snprintf(path, sizeof(path), "%s/%0120d/s", fixture->dir, 0);
	assert_int_equal(berth_listen_unix(path, NULL), -ENAMETOOLONG);
	assert_int_equal(berth_listen_unix("relative/berth.sock", NULL), -EINVAL);
	assert_int_equal(berth_listen_unix("/berth.sock", NULL), -EINVAL);
	/* Others could put their own socket into a directory that is open to them. */
	(void)snprintf(wide, sizeof(wide), "%s/wide", fixture->dir);
	assert_int_equal(mkdir(wide, 0700), 0);
	assert_int_equal(chmod(wide, 0777), 0);
	(void)snprintf(path, sizeof(path), "%s/s", wide);
	assert_int_equal(berth_listen_unix(path, NULL), -EPERM);
	/* They may look into it, or write where only owners may remove: /tmp. */
	for (int i = 0; i < 2; i++) {
		int fd;

		assert_int_equal(chmod(wide, i ? 0755 : 01777), 0);
		fd = berth_listen_unix(path, NULL);
		assert_true(fd >= 0);
		assert_int_equal(close(fd), 0);
	}
}

static void test_only_loopback(void **state)
{
	static const char *const refused[] = {
		"0.0.0.0", "192.168.1.1", "8.8.8.8", "::", "::ffff:127.0.0.1", "localhost", "", "128.0.0.1", "fe80::1"};
	struct berth_error err = {0};
	uint16_t port;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(berth_listen_loopback(refused[i], 0, true, &port, &err), -EPERM);
	assert_non_null(strstr(err.text, "loopback"));
}

static void test_a_taken_port(void **state)
{
	struct berth_error err = {0};
	uint16_t port = 0;
	uint16_t moved = 0;
	BERTH_AUTO_CLOSE int first = berth_listen_loopback("127.0.0.1", 0, false, &port, NULL);
	BERTH_AUTO_CLOSE int second = -1;

	assert_true(first >= 0);
	assert_int_not_equal(port, 0);
	assert_int_equal(berth_listen_loopback("127.0.0.1", port, false, &moved, &err), -EADDRINUSE);
	second = berth_listen_loopback("127.0.0.1", port, true, &moved, &err);
	assert_true(second >= 0);
	assert_int_not_equal(moved, 0);
	assert_int_not_equal(moved, port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_socket_is_private, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_dead_socket_is_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_live_socket_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_no_socket_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_paths, set_up, tear_down),
		cmocka_unit_test(test_only_loopback),
		cmocka_unit_test(test_a_taken_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
