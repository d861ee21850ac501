#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "host/place_test.h"
#include "host/wire.h"

struct pair {
	int a, b;
};

static int pair_make(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
		return -1;
	*pair = (struct pair){fds[0], fds[1]};
	*state = pair;
	return 0;
}

static int pair_close(void **state)
{
	struct pair *pair = *state;

	if (pair->a >= 0)
		(void)close(pair->a);
	(void)close(pair->b);
	free(pair);
	return 0;
}

static void test_message(void **state)
{
	struct pair *pair = *state;
	const struct berth_attempt_id id = {12, 3};
	struct berth_attempt_id back_id;
	struct berth_wire msg, back;

	berth_wire_init(&msg, BERTH_WIRE_STOP, &id);
	msg.value = 5;
	assert_int_equal(berth_wire_send(pair->a, &msg, NULL, -1), 0);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), 1);
	assert_memory_equal(&back, &msg, sizeof(msg));
	back_id = berth_wire_id(&back);
	assert_true(berth_attempt_is_same(&back_id, &id));
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), -EAGAIN);
}

static void test_data_follows(void **state)
{
	struct pair *pair = *state;
	static char sent[BERTH_WIRE_LOG_MAX], got[BERTH_WIRE_LOG_MAX];
	struct berth_wire msg, back;

	memset(sent, 'x', sizeof(sent));
	berth_wire_init(&msg, BERTH_WIRE_LOG_DATA, NULL);
	msg.length = sizeof(sent);
	assert_int_equal(berth_wire_send(pair->a, &msg, sent, -1), 0);
	assert_int_equal(berth_wire_receive(pair->b, &back, got, sizeof(got), NULL), 1);
	assert_memory_equal(got, sent, sizeof(sent));
	/* Too little room: thrown away whole. */
	assert_int_equal(berth_wire_send(pair->a, &msg, sent, -1), 0);
	assert_int_equal(berth_wire_receive(pair->b, &back, got, sizeof(got) - 1, NULL), -EBADMSG);
	assert_int_equal(berth_wire_receive(pair->b, &back, got, sizeof(got), NULL), -EAGAIN);
}

static void test_descriptor_travels(void **state)
{
	struct pair *pair = *state;
	struct berth_wire msg, back;
	BERTH_AUTO_CLOSE int passed = -1;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	berth_wire_init(&msg, BERTH_WIRE_LAUNCH, NULL);
	assert_int_equal(berth_wire_send(pair->a, &msg, NULL, ends[1]), 0);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, &passed), 1);
	assert_true(passed >= 0 && passed != ends[1]);
	assert_true(fcntl(passed, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(passed, "x", 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(berth_wire_send(pair->a, &msg, NULL, -1), 0);
	(void)close(BERTH_TAKE_FD(passed));
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, &passed), 1);
	assert_int_equal(passed, -1);
}

/* How many descriptors this process has. */
static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void send_descriptors(int to, const struct berth_wire *msg, const int *fds, size_t n)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {(void *)msg, sizeof(*msg)};
	struct msghdr packet = {.msg_iov = &part,
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = CMSG_SPACE(sizeof(int) * n)};

	*CMSG_FIRSTHDR(&packet) = (struct cmsghdr){CMSG_LEN(sizeof(int) * n), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&packet)), fds, sizeof(int) * n);
	assert_true(sendmsg(to, &packet, 0) > 0);
}

/* Descriptors nobody asked for are closed, however many come. */
static void test_no_descriptor_leaks(void **state)
{
	struct pair *pair = *state;
	const int fds[8] = {0, 1, 2, 0, 1, 2, 0, 1};
	int before = count_descriptors();
	struct berth_wire msg, back;
	int passed = -1;

	berth_wire_init(&msg, BERTH_WIRE_LAUNCH, NULL);
	send_descriptors(pair->a, &msg, fds, 1);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), 1);
	send_descriptors(pair->a, &msg, fds, 8);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, &passed), -EBADMSG);
	assert_int_equal(passed, -1);
	send_descriptors(pair->a, &msg, fds, 3);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, &passed), 1);
	(void)close(passed);
	msg.magic = 0;
	send_descriptors(pair->a, &msg, fds, 2);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, &passed), -EBADMSG);
	assert_int_equal(count_descriptors(), before);
}

static void assert_refused(struct pair *pair, const void *bytes, size_t n)
{
	struct berth_wire back;

	assert_int_equal(send(pair->a, bytes, n, 0), n);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), -EBADMSG);
}

static struct berth_wire *fresh(struct berth_wire *msg)
{
	berth_wire_init(msg, BERTH_WIRE_STOP, NULL);
	return msg;
}

static void test_refusals(void **state)
{
	struct pair *pair = *state;
	struct {
		struct berth_wire msg;
		char more[4];
	} bad;

	(void)fresh(&bad.msg);
	assert_refused(pair, &bad, sizeof(bad.msg) - 1);
	assert_refused(pair, &bad, sizeof(bad));
	assert_refused(pair, &bad, 1);
	fresh(&bad.msg)->version++;
	assert_refused(pair, &bad, sizeof(bad.msg));
	fresh(&bad.msg)->kind = BERTH_WIRE_UNKNOWN;
	assert_refused(pair, &bad, sizeof(bad.msg));
	fresh(&bad.msg)->kind = BERTH_WIRE_COUNT;
	assert_refused(pair, &bad, sizeof(bad.msg));
	fresh(&bad.msg)->n_uuid = BERTH_WIRE_DEVICES_MAX + 1;
	assert_refused(pair, &bad, sizeof(bad.msg));
	memset(fresh(&bad.msg)->text, 'x', sizeof(bad.msg.text));
	assert_refused(pair, &bad, sizeof(bad.msg));
	memset(fresh(&bad.msg)->uuid[15], 'x', sizeof(bad.msg.uuid[15]));
	assert_refused(pair, &bad, sizeof(bad.msg));
	fresh(&bad.msg)->kind = BERTH_WIRE_LOG_DATA;
	bad.msg.length = 5;
	assert_refused(pair, &bad, sizeof(bad));
}

static void test_peer_is_gone(void **state)
{
	struct pair *pair = *state;
	struct berth_wire msg, back;

	berth_wire_init(&msg, BERTH_WIRE_STOP, NULL);
	assert_int_equal(berth_wire_send(pair->a, &msg, NULL, -1), 0);
	assert_int_equal(berth_wire_send(pair->b, &msg, NULL, -1), 0);
	(void)close(BERTH_TAKE_FD(pair->a));
	/* What was said before it went still arrives. */
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), 0);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), 1);
	assert_int_equal(berth_wire_receive(pair->b, &back, NULL, 0, NULL), 0);
	assert_int_equal(berth_wire_send(pair->b, &msg, NULL, -1), -EPIPE);
}

static void test_peer_that_does_not_read(void **state)
{
	struct pair *pair = *state;
	struct berth_wire msg;
	int r = 0;

	berth_wire_init(&msg, BERTH_WIRE_STOP, NULL);
	for (int i = 0; i < 100000 && r == 0; i++)
		r = berth_wire_send(pair->a, &msg, NULL, -1);
	assert_int_equal(r, -EAGAIN);
}

static void test_listen_and_connect(void **state)
{
	struct place *place = *state;
	struct berth_wire msg, back;
	struct stat st;
	BERTH_AUTO_CLOSE int listener = -1;
	BERTH_AUTO_CLOSE int client = -1;
	BERTH_AUTO_CLOSE int server = -1;

	assert_int_equal(berth_wire_connect(place->dir, "12.1.sock"), -ENOENT);
	/* Left by somebody who died. */
	place_write(place, "12.1.sock", "");
	assert_int_equal(berth_wire_connect(place->dir, "12.1.sock"), -ECONNREFUSED);
	listener = berth_wire_listen(place->dir, "12.1.sock");
	assert_true(listener >= 0);
	assert_int_equal(fstatat(place->dir, "12.1.sock", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(berth_wire_accept(listener), -EAGAIN);
	client = berth_wire_connect(place->dir, "12.1.sock");
	assert_true(client >= 0);
	server = berth_wire_accept(listener);
	assert_true(server >= 0);
	berth_wire_init(&msg, BERTH_WIRE_KILL, NULL);
	assert_int_equal(berth_wire_send(client, &msg, NULL, -1), 0);
	assert_int_equal(berth_wire_receive(server, &back, NULL, 0, NULL), 1);
	(void)close(BERTH_TAKE_FD(listener));
	assert_int_equal(berth_wire_connect(place->dir, "12.1.sock"), -ECONNREFUSED);
}

static void test_name_too_long(void **state)
{
	struct place *place = *state;
	char name[120];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(berth_wire_listen(place->dir, name), -ENAMETOOLONG);
	assert_int_equal(berth_wire_connect(place->dir, name), -ENAMETOOLONG);
}

/* A process of nobody connects to a socket that its mode would let it reach; needs root to become nobody. */
static void test_other_users_are_turned_away(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int listener = -1;
	pid_t child;
	int status, r;

	if (geteuid() != 0)
		skip();
	listener = berth_wire_listen(place->dir, "s");
	assert_int_equal(fchmod(place->dir, 0755), 0);
	assert_int_equal(fchmodat(place->dir, "s", 0666, 0), 0);
	child = fork();
	if (child == 0) {
		struct berth_wire back;
		int fd = setresuid(65534, 65534, 65534) == 0 ? berth_wire_connect(place->dir, "s") : -1;

		while (fd >= 0 && berth_wire_receive(fd, &back, NULL, 0, NULL) == -EAGAIN)
			(void)usleep(1000);
		_exit(fd >= 0 ? 0 : 1);
	}
	while ((r = berth_wire_accept(listener)) == -EAGAIN)
		(void)usleep(1000);
	assert_int_equal(r, -EPERM);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
#define PAIR(f) cmocka_unit_test_setup_teardown(f, pair_make, pair_close)
#define PLACE(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
	const struct CMUnitTest tests[] = {
		PAIR(test_message),
		PAIR(test_data_follows),
		PAIR(test_descriptor_travels),
		PAIR(test_no_descriptor_leaks),
		PAIR(test_refusals),
		PAIR(test_peer_is_gone),
		PAIR(test_peer_that_does_not_read),
		PLACE(test_listen_and_connect),
		PLACE(test_name_too_long),
		PLACE(test_other_users_are_turned_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
