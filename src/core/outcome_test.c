#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/outcome.h"

struct row {
	const char *what;
	struct berth_fact_ended last;
	bool is_cancel_asked, is_requeue_asked;
	uint32_t requeue_max, requeues_used;
	enum berth_job_state state;     /* UNKNOWN = requeued */
	enum berth_reason_code reason;
};

#define RUNS_AGAIN BERTH_JOB_UNKNOWN
#define EXIT(code) .exit_code = (code)
#define BY(stop) .cause = BERTH_STOP_##stop
#define DONE .is_done = true
#define CANCEL_ASKED .is_cancel_asked = true
#define REQUEUE_ASKED .is_requeue_asked = true
#define IS(final, why) .state = BERTH_JOB_##final, .reason = BERTH_REASON_##why
#define AGAIN(why) .state = RUNS_AGAIN, .reason = BERTH_REASON_##why
#define HOW(end) .how = BERTH_REASON_##end, .exit_code = -1

static const struct row rows[] = {
	{ "exit 0", { EXIT(0) }, IS(COMPLETED, NONE) },
	{ "exit 3", { EXIT(3) }, IS(FAILED, EXIT_CODE) },
	{ "a signal", { EXIT(-1), .signal = 11 }, IS(FAILED, SIGNALED) },
	{ "a signal beside code 0", { EXIT(0), .signal = 11 }, IS(FAILED, SIGNALED) },
	{ "no code", { HOW(EXIT_CODE_UNKNOWN) }, IS(FAILED, EXIT_CODE_UNKNOWN) },
	{ "code -1 without a word", { EXIT(-1) }, IS(FAILED, EXIT_CODE_UNKNOWN) },
	{ "memory", { HOW(OUT_OF_MEMORY) }, .requeue_max = 5, IS(OUT_OF_MEMORY, OUT_OF_MEMORY) },
	{ "no output", { HOW(OUTPUT_FAILED) }, .requeue_max = 5, IS(FAILED, OUTPUT_FAILED) },
	{ "no command", { HOW(EXEC_FAILED) }, .requeue_max = 5, IS(FAILED, EXEC_FAILED) },
	{ "no launch", { HOW(LAUNCH_FAILED) }, AGAIN(LAUNCH_FAILED) },

	{ "limit, exit 0", { EXIT(0), BY(LIMIT) }, IS(TIMEOUT, TIME_LIMIT) },
	{ "limit, done", { EXIT(0), BY(LIMIT), DONE }, IS(TIMEOUT, TIME_LIMIT) },
	{ "limit, killed", { EXIT(-1), BY(LIMIT), .signal = 9 }, IS(TIMEOUT, TIME_LIMIT) },
	{ "limit, no code", { HOW(EXIT_CODE_UNKNOWN), BY(LIMIT) }, IS(TIMEOUT, TIME_LIMIT) },
	{ "limit, may repeat", { EXIT(1), BY(LIMIT) }, .requeue_max = 5, IS(TIMEOUT, TIME_LIMIT) },
	{ "limit while being cancelled", { EXIT(0), BY(LIMIT) }, CANCEL_ASKED, IS(TIMEOUT, TIME_LIMIT) },

	{ "cancelled, exit 0", { EXIT(0), BY(CANCEL) }, CANCEL_ASKED, IS(CANCELLED, CANCELLED) },
	{ "cancelled, killed", { EXIT(-1), BY(CANCEL), .signal = 9 }, CANCEL_ASKED, IS(CANCELLED, CANCELLED) },
	{ "cancelled, done before", { EXIT(0) }, CANCEL_ASKED, IS(COMPLETED, NONE) },
	{ "cancelled, failed before", { EXIT(2) }, CANCEL_ASKED, .requeue_max = 5, IS(FAILED, EXIT_CODE) },
	{ "cancelled, no code", { HOW(EXIT_CODE_UNKNOWN) }, CANCEL_ASKED, IS(CANCELLED, CANCELLED) },
	{ "cancelled, no launch", { HOW(LAUNCH_FAILED) }, CANCEL_ASKED, IS(CANCELLED, CANCELLED) },
	{ "cancelled while being requeued", { EXIT(0), BY(REQUEUE) }, CANCEL_ASKED, REQUEUE_ASKED,
	  IS(CANCELLED, CANCELLED) },
	{ "cancelled, device lost", { EXIT(1), BY(DEVICE_LOST) }, CANCEL_ASKED, IS(CANCELLED, CANCELLED) },

	{ "requeued, exit 0", { EXIT(0), BY(REQUEUE) }, REQUEUE_ASKED, AGAIN(REQUEUED) },
	{ "requeued, done", { EXIT(0), BY(REQUEUE), DONE }, REQUEUE_ASKED, IS(COMPLETED, NONE) },
	{ "requeued, done but failed", { EXIT(1), BY(REQUEUE), DONE }, REQUEUE_ASKED, AGAIN(REQUEUED) },
	{ "requeued, ended before", { EXIT(4) }, REQUEUE_ASKED, AGAIN(REQUEUED) },
	{ "preempted, killed", { EXIT(-1), BY(PREEMPT), .signal = 9 }, AGAIN(PREEMPTED) },
	{ "preempted, exit 0", { EXIT(0), BY(PREEMPT) }, AGAIN(PREEMPTED) },
	{ "preempted, done", { EXIT(0), BY(PREEMPT), DONE }, IS(COMPLETED, NONE) },
	{ "device lost, killed", { EXIT(-1), BY(DEVICE_LOST), .signal = 9 }, AGAIN(DEVICE_FAILED) },
	{ "device lost, exit 0", { EXIT(0), BY(DEVICE_LOST) }, AGAIN(DEVICE_FAILED) },
	{ "device lost, done", { EXIT(0), BY(DEVICE_LOST), DONE }, IS(COMPLETED, NONE) },

	{ "may repeat", { EXIT(3) }, .requeue_max = 2, .requeues_used = 1, AGAIN(EXIT_CODE) },
	{ "repeated enough", { EXIT(3) }, .requeue_max = 2, .requeues_used = 2, IS(FAILED, EXIT_CODE) },
	{ "no code, may repeat", { HOW(EXIT_CODE_UNKNOWN) }, .requeue_max = 1, AGAIN(EXIT_CODE_UNKNOWN) },
	{ "exit 0 needs no repeat", { EXIT(0) }, .requeue_max = 5, IS(COMPLETED, NONE) },
};

static struct berth_fact decide(const struct berth_core *core, const struct row *row)
{
	struct berth_job job = { .id = 5, .state = BERTH_JOB_ENDED, .attempt = 1, .last = row->last };
	struct berth_fact fact;

	job.is_cancel_asked = row->is_cancel_asked;
	job.is_requeue_asked = row->is_requeue_asked;
	job.asked.requeue_max = row->requeue_max;
	job.requeues_used = row->requeues_used;
	berth_outcome_decide(core, &job, 1000, &fact);
	return fact;
}

static void test_every_way_to_end(void **state)
{
	struct berth_core *core = berth_core_new();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct berth_fact fact = decide(core, &rows[i]);
		bool is_requeued = fact.kind == BERTH_FACT_JOB_REQUEUED;
		enum berth_job_state is = is_requeued ? RUNS_AGAIN : fact.u.finished.state;
		enum berth_reason_code why = is_requeued ? fact.u.requeued.reason.code : fact.u.finished.reason.code;

		if (is != rows[i].state || why != rows[i].reason)
			fail_msg("%s: %s, %s", rows[i].what, berth_job_state_name(is), berth_reason_name(why));
		assert_int_equal(fact.at_ms, 1000);
		assert_int_equal(is_requeued ? fact.u.requeued.job : fact.u.finished.job, 5);
	}
	berth_core_free(core);
}

static void test_reasons_carry_their_numbers(void **state)
{
	struct berth_core *core = berth_core_new();
	struct row row = { .last = { EXIT(77) } };
	struct berth_fact fact = decide(core, &row);

	assert_int_equal(fact.u.finished.reason.a, 77);
	row.last = (struct berth_fact_ended){ .signal = 6 };
	fact = decide(core, &row);
	assert_int_equal(fact.u.finished.reason.a, 6);
	row.last = (struct berth_fact_ended){ HOW(OUTPUT_FAILED), .error = 28 };
	fact = decide(core, &row);
	assert_int_equal(fact.u.finished.reason.a, 28);
	berth_core_free(core);
}

static uint64_t pause_after(struct berth_core *core, uint32_t failures, enum berth_reason_code how)
{
	struct berth_job job = { .id = 5, .failures = failures, .last = { .how = how, .exit_code = 1 } };
	struct berth_fact fact;

	job.asked.requeue_max = UINT32_MAX;
	berth_outcome_decide(core, &job, 1000, &fact);
	assert_int_equal(fact.kind, BERTH_FACT_JOB_REQUEUED);
	assert_int_equal(fact.u.requeued.failures, failures == UINT32_MAX ? failures : failures + 1);
	return fact.u.requeued.eligible_ms - 1000;
}

static void test_the_pause_doubles_up_to_the_longest(void **state)
{
	struct berth_core *core = berth_core_new();

	core->policy = (struct berth_fact_policy){ .backoff_first_ms = 10000, .backoff_max_ms = 60000 };
	assert_int_equal(pause_after(core, 0, BERTH_REASON_NONE), 10000);
	assert_int_equal(pause_after(core, 1, BERTH_REASON_NONE), 20000);
	assert_int_equal(pause_after(core, 2, BERTH_REASON_LAUNCH_FAILED), 40000);
	assert_int_equal(pause_after(core, 3, BERTH_REASON_LAUNCH_FAILED), 60000);
	assert_int_equal(pause_after(core, UINT32_MAX, BERTH_REASON_LAUNCH_FAILED), 60000);
	berth_core_free(core);
}

/* A policy of zeros must not make a loop of launches. */
static void test_the_pause_is_a_second_at_least(void **state)
{
	struct berth_core *core = berth_core_new();

	core->policy = (struct berth_fact_policy){ 0 };
	assert_int_equal(pause_after(core, 0, BERTH_REASON_LAUNCH_FAILED), 1000);
	core->policy.backoff_max_ms = UINT64_MAX;
	assert_int_equal(pause_after(core, 3, BERTH_REASON_LAUNCH_FAILED), 8000);
	assert_int_equal(pause_after(core, 200, BERTH_REASON_LAUNCH_FAILED), UINT64_MAX - 1000);
	berth_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_way_to_end),
		cmocka_unit_test(test_reasons_carry_their_numbers),
		cmocka_unit_test(test_the_pause_doubles_up_to_the_longest),
		cmocka_unit_test(test_the_pause_is_a_second_at_least),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
