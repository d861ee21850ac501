#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "store/host_test.h"

static int count_row(void *arg, uint64_t job, const char *json)
{
	size_t *n = arg;

	assert_non_null(strstr(json, "\"COMPLETED\""));
	(*n)++;
	return 0;
}

/* Rows of history; all must be of completed jobs. */
static size_t count_history(struct host *host)
{
	const struct berth_history_query all = {.limit = 10000};
	size_t n = 0;

	assert_int_equal(berth_store_history(berth_ledger_store(host->ledger), &all, count_row, &n, NULL), 0);
	return n;
}

/* --- transactions ---------------------------------------------------------------------------------------- */

static void test_a_lone_post_is_one_transaction(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(0);
	uint64_t before;

	host_settle(host);
	before = host_commits(host);
	host_post(host, &fact, 1, false);
	assert_true(berth_store_is_busy(berth_ledger_store(host->ledger))); /* it is not waited for company */
	assert_int_equal(host->n_done, 0);                                  /* and nobody is called from within post */
	host_settle(host);
	assert_int_equal(host->n_done, 1);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(host->first_job, 1);
	assert_int_equal(host_commits(host), before + 2); /* the submission, and then the decision to start it */
	assert_int_equal(host->n_carried, 1);
	assert_int_equal(host->carried[0].kind, BERTH_FACT_ATTEMPT_ASSIGNED);
}

static void test_posts_during_a_commit_share_the_next(void **state)
{
	struct host *host = *state;
	struct berth_fact fact = host_submission(1); /* no device: nothing to decide */
	uint64_t before;

	host_settle(host);
	before = host_commits(host);
	for (int i = 0; i < 500; i++)
		host_post(host, &fact, 1, false);
	host_settle(host);
	assert_int_equal(host->n_done, 500);
	assert_int_equal(host_commits(host), before + 2); /* the first alone, the crowd together */
	assert_int_equal(host->first_job, 500);
}

static void test_what_nobody_posted_costs_nothing(void **state)
{
	struct host *host = *state;
	uint64_t before;

	host_post_site(host, 2);
	before = host_commits(host);
	for (int i = 0; i < 20; i++) {
		berth_ledger_nudge(host->ledger);
		assert_int_equal(berth_ledger_wake_ms(host->ledger), 0);
		host_settle(host);
	}
	berth_ledger_dispatch(host->ledger); /* a call without a cause */
	assert_int_equal(host_commits(host), before);
	assert_true(berth_ledger_wake_ms(host->ledger) == UINT64_MAX);
}

/* A decision is folded on exactly the state on which it was made: nothing comes between. */
static void test_decisions_stand_at_the_head_of_the_next_transaction(void **state)
{
	struct host *host = *state;
	const struct berth_fact submission = host_submission(1);
	const struct berth_fact cancel = host_fact(BERTH_FACT_JOB_CANCEL_ASKED, 1, 0);

	host_post_site(host, 1);
	host_post(host, &submission, 1, false);
	/* in the queue while the submission is written, it would come before the decision if the order were of arrival
	 */
	host_post(host, &cancel, 1, false);
	host_settle(host);
	assert_int_equal(host->carried[0].kind, BERTH_FACT_ATTEMPT_ASSIGNED);
	assert_int_equal(host->carried[1].kind, BERTH_FACT_STOP_ASKED);
	assert_int_equal(host->n_stale, 0);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_STOPPING);
}

static void test_ids_are_consecutive_within_a_post(void **state)
{
	struct host *host = *state;
	struct berth_fact facts[100];

	host_settle(host);
	for (int i = 0; i < 100; i++)
		facts[i] = host_submission(1);
	host_post(host, facts, 3, false);
	host_post(host, facts, 100, false);
	host_post(host, facts, 1, false);
	host_settle(host);
	assert_int_equal(host->first_job, 104);
	assert_int_equal(berth_core_next_job(host_core(host)), 105);
	for (uint64_t id = 1; id <= 104; id++)
		assert_int_equal(berth_core_job(host_core(host), id)->state, BERTH_JOB_PENDING);
}

static void test_a_job_runs_from_post_to_history(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(1);

	host->carries_out = true;
	host_post_site(host, 1);
	host_post(host, &fact, 1, false);
	host_settle(host);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_COMPLETED);
	host_advance(host, 5001); /* retained no longer */
	assert_null(berth_core_job(host_core(host), 1));
	assert_int_equal(host->n_history, 1);
	assert_int_equal(count_history(host), 1);
}

/* --- results --------------------------------------------------------------------------------------------- */

static void test_a_void_report_is_told_so(void **state)
{
	struct host *host = *state;
	const struct berth_fact submission = host_submission(1);
	const struct berth_fact late = host_fact(BERTH_FACT_ATTEMPT_STARTED, 1, 1);

	host->carries_out = true;
	host_post_site(host, 1);
	host_post(host, &submission, 1, false);
	host_settle(host);
	host_post(host, &late, 1, true); /* it ended long ago */
	host_settle(host);
	assert_int_equal(host->last_result, -ESTALE);
	assert_int_equal(host->n_stale, 1);
}

static void test_a_contradiction_is_refused_now_and_after_a_restart(void **state)
{
	struct host *host = *state;
	const struct berth_fact nonsense = host_fact(BERTH_FACT_ATTEMPT_STARTED, 77, 1);
	const struct berth_fact submission = host_submission(1);
	uint64_t hash;

	host_settle(host);
	host_post(host, &nonsense, 1, true);
	host_settle(host);
	assert_int_equal(host->last_result, -EINVAL);
	host_post(host, &submission, 1, true); /* its number follows that of the refused one */
	host_settle(host);
	assert_int_equal(host->n_invalid, 1);
	assert_int_equal(berth_core_job_count(host_core(host)), 1);
	host_post(host, &nonsense, 1, true);
	host_settle(host); /* the last row is one that the core did not take, and a snapshot may stand on it */
	berth_ledger_set_snapshot_every(host->ledger, 1);
	host_post(host, &nonsense, 1, true);
	host_settle(host);
	host_await_snapshot(host);
	hash = berth_core_hash(host_core(host));
	host_close(host);
	host_open(host); /* a report that was refused must not keep the daemon from starting */
	assert_true(berth_core_hash(host_core(host)) == hash);
	assert_int_equal(berth_core_next_job(host_core(host)), 2);
	assert_int_equal(berth_store_snapshot_seq(berth_ledger_store(host->ledger)), 4);
	host_post(host, &submission, 1, true);
	host_settle(host);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(host->n_failed, 0);
}

/* Written straight into the journal, as by another version: seals and chain are in order, the content is not. */
static void test_a_journal_whose_decision_contradicts_it_is_refused(void **state)
{
	struct host *host = *state;
	struct berth_fact fact = host_fact(BERTH_FACT_JOB_FORGOTTEN, 77, 0);
	const struct berth_transaction tx = {.facts = &fact, .n_facts = 1};
	const struct berth_ledger_host calls = {0};
	struct berth_store *store = NULL;
	struct berth_ledger *ledger = NULL;
	struct berth_error err = {0};

	host_close(host);
	assert_int_equal(berth_store_open(host->dir, &store, &err), 0);
	fact.seq = berth_store_last_seq(store) + 1;
	fact.at_ms = 1000000;
	assert_int_equal(berth_store_commit(store, &tx), 0);
	berth_store_wait(store);
	berth_store_close(store);
	assert_int_equal(berth_ledger_open(host->dir, &calls, &ledger, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "table journal, row 1, a JobForgotten, contradicts"));
}

static void test_text_from_outside_is_the_same_live_and_reopened(void **state)
{
	struct host *host = *state;
	struct berth_fact fact = host_submission(1);
	uint64_t hash;

	fact.u.submit.name = "M\xfcller \"quoted\"\n\xe8\xae\xad";
	host_settle(host);
	host_post(host, &fact, 1, false);
	host_settle(host);
	assert_string_equal(berth_core_job(host_core(host), 1)->asked.name, "M?ller \"quoted\"\n\xe8\xae\xad");
	hash = berth_core_hash(host_core(host));
	host_close(host);
	host_open(host);
	assert_true(berth_core_hash(host_core(host)) == hash);
}

/* --- posting from within a callback ---------------------------------------------------------------------- */

struct chain {
	struct host *host;
	int left;
	bool is_inside;
};

static void post_next(struct chain *chain);

static void on_chained(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	struct chain *chain = arg;

	assert_false(chain->is_inside); /* never from within post */
	assert_int_equal(result, 0);
	if (chain->left-- > 0)
		post_next(chain);
}

static void post_next(struct chain *chain)
{
	const struct berth_fact fact = host_submission(1);
	const struct berth_post post = {.facts = &fact, .n_facts = 1, .done = on_chained, .done_arg = chain};

	chain->is_inside = true;
	assert_int_equal(berth_ledger_post(chain->host->ledger, &post), 0);
	chain->is_inside = false;
}

static void test_a_callback_may_post(void **state)
{
	struct chain chain = {*state, 10, false};

	post_next(&chain);
	host_settle(chain.host);
	assert_int_equal(chain.left, -1);
	assert_int_equal(berth_core_job_count(host_core(chain.host)), 11);
}

/* --- submissions and specifications ---------------------------------------------------------------------- */

static void test_a_submission_key_is_pending_then_known(void **state)
{
	struct host *host = *state;
	struct berth_fact facts[3] = {host_submission(1), host_submission(1), host_submission(1)};
	const struct berth_submission submission = {.uid = 1000, .key = "k1", .n = 2, .at_ms = 1000000};
	struct berth_blob blob;
	const struct berth_post post = {
		.facts = facts, .n_facts = 2, .blobs = &blob, .n_blobs = 1, .submission = &submission};
	uint64_t first = 0;
	uint32_t n = 0;
	void *body = NULL;
	size_t len = 0;

	berth_blob_make(&blob, "argv", 4);
	facts[0].u.submit.spec = facts[1].u.submit.spec = blob.key;
	host_settle(host);
	host_post(host, &facts[2], 1, false); /* takes id 1, and makes the others wait in the queue */
	assert_int_equal(berth_ledger_post(host->ledger, &post), 0);
	assert_int_equal(berth_ledger_submission_pending(host->ledger, 1000, "k1"), 1);
	assert_int_equal(berth_ledger_submission_pending(host->ledger, 1001, "k1"), 0);
	assert_int_equal(berth_ledger_submission_pending(host->ledger, 1000, "k2"), 0);
	assert_int_equal(berth_store_submission(berth_ledger_store(host->ledger), 1000, "k1", &first, &n), 0);
	berth_store_wait(berth_ledger_store(host->ledger));
	berth_ledger_dispatch(host->ledger); /* now it flies */
	assert_int_equal(berth_ledger_submission_pending(host->ledger, 1000, "k1"), 1);
	host_settle(host);
	assert_int_equal(berth_ledger_submission_pending(host->ledger, 1000, "k1"), 0);
	assert_int_equal(berth_store_submission(berth_ledger_store(host->ledger), 1000, "k1", &first, &n), 1);
	assert_int_equal(first, 2);
	assert_int_equal(n, 2);
	assert_int_equal(berth_store_blob(berth_ledger_store(host->ledger),
	                                  berth_core_job(host_core(host), 2)->asked.spec, &body, &len),
	                 0);
	assert_memory_equal(body, "argv", 4);
	free(body);
}

/* --- forgetting ------------------------------------------------------------------------------------------ */

static void test_a_history_that_cannot_be_made_postpones_the_forgetting(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(1);

	host->carries_out = true;
	host_post_site(host, 1);
	host_post(host, &fact, 1, false);
	host->history_error = -EAGAIN;
	host_advance(host, 20000);
	assert_non_null(berth_core_job(host_core(host), 1));
	host->history_error = 0;
	host_advance(host, 2000);
	assert_null(berth_core_job(host_core(host), 1));
	assert_int_equal(host->n_history, 1);
}

/* --- restarts -------------------------------------------------------------------------------------------- */

static void test_the_reopened_state_equals_the_live_one(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(2);
	const struct berth_fact cancel = host_fact(BERTH_FACT_JOB_CANCEL_ASKED, 3, 0);
	uint64_t hash;

	host_post_site(host, 8);
	for (int i = 0; i < 50; i++)
		host_post(host, &fact, 1, false);
	host_settle(host);
	host_post(host, &cancel, 1, false);
	host_settle(host);
	hash = berth_core_hash(host_core(host));
	host_close(host);
	host_open(host);
	assert_true(berth_core_hash(host_core(host)) == hash);
	assert_int_equal(berth_core_count_in(host_core(host), BERTH_JOB_STARTING, BERTH_TIER_P2), 3);
	assert_int_equal(berth_core_count_in(host_core(host), BERTH_JOB_STOPPING, BERTH_TIER_P2), 1);
}

/* Over many snapshots, with jobs that come, run, and are forgotten; reopened in between. */
static void test_snapshots_change_nothing(void **state)
{
	struct host *host = *state;
	struct berth_fact facts[7];

	host->carries_out = true;
	host_post_site(host, 4);
	for (int i = 0; i < 7; i++)
		facts[i] = host_submission(1);
	for (int round = 0; round < 30; round++) {
		uint64_t hash;

		berth_ledger_set_snapshot_every(host->ledger, 20);
		host_post(host, facts, 7, false);
		host_advance(host, 1000);
		hash = berth_core_hash(host_core(host));
		if (round % 3 == 2) {
			host_close(host);
			host_open(host);
			assert_true(berth_core_hash(host_core(host)) == hash);
		}
	}
	assert_true(berth_store_snapshot_seq(berth_ledger_store(host->ledger)) > 100);
	host_advance(host, 10000);
	assert_int_equal(berth_core_job_count(host_core(host)), 0);
	assert_int_equal(berth_core_next_job(host_core(host)), 211);
	assert_int_equal(host->n_history, 210);
	assert_int_equal(host->n_invalid, 0);
	host_close(host);
	host_open(host);
	assert_int_equal(berth_core_next_job(host_core(host)), 211); /* no id is used twice, forgotten ones neither */
	assert_int_equal(count_history(host), 210);
}

static void test_time_never_falls_behind_the_journal(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(1);

	host_settle(host);
	host_post(host, &fact, 1, false);
	host_settle(host);
	host->now_ms = 5; /* a clock set back */
	host_post(host, &fact, 1, false);
	host_settle(host);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(berth_core_at_ms(host_core(host)), 1000000);
	host_close(host);
	host_open(host);
	assert_int_equal(berth_core_job_count(host_core(host)), 2);
	host->now_ms = 2000000;
}

/* --- closing --------------------------------------------------------------------------------------------- */

static void test_closing_flushes_what_was_posted(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(0);

	for (int i = 0; i < 5; i++)
		host_post(host, &fact, 1, false);
	host_close(host);
	assert_int_equal(host->n_done, 5);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(host->n_carried, 0);
	host_open(host);
	assert_int_equal(berth_core_job_count(host_core(host)), 5);
	host_settle(host);
	assert_int_equal(host->n_carried, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, host_set_up, host_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_lone_post_is_one_transaction),
		TEST(test_posts_during_a_commit_share_the_next),
		TEST(test_what_nobody_posted_costs_nothing),
		TEST(test_decisions_stand_at_the_head_of_the_next_transaction),
		TEST(test_ids_are_consecutive_within_a_post),
		TEST(test_a_job_runs_from_post_to_history),
		TEST(test_a_void_report_is_told_so),
		TEST(test_a_contradiction_is_refused_now_and_after_a_restart),
		TEST(test_a_journal_whose_decision_contradicts_it_is_refused),
		TEST(test_text_from_outside_is_the_same_live_and_reopened),
		TEST(test_a_callback_may_post),
		TEST(test_a_submission_key_is_pending_then_known),
		TEST(test_a_history_that_cannot_be_made_postpones_the_forgetting),
		TEST(test_the_reopened_state_equals_the_live_one),
		TEST(test_snapshots_change_nothing),
		TEST(test_time_never_falls_behind_the_journal),
		TEST(test_closing_flushes_what_was_posted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
