#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "base/file.h"
#include "store/ledger.h"

/* A host that counts, on a clock that the test moves. */
struct host {
	char dir[64];
	struct berth_ledger *ledger;
	uint64_t now_ms;
	unsigned n_seen, n_stale, n_carried, n_history, n_done, n_failed;
	int history_error;
	int last_result;
	uint64_t first_job;
	uint64_t last_seq;
	enum berth_fact_kind carried[32];
};

static uint64_t host_now(void *arg)
{
	return ((struct host *)arg)->now_ms;
}

static void host_seen(void *arg, const struct berth_fact *fact, int result)
{
	struct host *host = arg;

	host->n_seen++;
	host->n_stale += result == -ESTALE;
	assert_true(fact->seq > host->last_seq);
	host->last_seq = fact->seq;
}

static void host_carry_out(void *arg, const struct berth_fact *decision)
{
	struct host *host = arg;

	host->carried[host->n_carried++ % 32] = decision->kind;
}

static int host_history(void *arg, const struct berth_job *job, struct berth_arena *arena,
                        struct berth_history_row *ret)
{
	struct host *host = arg;
	char json[64];

	if (host->history_error)
		return host->history_error;
	(void)snprintf(json, sizeof(json), "{\"id\":%llu}", (unsigned long long)job->id);
	*ret = (struct berth_history_row){
		.job = job->id,
		.uid = job->asked.uid,
		.user = job->asked.user,
		.name = job->asked.name,
		.state = berth_job_state_name(job->state),
		.submit_ms = job->submit_ms,
		.start_ms = job->start_ms,
		.end_ms = job->finish_ms,
		.json = berth_arena_strdup(arena, json),
	};
	host->n_history++;
	return 0;
}

static void host_failed(void *arg, const struct berth_error *err)
{
	((struct host *)arg)->n_failed++;
}

static void on_done(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	struct host *host = arg;

	host->n_done++;
	host->last_result = result;
	if (n > 0 && facts[0].kind == BERTH_FACT_JOB_SUBMITTED)
		host->first_job = facts[0].u.submit.job;
}

static void open_ledger(struct host *host)
{
	const struct berth_ledger_host calls = {host, host_now, host_seen, host_carry_out, host_history, host_failed};
	struct berth_error err = {0};

	host->last_seq = 0;
	if (berth_ledger_open(host->dir, &calls, &host->ledger, &err) < 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	struct host *host = calloc(1, sizeof(*host));

	(void)snprintf(host->dir, sizeof(host->dir), "/tmp/berth-ledger-XXXXXX");
	assert_non_null(mkdtemp(host->dir));
	host->now_ms = 1000000;
	open_ledger(host);
	*state = host;
	return 0;
}

static int tear_down(void **state)
{
	struct host *host = *state;

	berth_ledger_close(host->ledger);
	assert_int_equal(berth_dir_remove(host->dir), 0);
	free(host);
	return 0;
}

/* Turn the loop until nothing is due now. */
static void settle(struct host *host)
{
	for (;;) {
		struct pollfd fd = {.fd = berth_ledger_fd(host->ledger), .events = POLLIN};

		if (berth_store_is_busy(berth_ledger_store(host->ledger))) {
			assert_int_equal(poll(&fd, 1, 10000), 1);
			berth_ledger_dispatch(host->ledger);
		} else if (berth_ledger_wake_ms(host->ledger) <= host->now_ms) {
			berth_ledger_tick(host->ledger);
		} else {
			return;
		}
	}
}

static uint64_t commits(struct host *host)
{
	uint64_t n, fsyncs;

	berth_store_counts(berth_ledger_store(host->ledger), &n, &fsyncs);
	return n;
}

static struct berth_fact submit_fact(uint32_t gpus)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.u.submit.uid = 1000;
	fact.u.submit.user = "lin";
	fact.u.submit.name = "train";
	fact.u.submit.tier = BERTH_TIER_P2;
	fact.u.submit.request.gpus = gpus;
	fact.u.submit.request.limit_ms = 3600000;
	fact.u.submit.grace_ms = 30000;
	return fact;
}

static void post(struct host *host, const struct berth_fact *facts, size_t n, bool keep)
{
	const struct berth_post p = {.facts = facts, .n_facts = n, .keep = keep, .done = on_done, .done_arg = host};

	assert_int_equal(berth_ledger_post(host->ledger, &p), 0);
}

static void post_site(struct host *host, uint32_t devices)
{
	struct berth_fact fact;
	char uuid[16];

	berth_fact_init(&fact, BERTH_FACT_POLICY_SET);
	fact.u.policy = (struct berth_fact_policy){1000, 60000, 5000};
	post(host, &fact, 1, true);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node = (struct berth_fact_node){1, "here"};
	post(host, &fact, 1, true);
	for (uint32_t i = 0; i < devices; i++) {
		(void)snprintf(uuid, sizeof(uuid), "GPU-%u", i);
		berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
		fact.u.device = (struct berth_fact_device){0, 1, i, uuid, "gpu", "H200", UINT64_C(141) << 30};
		post(host, &fact, 1, true);
		berth_fact_init(&fact, BERTH_FACT_DEVICE_HEALTH);
		fact.u.health = (struct berth_fact_device_health){i + 1, BERTH_HEALTH_OK};
		post(host, &fact, 1, true);
	}
	settle(host);
}

static void test_a_lone_post_is_one_transaction(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = submit_fact(0);
	uint64_t before;

	settle(host);
	before = commits(host);
	post(host, &fact, 1, false);
	assert_true(berth_store_is_busy(berth_ledger_store(host->ledger)));
	settle(host);
	assert_int_equal(host->n_done, 1);
	assert_int_equal(host->last_result, 0);
	assert_int_equal(host->first_job, 1);
	/* the submission, and then the decision to start it */
	assert_int_equal(commits(host), before + 2);
	assert_int_equal(host->n_carried, 1);
	assert_int_equal(host->carried[0], BERTH_FACT_ATTEMPT_ASSIGNED);
}

static void test_the_reopened_state_equals_the_live_one(void **state)
{
	struct host *host = *state;
	const struct berth_fact fact = submit_fact(2);
	uint64_t hash;

	post_site(host, 8);
	for (int i = 0; i < 50; i++)
		post(host, &fact, 1, false);
	settle(host);
	hash = berth_core_hash(berth_ledger_core(host->ledger));
	berth_ledger_close(host->ledger);
	open_ledger(host);
	assert_true(berth_core_hash(berth_ledger_core(host->ledger)) == hash);
	assert_int_equal(berth_core_count_in(berth_ledger_core(host->ledger), BERTH_JOB_STARTING, BERTH_TIER_P2), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_lone_post_is_one_transaction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_reopened_state_equals_the_live_one, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
