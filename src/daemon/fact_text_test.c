#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "daemon/fact_text.h"

static struct berth_core *core;

static void fold(struct berth_fact *fact)
{
	fact->seq = berth_core_seq(core) + 1;
	fact->at_ms = 1000;
	assert_int_equal(berth_core_reserve(core, fact, 1), 0);
	assert_int_equal(berth_core_fold(core, fact), 0);
}

static int set_up(void **state)
{
	struct berth_fact fact;

	core = berth_core_new();
	assert_non_null(core);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node.node = 1;
	fold(&fact);
	for (uint32_t i = 0; i < 2; i++) {
		berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
		fact.u.device.device = i + 1;
		fact.u.device.node = 1;
		fact.u.device.index = i + 4; /* people's number differs from ours */
		fact.u.device.uuid = i ? "SIM-b" : "SIM-a";
		fold(&fact);
	}
	return 0;
}

static int tear_down(void **state)
{
	berth_core_free(core);
	return 0;
}

static void expect(const struct berth_fact *fact, enum berth_log_level level, const char *text)
{
	BERTH_AUTO_TEXT struct berth_text said = {0};

	assert_int_equal(berth_fact_text(core, fact, &said), level);
	assert_string_equal(berth_text_str(&said), text);
}

static struct berth_fact fact_of(enum berth_fact_kind kind)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	return fact;
}

static void test_what_people_ask(void **state)
{
	struct berth_fact fact = fact_of(BERTH_FACT_JOB_SUBMITTED);

	fact.u.submit.job = 12;
	fact.u.submit.name = "train";
	fact.u.submit.user = "lin";
	fact.u.submit.request.gpus = 1;
	expect(&fact, BERTH_LOG_INFO, "job 12 \"train\" of lin: submitted, 1 card");
	fact.u.submit.request.gpus = 0;
	fact.u.submit.is_held = true;
	expect(&fact, BERTH_LOG_INFO, "job 12 \"train\" of lin: submitted, 0 cards, held");
	fact = fact_of(BERTH_FACT_JOB_CANCEL_ASKED);
	fact.u.job.job = 12;
	fact.u.job.by = "lin";
	expect(&fact, BERTH_LOG_INFO, "job 12: lin asked to cancel it");
	fact.kind = BERTH_FACT_JOB_HELD;
	expect(&fact, BERTH_LOG_INFO, "job 12: lin asked to hold it");
	fact.kind = BERTH_FACT_JOB_RELEASED;
	expect(&fact, BERTH_LOG_INFO, "job 12: lin asked to release it");
	fact.kind = BERTH_FACT_JOB_REQUEUE_ASKED;
	expect(&fact, BERTH_LOG_INFO, "job 12: lin asked to run it again");
}

static void test_cards(void **state)
{
	struct berth_fact fact = fact_of(BERTH_FACT_DEVICE_DRAIN);

	fact.u.drain.device = 2;
	fact.u.drain.is_draining = true;
	fact.u.drain.by = "lin";
	fact.u.drain.note = "fan";
	expect(&fact, BERTH_LOG_INFO, "card 5 (SIM-b): taken out of service by lin: fan");
	fact.u.drain.is_draining = false;
	fact.u.drain.note = "";
	expect(&fact, BERTH_LOG_INFO, "card 5 (SIM-b): back in service by lin");
	fact.u.drain.device = 77;
	expect(&fact, BERTH_LOG_DEBUG, "");
}

static void test_attempts(void **state)
{
	struct berth_fact fact = fact_of(BERTH_FACT_ATTEMPT_ASSIGNED);

	fact.u.assigned.job = 12;
	fact.u.assigned.attempt = 1;
	expect(&fact, BERTH_LOG_INFO, "job 12.1: starts");
	fact.u.assigned.set = (struct berth_share_set){.n = 1, .share = {{2}}};
	expect(&fact, BERTH_LOG_INFO, "job 12.1: starts on card 5");
	fact.u.assigned.set = (struct berth_share_set){.n = 2, .share = {{1}, {2}}};
	expect(&fact, BERTH_LOG_INFO, "job 12.1: starts on cards 4,5");
	fact = fact_of(BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){12, 1, 4711};
	expect(&fact, BERTH_LOG_DEBUG, "job 12.1: runs, pid 4711");
	fact = fact_of(BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){12, 1, ENOSPC};
	expect(&fact, BERTH_LOG_WARNING, "job 12.1: could not be launched: No space left on device");
	fact = fact_of(BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended = (struct berth_fact_ended){.job = 12, .attempt = 1, .exit_code = 3};
	expect(&fact, BERTH_LOG_DEBUG, "job 12.1: ended, exit code 3");
	fact.u.ended.exit_code = -1;
	expect(&fact, BERTH_LOG_DEBUG, "job 12.1: ended, exit code unknown");
	fact.u.ended.signal = 9;
	expect(&fact, BERTH_LOG_DEBUG, "job 12.1: ended, signal 9");
}

static void test_decisions(void **state)
{
	BERTH_AUTO_TEXT struct berth_text said = {0};
	struct berth_fact fact = fact_of(BERTH_FACT_STOP_ASKED);

	fact.u.stop = (struct berth_fact_stop){12, 1, BERTH_STOP_CANCEL, 1000};
	assert_int_equal(berth_fact_text(core, &fact, &said), BERTH_LOG_INFO);
	assert_non_null(strstr(berth_text_str(&said), "job 12.1: asked to stop, as it is cancelled; killed at 19"));
	fact = fact_of(BERTH_FACT_JOB_FINISHED);
	fact.u.finished.job = 12;
	fact.u.finished.state = BERTH_JOB_COMPLETED;
	expect(&fact, BERTH_LOG_INFO, "job 12: COMPLETED");
	said.len = 0;
	fact.u.finished.state = BERTH_JOB_FAILED;
	fact.u.finished.reason = (struct berth_reason){.code = BERTH_REASON_EXIT_CODE, .a = 3};
	assert_int_equal(berth_fact_text(core, &fact, &said), BERTH_LOG_INFO);
	assert_memory_equal(berth_text_str(&said), "job 12: FAILED: ", 16);
	assert_non_null(strstr(berth_text_str(&said), "3"));
	fact = fact_of(BERTH_FACT_JOB_REQUEUED);
	fact.u.requeued.job = 12;
	expect(&fact, BERTH_LOG_INFO, "job 12: back in the queue");
}

/* Every kind is either said or known to be of no interest; none crashes, not even one from a newer version. */
static void test_every_kind(void **state)
{
	for (int kind = 0; kind <= BERTH_FACT_COUNT; kind++) {
		BERTH_AUTO_TEXT struct berth_text said = {0};
		struct berth_fact fact;

		berth_fact_init(&fact, kind < BERTH_FACT_COUNT ? (enum berth_fact_kind)kind : BERTH_FACT_UNKNOWN);
		fact.kind = (enum berth_fact_kind)kind;
		(void)berth_fact_text(core, &fact, &said);
		assert_false(said.is_failed);
		assert_true(said.len == 0 || !strchr(said.at, '\n'));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_people_ask), cmocka_unit_test(test_cards),
		cmocka_unit_test(test_attempts),        cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_every_kind),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
