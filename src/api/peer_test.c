#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "api/listen.h"
#include "api/peer.h"

/* A loopback connection: the accepted end and the client's. */
static int connect_pair(const char *addr, int *ret_client)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {0};
	socklen_t len = sizeof(at);
	uint16_t port;
	BERTH_AUTO_CLOSE int listener = berth_listen_loopback(addr, 0, false, &port, NULL);

	if (listener < 0)
		return -1;
	assert_int_equal(getsockname(listener, &at.any, &len), 0);
	*ret_client = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(*ret_client, &at.any, len), 0);
	return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
}

static void expect_ours(const char *addr)
{
	BERTH_AUTO_CLOSE int client = -1;
	BERTH_AUTO_CLOSE int server = connect_pair(addr, &client);
	uid_t uid = 12345;

	if (server < 0)
		return; /* a machine without IPv6 */
	assert_int_equal(berth_peer_uid(server, &uid), 0);
	assert_int_equal(uid, geteuid());
}

static void test_our_own_connection(void **state)
{
	if (!berth_peer_is_told())
		skip();
	expect_ours("127.0.0.1");
	expect_ours("127.0.0.9");
	expect_ours("::1");
}

static void test_another_users_connection(void **state)
{
	BERTH_AUTO_CLOSE int client = -1;
	BERTH_AUTO_CLOSE int server = -1;
	uid_t uid;

	if (getuid() != 0 || !berth_peer_is_told())
		skip();
	assert_int_equal(seteuid(65534), 0);
	server = connect_pair("127.0.0.1", &client);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(berth_peer_uid(server, &uid), 0);
	assert_int_equal(uid, 65534);
}

/* The kernel shows a closed socket as root's: it must count as nobody's. */
static void test_a_closed_connection_is_nobodys(void **state)
{
	int client = -1;
	BERTH_AUTO_CLOSE int server = connect_pair("127.0.0.1", &client);
	uid_t uid = 12345;

	if (!berth_peer_is_told())
		skip();
	assert_int_equal(close(client), 0);
	assert_true(berth_peer_uid(server, &uid) < 0);
	assert_int_equal(uid, 12345);
}

static void test_what_is_no_tcp_connection(void **state)
{
	int pair[2];
	uid_t uid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(berth_peer_uid(pair[0], &uid), -EAFNOSUPPORT);
	assert_int_equal(close(pair[0]), 0);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(berth_peer_uid(-1, &uid), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_our_own_connection),
		cmocka_unit_test(test_another_users_connection),
		cmocka_unit_test(test_a_closed_connection_is_nobodys),
		cmocka_unit_test(test_what_is_no_tcp_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
