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
#define HOW(end) .how = BERTH_REASON_##end, .exit_code = -1

static const struct row rows[] = {
	{ "exit 0", { EXIT(0) }, .state = BERTH_JOB_COMPLETED, .reason = BERTH_REASON_NONE },
	{ "exit 3", { EXIT(3) }, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_EXIT_CODE },
	{ "a signal", { EXIT(-1), .signal = 11 }, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_SIGNALED },
	{ "a signal beside code 0", { EXIT(0), .signal = 11 }, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_SIGNALED },
	{ "no code", { HOW(EXIT_CODE_UNKNOWN) }, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_EXIT_CODE_UNKNOWN },
	{ "code -1 without a word", { EXIT(-1) }, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_EXIT_CODE_UNKNOWN },
	{ "memory", { HOW(OUT_OF_MEMORY) }, .requeue_max = 5, .state = BERTH_JOB_OUT_OF_MEMORY, .reason = BERTH_REASON_OUT_OF_MEMORY },
	{ "no output", { HOW(OUTPUT_FAILED) }, .requeue_max = 5, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_OUTPUT_FAILED },
	{ "no command", { HOW(EXEC_FAILED) }, .requeue_max = 5, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_EXEC_FAILED },
	{ "no launch", { HOW(LAUNCH_FAILED) }, .state = RUNS_AGAIN, .reason = BERTH_REASON_LAUNCH_FAILED },

	{ "limit, exit 0", { EXIT(0), BY(LIMIT) }, .state = BERTH_JOB_TIMEOUT, .reason = BERTH_REASON_TIME_LIMIT },
	{ "limit, done", { EXIT(0), BY(LIMIT), .is_done = true }, .state = BERTH_JOB_TIMEOUT, .reason = BERTH_REASON_TIME_LIMIT },
	{ "limit, killed", { EXIT(-1), BY(LIMIT), .signal = 9 }, .state = BERTH_JOB_TIMEOUT, .reason = BERTH_REASON_TIME_LIMIT },
	{ "limit, no code", { HOW(EXIT_CODE_UNKNOWN), BY(LIMIT) }, .state = BERTH_JOB_TIMEOUT, .reason = BERTH_REASON_TIME_LIMIT },
	{ "limit, may repeat", { EXIT(1), BY(LIMIT) }, .requeue_max = 5, .state = BERTH_JOB_TIMEOUT, .reason = BERTH_REASON_TIME_LIMIT },
	{ "limit while being cancelled", { EXIT(0), BY(LIMIT) }, .is_cancel_asked = true, .state = BERTH_JOB_TIMEOUT,
	  .reason = BERTH_REASON_TIME_LIMIT },

	{ "cancelled, exit 0", { EXIT(0), BY(CANCEL) }, .is_cancel_asked = true, .state = BERTH_JOB_CANCELLED,
	  .reason = BERTH_REASON_CANCELLED },
	{ "cancelled, killed", { EXIT(-1), BY(CANCEL), .signal = 9 }, .is_cancel_asked = true, .state = BERTH_JOB_CANCELLED,
	  .reason = BERTH_REASON_CANCELLED },
	{ "cancelled, done before", { EXIT(0) }, .is_cancel_asked = true, .state = BERTH_JOB_COMPLETED, .reason = BERTH_REASON_NONE },
	{ "cancelled, failed before", { EXIT(2) }, .is_cancel_asked = true, .requeue_max = 5, .state = BERTH_JOB_FAILED,
	  .reason = BERTH_REASON_EXIT_CODE },
	{ "cancelled, no code", { HOW(EXIT_CODE_UNKNOWN) }, .is_cancel_asked = true, .state = BERTH_JOB_CANCELLED,
	  .reason = BERTH_REASON_CANCELLED },
	{ "cancelled, no launch", { HOW(LAUNCH_FAILED) }, .is_cancel_asked = true, .state = BERTH_JOB_CANCELLED,
	  .reason = BERTH_REASON_CANCELLED },
	{ "cancelled while being requeued", { EXIT(0), BY(REQUEUE) }, .is_cancel_asked = true, .is_requeue_asked = true,
	  .state = BERTH_JOB_CANCELLED, .reason = BERTH_REASON_CANCELLED },
	{ "cancelled, device lost", { EXIT(1), BY(DEVICE_LOST) }, .is_cancel_asked = true, .state = BERTH_JOB_CANCELLED,
	  .reason = BERTH_REASON_CANCELLED },

	{ "requeued, exit 0", { EXIT(0), BY(REQUEUE) }, .is_requeue_asked = true, .state = RUNS_AGAIN, .reason = BERTH_REASON_REQUEUED },
	{ "requeued, done", { EXIT(0), BY(REQUEUE), .is_done = true }, .is_requeue_asked = true, .state = BERTH_JOB_COMPLETED },
	{ "requeued, done but failed", { EXIT(1), BY(REQUEUE), .is_done = true }, .is_requeue_asked = true, .state = RUNS_AGAIN,
	  .reason = BERTH_REASON_REQUEUED },
	{ "requeued, ended before", { EXIT(4) }, .is_requeue_asked = true, .state = RUNS_AGAIN, .reason = BERTH_REASON_REQUEUED },
	{ "preempted, killed", { EXIT(-1), BY(PREEMPT), .signal = 9 }, .state = RUNS_AGAIN, .reason = BERTH_REASON_PREEMPTED },
	{ "preempted, exit 0", { EXIT(0), BY(PREEMPT) }, .state = RUNS_AGAIN, .reason = BERTH_REASON_PREEMPTED },
	{ "preempted, done", { EXIT(0), BY(PREEMPT), .is_done = true }, .state = BERTH_JOB_COMPLETED },
	{ "device lost, killed", { EXIT(-1), BY(DEVICE_LOST), .signal = 9 }, .state = RUNS_AGAIN, .reason = BERTH_REASON_DEVICE_FAILED },
	{ "device lost, exit 0", { EXIT(0), BY(DEVICE_LOST) }, .state = RUNS_AGAIN, .reason = BERTH_REASON_DEVICE_FAILED },
	{ "device lost, done", { EXIT(0), BY(DEVICE_LOST), .is_done = true }, .state = BERTH_JOB_COMPLETED },

	{ "may repeat", { EXIT(3) }, .requeue_max = 2, .requeues_used = 1, .state = RUNS_AGAIN, .reason = BERTH_REASON_EXIT_CODE },
	{ "repeated enough", { EXIT(3) }, .requeue_max = 2, .requeues_used = 2, .state = BERTH_JOB_FAILED, .reason = BERTH_REASON_EXIT_CODE },
	{ "no code, may repeat", { HOW(EXIT_CODE_UNKNOWN) }, .requeue_max = 1, .state = RUNS_AGAIN,
	  .reason = BERTH_REASON_EXIT_CODE_UNKNOWN },
	{ "exit 0 needs no repeat", { EXIT(0) }, .requeue_max = 5, .state = BERTH_JOB_COMPLETED },
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

		if (is_requeued != (rows[i].state == RUNS_AGAIN) || (!is_requeued && fact.u.finished.state != rows[i].state) ||
		    (is_requeued ? fact.u.requeued.reason.code : fact.u.finished.reason.code) != rows[i].reason)
			fail_msg("%s: %s, %s", rows[i].what, is_requeued ? "requeued" : berth_job_state_name(fact.u.finished.state),
			         berth_reason_name(is_requeued ? fact.u.requeued.reason.code : fact.u.finished.reason.code));
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
	struct berth_job job = { .id = 5, .state = BERTH_JOB_ENDED, .failures = failures, .last = { .how = how, .exit_code = 1 } };
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
