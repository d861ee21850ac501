#ifndef BERTH_CORE_FOLD_H
#define BERTH_CORE_FOLD_H
/* The fold, one function per kind of fact. Each gets a well-formed fact (strings there, names of enumerations known,
 * share sets ascending) for which room was made; it returns 0, or -ESTALE or -EINVAL with the state unchanged.
 */
#include "core/model.h"
#include "core/order.h"

typedef int berth_fold_fn(struct berth_core *core, const struct berth_fact *fact);

/* what the site is: fold_site.c */
berth_fold_fn berth_fold_policy_set, berth_fold_node_seen, berth_fold_device_seen, berth_fold_device_health,
	berth_fold_device_drain, berth_fold_device_free, berth_fold_counters;
/* what people ask, and what becomes of jobs: fold_job.c */
berth_fold_fn berth_fold_submitted, berth_fold_cancel_asked, berth_fold_held, berth_fold_released, berth_fold_altered,
	berth_fold_requeue_asked, berth_fold_requeued, berth_fold_finished, berth_fold_forgotten, berth_fold_image;
/* what attempts do: fold_attempt.c */
berth_fold_fn berth_fold_assigned, berth_fold_started, berth_fold_refused, berth_fold_ended,
	berth_fold_stop_asked, berth_fold_limit_set;

/* The job that a fact is about. NULL and *ret_error: -ESTALE when it is forgotten, -EINVAL when it never was. */
struct berth_job_rec *berth_fold_job(struct berth_core *core, uint64_t id, int *ret_error);

/* Can such numbers be a request at all: some time, no more devices than a node can have? */
bool berth_fold_is_request(const struct berth_request *request);
/* Are the fields to be altered known, and their new values possible numbers? */
bool berth_fold_is_alter(const struct berth_fact_alter *alter);
/* The request as it will be. */
void berth_fold_apply_request(struct berth_request *request, const struct berth_fact_alter *alter);
/* The fields that only a waiting job can change. */
#define BERTH_ALTER_WAITING_ONLY (BERTH_ALTER_GPUS | BERTH_ALTER_GPU_MEM | BERTH_ALTER_INDEX | BERTH_ALTER_MODEL)
#define BERTH_ALTER_ALL \
	(BERTH_ALTER_WAITING_ONLY | BERTH_ALTER_NAME | BERTH_ALTER_TIER | BERTH_ALTER_LIMIT | BERTH_ALTER_BEGIN | \
	 BERTH_ALTER_GRACE | BERTH_ALTER_REQUEUE)
#endif
