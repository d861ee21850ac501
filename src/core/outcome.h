#ifndef BERTH_CORE_OUTCOME_H
#define BERTH_CORE_OUTCOME_H
/* What becomes of a job whose attempt is over: the rules, first that holds.
 *
 *   it hit its time limit                    TIMEOUT, whatever the exit code
 *   a cancel was asked                       CANCELLED, even when it exited 0 after the stop; but an attempt that ended
 *                                            by itself before the stop reached it has its own outcome (and does not run
 *                                            again)
 *   a requeue was asked, it was preempted,   runs again (none of them counts as a failure), unless it exited 0 and
 *   or a device of it was lost               touched its done file (or exited 0 unasked, device lost or not): COMPLETED
 *   it could not be launched                 runs again, each time after a longer pause; requeue_max is not touched
 *   the kernel killed it for memory          OUT_OF_MEMORY
 *   no output file, no command               FAILED
 *   exit code 0                              COMPLETED
 *   any other end, the unknown included      runs again after a pause while requeue_max allows, then FAILED
 */
#include "core/model.h"

/* Fill ret with the decision about an ENDED job: JOB_FINISHED or JOB_REQUEUED. */
void berth_outcome_decide(const struct berth_core *core, const struct berth_job *job, uint64_t now_ms,
                          struct berth_fact *ret);

/* Does a requeue for this reason use one of the job's requeue_max? */
bool berth_outcome_is_failure(enum berth_reason_code code);
#endif
