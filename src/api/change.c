/* Asking something of a job that is there: cancel, hold, release, requeue, alter. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include "api/ask.h"
#include "api/job_json.h"
#include "api/post.h"
#include "api/refuse.h"
#include "base/units.h"

static void on_changed(struct berth_api *api, struct berth_exchange *request, int result,
                       const struct berth_fact *facts, size_t n)
{
	/* The core may have forgotten it meanwhile; the history has it then. */
	if (result < 0 && result != -ESTALE)
		berth_reply_errno(request, result, "note this");
	else
		berth_get_job(api, request);
}

/* The job that the path names, or NULL with the request answered. A job of the history cannot be changed, only
 * cancelled (which is nothing). */
static const struct berth_job *find(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_job *job = NULL;
	uint64_t id;

	if (berth_number_parse(request->arg, "job", 1, INT64_MAX, &id, NULL) == 0)
		job = berth_core_job(berth_api_core(api), id);
	if (!job)
		berth_reply_no_job(request, request->arg);
	return job;
}

static void check_and_post(struct berth_api *api, struct berth_exchange *request, const struct berth_fact *fact)
{
	struct berth_post post = {.facts = fact, .n_facts = 1};
	struct berth_reason reason = {0};
	const int r = berth_core_check(berth_api_core(api), fact, &reason);

	if (r < 0)
		berth_refuse_check(api, request, r, &reason, fact, NULL);
	else
		berth_api_post(api, request, &post, on_changed);
}

static void ask(struct berth_api *api, struct berth_exchange *request, enum berth_fact_kind kind)
{
	const struct berth_job *job = find(api, request);
	struct berth_fact fact;
	char buf[24];

	if (!job)
		return;
	berth_fact_init(&fact, kind);
	fact.u.job.job = job->id;
	fact.u.job.by = berth_api_user_name(api, request->uid, buf);
	check_and_post(api, request, &fact);
}

void berth_post_cancel(struct berth_api *api, struct berth_exchange *request)
{
	uint64_t id;

	/* One that is over and forgotten: cancelling it is no error. */
	if (berth_number_parse(request->arg, "job", 1, INT64_MAX, &id, NULL) == 0 &&
	    !berth_core_job(berth_api_core(api), id))
		berth_get_job(api, request);
	else
		ask(api, request, BERTH_FACT_JOB_CANCEL_ASKED);
}

void berth_post_hold(struct berth_api *api, struct berth_exchange *request)
{
	ask(api, request, BERTH_FACT_JOB_HELD);
}

void berth_post_release(struct berth_api *api, struct berth_exchange *request)
{
	ask(api, request, BERTH_FACT_JOB_RELEASED);
}

void berth_post_requeue(struct berth_api *api, struct berth_exchange *request)
{
	ask(api, request, BERTH_FACT_JOB_REQUEUE_ASKED);
}

static void alter(struct berth_api *api, struct berth_exchange *request, const struct berth_job *job,
                  const struct berth_ask *ask)
{
	struct berth_fact fact;
	char buf[24];

	berth_fact_init(&fact, BERTH_FACT_JOB_ALTERED);
	fact.u.alter = (struct berth_fact_alter){.job = job->id,
	                                         .fields = ask->fields,
	                                         .by = berth_api_user_name(api, request->uid, buf),
	                                         .name = ask->name,
	                                         .tier = ask->tier,
	                                         .begin_ms = ask->begin_ms,
	                                         .grace_ms = ask->grace_ms,
	                                         .requeue_max = ask->requeue_max,
	                                         .request = ask->request};
	check_and_post(api, request, &fact);
}

static void parse_and_alter(struct berth_api *api, struct berth_exchange *request, json_t *body)
{
	const struct berth_refusal bad = {MHD_HTTP_BAD_REQUEST, "BadField", NULL, NULL};
	const struct berth_refusal too_long = {MHD_HTTP_UNPROCESSABLE_CONTENT, "AboveLimit", NULL,
	                                       "Save checkpoints and resume in a second job."};
	const struct berth_job *job = find(api, request);
	struct berth_ask ask;
	struct berth_error err;

	if (!job)
		return;
	/* What is not given stays as it is. */
	ask = (struct berth_ask){.name = job->asked.name,
	                         .tier = job->asked.tier,
	                         .begin_ms = job->asked.begin_ms,
	                         .grace_ms = job->asked.grace_ms,
	                         .requeue_max = job->asked.requeue_max,
	                         .request = job->asked.request};
	if (!json_is_object(body))
		berth_reply_error(request, &bad, "The body must be an object with the fields to alter.");
	else if (berth_ask_parse(body, true, "", berth_api_now(api), &ask, &err) < 0)
		berth_reply_error(request, &bad, "%s.", err.text);
	else if (ask.fields == 0)
		berth_reply_error(request, &bad, "The body names nothing to alter.");
	else if ((ask.fields & BERTH_ALTER_LIMIT) && !berth_ask_is_within(&ask, api->host.max_limit_ms, &err))
		berth_reply_error(request, &too_long, "%s.", err.text);
	else
		alter(api, request, job, &ask);
}

void berth_patch_job(struct berth_api *api, struct berth_exchange *request)
{
	json_t *body = berth_api_body(request);

	if (!body)
		return;
	parse_and_alter(api, request, body);
	json_decref(body);
}
