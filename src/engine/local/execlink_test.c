#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "engine/local/execlink.h"

/* A berth-exec that does what the test wants, and the link to it. */
struct stage {
	char dir[32];
	int dirfd, listener, exec;
	sd_event *event;
	struct berth_execlink *link;
	unsigned n_ready, n_messages;
};

static void on_ready(void *arg)
{
	((struct stage *)arg)->n_ready++;
}

static void on_message(void *arg, const struct berth_wire *msg)
{
	((struct stage *)arg)->n_messages++;
}

static void turn(struct stage *stage)
{
	assert_true(sd_event_run(stage->event, 10000) >= 0);
}

/* What the link sent; the descriptor that came along is closed, *ret_has_fd says that there was one. */
static enum berth_wire_kind next_message(struct stage *stage, bool *ret_has_fd)
{
	BERTH_AUTO_CLOSE int fd = -1;
	struct berth_wire msg;
	int r;

	while ((r = berth_wire_receive(stage->exec, &msg, NULL, 0, &fd)) == -EAGAIN)
		turn(stage);
	*ret_has_fd = fd >= 0;
	return r > 0 ? (enum berth_wire_kind)msg.kind : BERTH_WIRE_UNKNOWN;
}

static void send_kind(struct stage *stage, enum berth_wire_kind kind)
{
	struct berth_wire msg;

	berth_wire_init(&msg, kind, NULL);
	assert_int_equal(berth_wire_send(stage->exec, &msg, NULL, -1), 0);
}

/* Until the link has come, greeted, and was welcomed. */
static void meet(struct stage *stage)
{
	const unsigned n_ready = stage->n_ready;
	bool has_fd;

	while ((stage->exec = berth_wire_accept(stage->listener)) == -EAGAIN)
		turn(stage);
	assert_true(stage->exec >= 0);
	assert_int_equal(next_message(stage, &has_fd), BERTH_WIRE_HELLO);
	assert_false(berth_execlink_is_ready(stage->link));
	send_kind(stage, BERTH_WIRE_WELCOME);
	while (stage->n_ready == n_ready)
		turn(stage);
	assert_true(berth_execlink_is_ready(stage->link));
}

static int set_up(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	const struct berth_execlink_host host = {stage, on_ready, on_message};

	assert_non_null(stage);
	(void)snprintf(stage->dir, sizeof(stage->dir), "/tmp/berth-link-XXXXXX");
	assert_non_null(mkdtemp(stage->dir));
	stage->dirfd = open(stage->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	stage->listener = berth_wire_listen(stage->dirfd, "exec.sock");
	assert_true(stage->listener >= 0);
	assert_true(sd_event_new(&stage->event) >= 0);
	assert_int_equal(berth_execlink_open(stage->event, stage->dirfd, stage->dir, "/nowhere/berth-exec", &host,
	                                     &stage->link),
	                 0);
	*state = stage;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *stage = *state;

	berth_execlink_close(stage->link);
	sd_event_unref(stage->event);
	if (stage->exec >= 0)
		(void)close(stage->exec);
	(void)close(stage->listener);
	(void)unlinkat(stage->dirfd, "exec.sock", 0);
	(void)unlinkat(stage->dirfd, "exec.log", 0);
	(void)close(stage->dirfd);
	assert_int_equal(rmdir(stage->dir), 0);
	free(stage);
	return 0;
}

static int send_launch(struct stage *stage)
{
	const struct berth_attempt_id id = {1, 1};
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_LAUNCH, &id);
	return berth_execlink_send(stage->link, &msg, open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void test_nothing_is_sent_before_the_welcome(void **state)
{
	struct stage *stage = *state;
	bool has_fd;

	assert_int_equal(send_launch(stage), -ENOTCONN);
	meet(stage);
	assert_int_equal(send_launch(stage), 0);
	assert_int_equal(next_message(stage, &has_fd), BERTH_WIRE_LAUNCH);
	assert_true(has_fd);
	send_kind(stage, BERTH_WIRE_LAUNCHED);
	while (stage->n_messages == 0)
		turn(stage);
	assert_int_equal(stage->n_ready, 1);
}

/* While nobody reads, messages wait in order, each with its descriptor. */
static void test_what_finds_no_room_waits(void **state)
{
	struct stage *stage = *state;
	bool has_fd;

	meet(stage);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(send_launch(stage), 0);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(next_message(stage, &has_fd), BERTH_WIRE_LAUNCH);
		assert_true(has_fd);
	}
	assert_int_equal(berth_wire_receive(stage->exec, &(struct berth_wire){0}, NULL, 0, NULL), -EAGAIN);
}

/* A line that broke is no answer about the attempt: it is asked for again on the next one. */
static void test_a_lost_line_refuses_nothing(void **state)
{
	struct stage *stage = *state;
	bool has_fd;

	meet(stage);
	(void)close(BERTH_TAKE_FD(stage->exec));
	assert_int_equal(send_launch(stage), -ENOTCONN);
	while (berth_execlink_is_ready(stage->link))
		turn(stage);
	assert_int_equal(send_launch(stage), -ENOTCONN);
	meet(stage);
	assert_int_equal(stage->n_ready, 2);
	assert_int_equal(send_launch(stage), 0);
	assert_int_equal(next_message(stage, &has_fd), BERTH_WIRE_LAUNCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_is_sent_before_the_welcome, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_finds_no_room_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_lost_line_refuses_nothing, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
