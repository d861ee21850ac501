/* The ledger on a disk that is full, on one that loses a flush, and killed in mid stream. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/hash.h"
#include "store/faulty_test.h"
#include "store/host_test.h"

/* --- a full disk ----------------------------------------------------------------------------------------- */

static void test_a_full_disk_refuses_people_and_says_so(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(1);

	host_post_site(host, 1);
	host->n_done = 0;
	faulty_set_full(true);
	host_post(host, &fact, 1, false);
	host_settle(host);
	assert_int_equal(host->n_done, 1);
	assert_int_equal(host->last_result, -ENOSPC);
	assert_true(berth_ledger_is_full(host->ledger));
	assert_int_equal(host->n_failed, 0);
	assert_int_equal(berth_ledger_wake_ms(host->ledger), host->now_ms + 1000);
	host_advance(host, 10000); /* it goes on asking the disk, with nothing else to write */
	assert_true(berth_ledger_is_full(host->ledger));
	faulty_set_full(false);
	host_advance(host, 1000);
	assert_false(berth_ledger_is_full(host->ledger));
	host_post(host, &fact, 1, false);
	host_settle(host);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(host->first_job, 1); /* a refused submission uses no id up */
}

static void test_what_must_be_kept_goes_through_after_recovery(void **state)
{
	struct host *host = *state;
	const struct berth_fact submission = host_submission(1);
	struct berth_fact report;

	host_post_site(host, 1);
	host_post(host, &submission, 1, false);
	host_settle(host);
	report = host_fact(BERTH_FACT_ATTEMPT_STARTED, 1, 1);
	host->n_done = 0;
	faulty_set_full(true);
	host_post(host, &report, 1, true);
	host_advance(host, 5000);
	host_post(host, &submission, 1, false); /* arrives meanwhile, and is refused with the next try */
	host_advance(host, 1000);
	assert_int_equal(host->n_done, 1);
	assert_int_equal(host->last_result, -ENOSPC);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_STARTING);
	faulty_set_full(false);
	host_advance(host, 1000);
	assert_int_equal(host->n_done, 2);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_RUNNING);
}

static void test_decisions_of_a_full_disk_are_made_again(void **state)
{
	struct host *host = *state;
	const struct berth_fact submission = host_submission(1);

	host_post_site(host, 1);
	host_post(host, &submission, 1, false);
	berth_store_wait(berth_ledger_store(host->ledger)); /* the submission is durable, the decision not yet made */
	faulty_set_full(true);
	host_advance(host, 3000);
	assert_int_equal(host->n_carried, 0);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_PENDING);
	faulty_set_full(false);
	host_advance(host, 1000);
	assert_int_equal(host->n_carried, 1);
	assert_int_equal(berth_core_job(host_core(host), 1)->state, BERTH_JOB_STARTING);
}

static int count_end(void *arg, uint64_t job, const char *json)
{
	unsigned *ends = arg;

	assert_in_range(job, 1, 12);
	assert_non_null(strstr(json, "\"COMPLETED\""));
	ends[job]++;
	return 0;
}

/* The disk runs full while jobs end and are forgotten, again and again: each has exactly one end in history, and in the
 * journal. */
static void test_every_job_has_one_end_although_the_disk_ran_full(void **state)
{
	struct host *host = *state;
	const struct berth_history_query all = {.limit = 100};
	struct berth_fact facts[12];
	unsigned ends[13] = {0};
	uint64_t seed = 15;

	host->carries_out = true;
	host_post_site(host, 3);
	for (int i = 0; i < 12; i++)
		facts[i] = host_submission(1);
	host_post(host, facts, 12, true);
	for (int i = 0; i < 200; i++) {
		faulty_set_full(berth_hash_u64(seed++) % 2);
		if (berth_store_is_busy(berth_ledger_store(host->ledger))) {
			berth_store_wait(berth_ledger_store(host->ledger));
			berth_ledger_dispatch(host->ledger);
		} else {
			host->now_ms += 500;
			berth_ledger_tick(host->ledger);
		}
	}
	faulty_set_full(false);
	host_advance(host, 20000);
	assert_int_equal(berth_core_job_count(host_core(host)), 0);
	assert_int_equal(berth_store_history(berth_ledger_store(host->ledger), &all, count_end, ends, NULL), 0);
	for (int i = 1; i <= 12; i++)
		assert_int_equal(ends[i], 1);
	assert_int_equal(host->n_failed, 0);
	assert_int_equal(host->n_invalid, 0);
}

static void test_closing_on_a_full_disk_tells_everyone(void **state)
{
	struct host *host = *state;
	const struct berth_fact submission = host_submission(1);
	const struct berth_fact report = host_fact(BERTH_FACT_ATTEMPT_STARTED, 1, 1);

	host_settle(host);
	faulty_set_full(true);
	host_post(host, &submission, 1, false);
	host_post(host, &report, 1, true);
	host_close(host);
	assert_int_equal(host->n_done, 2);
	assert_int_equal(host->last_result, -ECANCELED);
	faulty_set_full(false);
	host_open(host);
	assert_int_equal(berth_core_job_count(host_core(host)), 0);
}

/* --- a lost flush ---------------------------------------------------------------------------------------- */

static void test_a_lost_flush_ends_the_ledger_once(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = host_submission(1);

	host_settle(host);
	faulty_set_sync_error(true);
	host_post(host, &fact, 1, true);
	host_settle(host);
	faulty_set_sync_error(false);
	assert_int_equal(host->n_failed, 1);
	assert_int_equal(host->failure.code, -EIO);
	assert_int_equal(host->last_result, -EIO);
	assert_int_equal(berth_core_job_count(host_core(host)), 0); /* memory never holds what may not be durable */
	host_post(host, &fact, 1, true);
	host_settle(host);
	assert_int_equal(host->n_done, 2);
	assert_int_equal(host->last_result, -EIO);
	assert_int_equal(host->n_failed, 1);
	assert_int_equal(faulty_failed_syncs(), 1);
	host_close(host);
	host_open(host); /* the truth is read again, whatever it is */
	host_post(host, &fact, 1, true);
	host_settle(host);
	assert_int_equal(host->last_result, 0);
}

/* --- killed in mid stream -------------------------------------------------------------------------------- */

struct streamer {
	struct host *host;
	int out;
};

/* An acknowledgement as a client would get it: the id of a durable job. */
static void acknowledge(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	const struct streamer *streamer = arg;
	uint64_t ids[2] = {facts[0].u.submit.job, facts[n - 1].u.submit.job};

	if (result != 0 || write(streamer->out, ids, sizeof(ids)) != (ssize_t)sizeof(ids))
		_exit(3);
}

/* The child: submits without end, runs what it is told to, with many snapshots. Never returns. */
static void stream(const struct host *from, int out)
{
	struct host host = {.now_ms = 1000000, .carries_out = true};
	struct streamer streamer = {&host, out};
	struct berth_fact facts[5];

	memcpy(host.dir, from->dir, sizeof(host.dir));
	host_open(&host);
	berth_ledger_set_snapshot_every(host.ledger, 50);
	for (uint32_t i = 0;; i++) {
		const struct berth_post post = {
			.facts = facts, .n_facts = 1 + i % 5, .done = acknowledge, .done_arg = &streamer};

		for (uint32_t k = 0; k < post.n_facts; k++)
			facts[k] = host_submission(k % 2);
		if (berth_ledger_post(host.ledger, &post) < 0)
			_exit(3);
		host_advance(&host, 300);
	}
}

/* Read acknowledgements until the pipe ends; the highest id. No id may come twice. */
static uint64_t read_acknowledged(int in, uint64_t highest)
{
	uint64_t ids[2];
	ssize_t n;

	while ((n = read(in, ids, sizeof(ids))) == (ssize_t)sizeof(ids)) {
		assert_true(ids[0] > highest);
		assert_true(ids[1] >= ids[0]);
		highest = ids[1];
	}
	assert_int_equal(n, 0); /* a write this small is never cut */
	return highest;
}

static int note_job(void *arg, uint64_t job, const char *json)
{
	((uint8_t *)arg)[job]++;
	return 0;
}

/* Every id from 1 to the highest acknowledged one is known: live, or once in history. */
static void check_none_lost(struct host *host, uint64_t highest)
{
	const struct berth_history_query all = {.limit = 1000000};
	const uint64_t n = berth_core_next_job(host_core(host));
	uint8_t *known = calloc(n + 1, 1);

	assert_true(n > highest);
	assert_int_equal(berth_store_history(berth_ledger_store(host->ledger), &all, note_job, known, NULL), 0);
	for (uint64_t id = 1; id < n; id++) {
		known[id] = (uint8_t)(known[id] + (berth_core_job(host_core(host), id) ? 1 : 0));
		if (known[id] != 1)
			fail_msg("job %" PRIu64 " of %" PRIu64 " is known %d times", id, n, known[id]);
	}
	free(known);
}

static void test_nothing_acknowledged_is_lost_by_a_kill(void **state)
{
	struct host *host = *state;
	uint64_t highest = 0, seed = 9;

	host_post_site(host, 2);
	host_close(host);
	for (int round = 0; round < 25; round++) {
		const struct timespec pause = {.tv_nsec = (long)(berth_hash_u64(seed++) % 40) * 1000000};
		int ends[2], status = 0;
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		if (child == 0) {
			(void)close(ends[0]);
			stream(host, ends[1]);
		}
		(void)close(ends[1]);
		assert_true(child > 0);
		(void)nanosleep(&pause, NULL);
		assert_int_equal(kill(child, SIGKILL), 0);
		highest = read_acknowledged(ends[0], highest);
		(void)close(ends[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		host_open(host);
		check_none_lost(host, highest);
		highest = berth_core_next_job(host_core(host)) - 1;
		host_close(host);
	}
	assert_true(highest > 100); /* it was in mid stream */
	host_open(host);
}

static int set_up(void **state)
{
	faulty_reset();
	return host_set_up(state);
}

static int install(void **state)
{
	faulty_install();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, host_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_full_disk_refuses_people_and_says_so),
		TEST(test_what_must_be_kept_goes_through_after_recovery),
		TEST(test_decisions_of_a_full_disk_are_made_again),
		TEST(test_every_job_has_one_end_although_the_disk_ran_full),
		TEST(test_closing_on_a_full_disk_tells_everyone),
		TEST(test_a_lost_flush_ends_the_ledger_once),
		TEST(test_nothing_acknowledged_is_lost_by_a_kill),
	};

	return cmocka_run_group_tests(tests, install, NULL);
}
