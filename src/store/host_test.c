#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "store/host_test.h"

/* --- what the ledger calls ------------------------------------------------------------------------------- */

static uint64_t call_now(void *arg)
{
	return ((struct host *)arg)->now_ms;
}

static void call_seen(void *arg, const struct berth_fact *fact, int result)
{
	struct host *host = arg;

	assert_true(fact->seq > host->last_seq);
	host->last_seq = fact->seq;
	host->n_seen++;
	host->n_stale += result == -ESTALE;
	host->n_invalid += result == -EINVAL;
}

static void run_attempt(struct host *host, const struct berth_fact_assigned *assigned)
{
	struct berth_fact fact = host_fact(BERTH_FACT_ATTEMPT_STARTED, assigned->job, assigned->attempt);

	host_post(host, &fact, 1, true);
	fact = host_fact(BERTH_FACT_ATTEMPT_ENDED, assigned->job, assigned->attempt);
	host_post(host, &fact, 1, true);
}

static void call_carry_out(void *arg, const struct berth_fact *decision)
{
	struct host *host = arg;
	const unsigned at = host->n_carried++ % HOST_CARRIED_MAX;

	host->carried[at].kind = decision->kind;
	host->carried[at].job = decision->u.job.job; /* every decision begins with its job */
	if (host->carries_out && decision->kind == BERTH_FACT_ATTEMPT_ASSIGNED)
		run_attempt(host, &decision->u.assigned);
}

static int call_history(void *arg, const struct berth_job *job, struct berth_arena *arena,
                        struct berth_history_row *ret)
{
	struct host *host = arg;
	char json[64];

	if (host->history_error)
		return host->history_error;
	(void)snprintf(json, sizeof(json), "{\"id\":%" PRIu64 ",\"state\":\"%s\"}", job->id,
	               berth_job_state_name(job->state));
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

static void call_failed(void *arg, const struct berth_error *err)
{
	struct host *host = arg;

	host->n_failed++;
	host->failure = *err;
}

static void call_done(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	struct host *host = arg;

	host->n_done++;
	host->last_result = result;
	host->last_n = n;
	if (n > 0 && facts[0].kind == BERTH_FACT_JOB_SUBMITTED)
		host->first_job = facts[0].u.submit.job;
	if (n > 0 && facts[0].kind == BERTH_FACT_DEVICE_SEEN)
		host->first_device = facts[0].u.device.device;
}

/* --- the host -------------------------------------------------------------------------------------------- */

int host_set_up(void **state)
{
	struct host *host = calloc(1, sizeof(*host));

	assert_non_null(host);
	(void)snprintf(host->dir, sizeof(host->dir), "%s/berth-ledger-XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(host->dir));
	host->now_ms = 1000000;
	host_open(host);
	*state = host;
	return 0;
}

int host_tear_down(void **state)
{
	struct host *host = *state;

	host_close(host);
	assert_int_equal(berth_dir_remove(host->dir), 0);
	free(host);
	return 0;
}

void host_open(struct host *host)
{
	const struct berth_ledger_host calls = {
		.arg = host,
		.now_ms = call_now,
		.seen = call_seen,
		.carry_out = call_carry_out,
		.history = call_history,
		.failed = call_failed,
	};
	struct berth_error err = {0};

	assert_null(host->ledger);
	host->last_seq = 0;
	if (berth_ledger_open(host->dir, &calls, &host->ledger, &err) < 0)
		fail_msg("%s", err.text);
	host->last_seq = berth_store_last_seq(berth_ledger_store(host->ledger));
}

void host_close(struct host *host)
{
	berth_ledger_close(host->ledger);
	host->ledger = NULL;
}

void host_settle(struct host *host)
{
	for (int turns = 0; turns < 10000; turns++) {
		struct pollfd fd = {.fd = berth_ledger_fd(host->ledger), .events = POLLIN};

		if (berth_store_is_busy(berth_ledger_store(host->ledger))) {
			assert_int_equal(poll(&fd, 1, 20000), 1);
			berth_ledger_dispatch(host->ledger);
		} else if (berth_ledger_wake_ms(host->ledger) <= host->now_ms) {
			berth_ledger_tick(host->ledger);
		} else {
			return;
		}
	}
	fail_msg("the ledger never comes to rest");
}

void host_advance(struct host *host, uint64_t ms)
{
	const uint64_t until = host->now_ms + ms;

	host_settle(host);
	while (berth_ledger_wake_ms(host->ledger) <= until) {
		host->now_ms = berth_ledger_wake_ms(host->ledger);
		host_settle(host);
	}
	host->now_ms = until;
	host_settle(host);
}

void host_await_snapshot(struct host *host)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 10000 && berth_store_is_snapshotting(berth_ledger_store(host->ledger)); i++)
		(void)nanosleep(&pause, NULL);
	assert_false(berth_store_is_snapshotting(berth_ledger_store(host->ledger)));
}

struct berth_core *host_core(struct host *host)
{
	return berth_ledger_core(host->ledger);
}

uint64_t host_commits(struct host *host)
{
	uint64_t commits, fsyncs;

	berth_store_counts(berth_ledger_store(host->ledger), &commits, &fsyncs);
	return commits;
}

/* --- facts ----------------------------------------------------------------------------------------------- */

struct berth_fact host_submission(uint32_t gpus)
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

struct berth_fact host_fact(enum berth_fact_kind kind, uint64_t job, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	fact.u.job.job = job;
	if (kind == BERTH_FACT_ATTEMPT_STARTED) {
		fact.u.started = (struct berth_fact_started){job, attempt, 4242};
	} else if (kind == BERTH_FACT_ATTEMPT_ENDED) {
		fact.u.ended.attempt = attempt;
		fact.u.ended.started_ms = 1000000;
		fact.u.ended.ended_ms = 1000001;
	} else if (kind == BERTH_FACT_ATTEMPT_REFUSED) {
		fact.u.refused = (struct berth_fact_refused){job, attempt, ENOENT};
	} else {
		fact.u.job.by = "lin";
	}
	return fact;
}

void host_post(struct host *host, const struct berth_fact *facts, size_t n, bool keep)
{
	const struct berth_post post = {
		.facts = facts, .n_facts = n, .keep = keep, .done = call_done, .done_arg = host};

	assert_int_equal(berth_ledger_post(host->ledger, &post), 0);
}

static void post_device(struct host *host, uint32_t i)
{
	struct berth_fact facts[2];
	char uuid[16];

	(void)snprintf(uuid, sizeof(uuid), "GPU-%u", i);
	berth_fact_init(&facts[0], BERTH_FACT_DEVICE_SEEN);
	facts[0].u.device = (struct berth_fact_device){0, 1, i, uuid, "gpu", "H200", UINT64_C(141) << 30};
	berth_fact_init(&facts[1], BERTH_FACT_DEVICE_HEALTH);
	facts[1].u.health = (struct berth_fact_device_health){i + 1, BERTH_HEALTH_OK};
	host_post(host, facts, 2, true);
}

void host_post_site(struct host *host, uint32_t n)
{
	struct berth_fact facts[2];

	berth_fact_init(&facts[0], BERTH_FACT_POLICY_SET);
	facts[0].u.policy = (struct berth_fact_policy){1000, 60000, 5000};
	berth_fact_init(&facts[1], BERTH_FACT_NODE_SEEN);
	facts[1].u.node = (struct berth_fact_node){1, "here"};
	host_post(host, facts, 2, true);
	for (uint32_t i = 0; i < n; i++)
		post_device(host, i);
	host_settle(host);
	assert_int_equal(berth_core_device_count(host_core(host)), n);
}
