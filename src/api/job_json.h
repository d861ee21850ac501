#ifndef BERTH_API_JOB_JSON_H
#define BERTH_API_JOB_JSON_H
/* A job as JSON: one writer for lists, single jobs, events and history. */
#include "api/server.h"

enum berth_job_extent {
	BERTH_JOB_ROW = 0, /* as in lists */
	BERTH_JOB_WHOLE,   /* and what its specification says: argv, cwd, output … */
	BERTH_JOB_HISTORY, /* the same, marked as history */
};

/* Lists refresh api->outlooks once before they write their rows; without fresh ones a waiting job has no reason and no
 * forecast. job: borrowed. */
void berth_job_write(struct berth_api *api, struct berth_json *json, const char *key, const struct berth_job *job,
                     enum berth_job_extent extent);
/* The reason of its state: of waiting, of being stopped, of its end. */
struct berth_reason berth_job_reason(const struct berth_api *api, const struct berth_job *job);
/* {"earliest","likely":null,"latest"}, or null when nothing is known (forecast NULL). */
void berth_forecast_write(struct berth_json *json, const char *key, const struct berth_forecast *forecast);
/* {"done":120,"total":500,"text":"epoch 3"} of a line as the job wrote it ("120/500 epoch 3"; also "60%"); null for "".
 */
void berth_progress_write(struct berth_json *json, const char *key, const char *line);
/* UUIDs of a set, as an array. */
void berth_set_write(struct berth_json *json, const char *key, const struct berth_core *core,
                     const struct berth_share_set *set);

/* Answer with {"schema":"berth.job/1","seq":…,"job":{…}}. */
void berth_reply_job(struct berth_api *api, struct berth_exchange *request, const struct berth_job *job);
/* 404 for a job that nobody knows. */
void berth_reply_no_job(struct berth_exchange *request, const char *id);
#endif
