#ifndef BERTH_STORE_HOST_TEST_H
#define BERTH_STORE_HOST_TEST_H
/* A host of the ledger for unit tests: a directory of its own, a clock that the test moves, and a count of all that it
 * is told. Everything that goes wrong here fails the test that uses it. */
#include "store/ledger.h"

#define HOST_CARRIED_MAX 256

struct host {
	char dir[64];
	struct berth_ledger *ledger; /* NULL while closed */
	uint64_t now_ms;
	bool carries_out;  /* play the machine: what is assigned starts and ends with code 0 at once */
	int history_error; /* what the history call answers; 0 = well */

	unsigned n_seen, n_stale, n_invalid, n_history, n_failed;
	unsigned n_carried;
	struct { /* the last decisions to be carried out */
		enum berth_fact_kind kind;
		uint64_t job;
	} carried[HOST_CARRIED_MAX];
	unsigned n_done;
	int last_result; /* of a post */
	struct berth_error failure;
	uint64_t last_seq;                /* seen */
	uint64_t first_job, first_device; /* of the last post that was told, if it has such */
	size_t last_n;
};

/* cmocka's set-up and tear-down: *state is a struct host, open. */
int host_set_up(void **state);
int host_tear_down(void **state);
void host_open(struct host *host);
void host_close(struct host *host);

/* Turn the loop until nothing is due at this moment. */
void host_settle(struct host *host);
/* Move the clock and settle at every wake on the way. */
void host_advance(struct host *host, uint64_t ms);
/* Wait until the snapshot being written is whole. */
void host_await_snapshot(struct host *host);
struct berth_core *host_core(struct host *host);
uint64_t host_commits(struct host *host);

/* A submission of user lin: tier P2, an hour, grace 30 s. */
struct berth_fact host_submission(uint32_t gpus);
/* A report or wish about a job: kind with job, attempt where it has one; ENDED with code 0. */
struct berth_fact host_fact(enum berth_fact_kind kind, uint64_t job, uint32_t attempt);
void host_post(struct host *host, const struct berth_fact *facts, size_t n, bool keep);
/* The policy (finished jobs stay 5 s), a node, n devices of health ok; settled. */
void host_post_site(struct host *host, uint32_t n);
#endif
