#ifndef BERTH_CORE_STAGE_TEST_H
#define BERTH_CORE_STAGE_TEST_H
/* A small site for the unit tests of the core: one node "node1", the time at hand, decisions folded as the ledger folds
 * them. Everything that goes wrong here fails the test that uses it.
 */
#include "core/core.h"

#define STAGE_GIB ((uint64_t)1 << 30)
#define STAGE_MINUTE 60000u
#define STAGE_PLAN_MAX 64

struct stage {
	struct berth_core *core;
	uint64_t now_ms, seq;
	struct berth_fact plan[STAGE_PLAN_MAX]; /* lines of the last stage_decide */
	size_t n_plan;
	uint64_t wake_ms;
};

/* A core with n A100-80GB: ids from 1, indexes from 0, uuids "GPU-1" …; at 1,000,000 ms. */
void stage_open(struct stage *stage, uint32_t n);
void stage_close(struct stage *stage);
/* A device more, or known differently. */
void stage_device(struct stage *stage, uint32_t id, uint32_t node, uint32_t index, const char *model,
                  uint64_t mem_bytes);
/* Give it the next number and this moment, and fold it; what the core said. */
int stage_fold(struct stage *stage, struct berth_fact *fact);
/* A JOB_SUBMITTED for the next id: tier P2, user ann, no grace, no requeue. */
struct berth_fact stage_submission(struct stage *stage, uint32_t gpus, uint64_t limit_ms);
/* Fold such a one; its id. */
uint64_t stage_submit(struct stage *stage, uint32_t gpus, uint64_t limit_ms);
/* CANCEL_ASKED, HELD, RELEASED, REQUEUE_ASKED; what the core said. */
int stage_wish(struct stage *stage, enum berth_fact_kind kind, uint64_t job);
int stage_health(struct stage *stage, uint32_t device, enum berth_health health);
int stage_drain(struct stage *stage, uint32_t device, bool is_draining);
/* Decide, fold every line, each must be taken. Returns how many lines. */
size_t stage_decide(struct stage *stage);
/* Decide until there is nothing more to say. */
void stage_settle(struct stage *stage);
/* Reports about the current attempt; must be taken. */
void stage_start(struct stage *stage, uint64_t job);
void stage_end(struct stage *stage, uint64_t job, int32_t exit_code, enum berth_stop_cause cause);
/* An ATTEMPT_ENDED about the current attempt, exit code 0, to be changed and folded. */
struct berth_fact stage_ending(struct stage *stage, uint64_t job);
const struct berth_job *stage_job(const struct stage *stage, uint64_t job);
size_t stage_free(const struct stage *stage);
#endif
