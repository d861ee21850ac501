#ifndef BERTH_API_BATCH_H
#define BERTH_API_BATCH_H
/* A submission as facts and blobs: read, checked for shape, ready to post. */
#include <jansson.h>
#include "api/api.h"

#define BERTH_BATCH_MAX 10000u /* jobs of one submission */

struct berth_batch {
	json_t *root; /* owned: strings of facts point into it */
	size_t n;
	bool is_array;
	struct berth_fact *facts; /* owned; n, kind JOB_SUBMITTED, job 0 */
	struct berth_blob *blobs; /* owned, with their bodies */
	size_t n_blobs;
	char (*specs)[65]; /* owned; n keys of specifications */
};

/* Read the body of a submission: one job, or an array. root is taken, also on failure. user: name of uid, borrowed as
 * long as the batch. In an array a job whose spec leaves env out has that of the job before it. 0; -ENOMEM; -EINVAL
 * with err: which field of which job; -ERANGE the site's time limit is exceeded, or too many jobs. */
BERTH_MUST_USE int berth_batch_read(const struct berth_api_host *host, json_t *root, uid_t uid, const char *user,
                                    struct berth_batch *ret, struct berth_error *err);
void berth_batch_fini(struct berth_batch *batch);
/* Path of job i for messages, "jobs[3]"; NULL when it is the only one. Returns buf. */
const char *berth_batch_where(const struct berth_batch *batch, size_t i, char buf[static 32]);
#endif
