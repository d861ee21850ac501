#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "api/batch.h"
#include "api/job_json.h"
#include "api/post.h"
#include "api/reason.h"
#include "api/refuse.h"
#include "base/units.h"

#define KEY_MAX 128u
#define RETRY_US 20000u

/* --- answers --------------------------------------------------------------------------------- */

/* A job of an earlier submission that only the history knows. */
static int take_past(void *arg, uint64_t job, const char *row)
{
	struct berth_json *json = arg;
	json_t *past = json_loads(row, 0, NULL);

	berth_json_str(json, "state", json_string_value(json_object_get(past, "state")));
	json_decref(past);
	return 1;
}

static void write_job(struct berth_api *api, struct berth_json *json, uint64_t id)
{
	const struct berth_history_query query = {.job = id, .limit = 1};
	const struct berth_job *job = berth_core_job(berth_api_core(api), id);
	const struct berth_outlook *row;
	struct berth_reason reason;
	size_t position;

	berth_json_open(json, NULL, '{');
	berth_json_u64(json, "id", id);
	if (job) {
		row = berth_outlooks_find(&api->outlooks, id, &position);
		reason = berth_job_reason(api, job);
		berth_json_str(json, "state", berth_job_state_public_name(job->state));
		berth_reason_write(json, "reason", berth_api_core(api), &reason);
		berth_forecast_write(json, "predicted_start", row ? &row->forecast : NULL);
	} else if (berth_store_history(berth_ledger_store(api->host.ledger), &query, take_past, json, NULL) < 0) {
		berth_json_null(json, "state");
	}
	berth_json_close(json, '}');
}

static void reply_ids(struct berth_api *api, struct berth_exchange *request, unsigned status, uint64_t first,
                      uint64_t n)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	if (berth_outlooks_glance(&api->outlooks, berth_api_core(api), berth_api_now(api)) < 0)
		text.is_failed = true;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.submit/1");
	berth_json_open(&json, "jobs", '[');
	for (uint64_t i = 0; i < n; i++)
		write_job(api, &json, first + i);
	berth_json_close(&json, ']');
	berth_json_u64(&json, "seq", berth_core_seq(berth_api_core(api)));
	berth_json_close(&json, '}');
	berth_reply_json(request, status, &text);
}

static void on_submitted(struct berth_api *api, struct berth_exchange *request, int result,
                         const struct berth_fact *facts, size_t n)
{
	if (result < 0)
		berth_reply_errno(request, result, n == 1 ? "take the job" : "take the jobs");
	else
		reply_ids(api, request, MHD_HTTP_CREATED, facts[0].u.submit.job, n);
}

/* The fact as it would be posted: the core looks at ids too. */
static struct berth_fact numbered(const struct berth_core *core, const struct berth_fact *fact)
{
	struct berth_fact copy = *fact;

	copy.u.submit.job = berth_core_next_job(core);
	return copy;
}

/* --- dry run --------------------------------------------------------------------------------- */

static void write_trial(struct berth_api *api, struct berth_json *json, const struct berth_fact *asked, uint64_t now_ms)
{
	const struct berth_fact fact = numbered(berth_api_core(api), asked);
	const struct berth_request *request = &fact.u.submit.request;
	struct berth_core *core = berth_api_core(api);
	struct berth_reason reason = {0};
	struct berth_forecast forecast = {UINT64_MAX, UINT64_MAX};
	struct berth_share_set set = {0};
	const int r = berth_core_try(core, &fact, now_ms, &reason, &forecast, &set);
	const bool is_now = r == 0 && (set.n > 0 || (request->gpus == 0 && forecast.latest_ms <= now_ms));
	const bool is_charged = request->limit_ms != BERTH_UNLIMITED_MS &&
	                        request->limit_ms < UINT64_MAX / (request->gpus + 1);

	berth_json_open(json, NULL, '{');
	berth_json_str(json, "verdict", is_now ? "starts_now" : "waits");
	berth_set_write(json, "devices", core, &set);
	berth_reason_write(json, "reason", core, &reason);
	berth_forecast_write(json, "predicted_start", r == 0 ? &forecast : NULL);
	berth_json_u64_or_null(json, "charge_gpu_ms", is_charged ? request->limit_ms * request->gpus : UINT64_MAX,
	                       UINT64_MAX);
	berth_json_close(json, '}');
}

static void reply_trial(struct berth_api *api, struct berth_exchange *request, const struct berth_batch *batch)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	const uint64_t now_ms = berth_api_now(api);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.dryrun/1");
	berth_json_open(&json, "jobs", '[');
	for (size_t i = 0; i < batch->n; i++)
		write_trial(api, &json, &batch->facts[i], now_ms);
	berth_json_close(&json, ']');
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

/* --- checking -------------------------------------------------------------------------------- */

/* Is every job of the batch possible? Otherwise the request is answered. */
static bool check_all(const struct berth_api *api, struct berth_exchange *request, const struct berth_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		const struct berth_fact fact = numbered(berth_api_core(api), &batch->facts[i]);
		struct berth_reason reason = {0};
		const int r = berth_core_check(berth_api_core(api), &fact, &reason);
		char buf[32];

		if (r == 0)
			continue;
		berth_refuse_check(api, request, r, &reason, &fact, berth_batch_where(batch, i, buf));
		return false;
	}
	return true;
}

static void refuse_batch(struct berth_exchange *request, int code, const struct berth_error *err)
{
	const struct berth_refusal field = {MHD_HTTP_BAD_REQUEST, "BadField", NULL, NULL};
	const struct berth_refusal limit = {
		MHD_HTTP_UNPROCESSABLE_CONTENT, "AboveLimit", NULL,
		"Ask for less at once; a job that saves checkpoints can go on in a second one."};

	if (code == -ENOMEM)
		berth_reply_errno(request, code, "take the jobs");
	else
		berth_reply_error(request, code == -ERANGE ? &limit : &field, "%s.", err->text);
}

static bool is_dry(const struct berth_exchange *request)
{
	const char *dry_run = berth_exchange_query(request, "dry_run");

	return dry_run && strcmp(dry_run, "0") != 0;
}

/* A key that a client made up: printable, short. false: answered. */
static bool check_key(struct berth_exchange *request, const char *key)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadKey", NULL, NULL};
	const size_t n = strlen(key);
	bool is_good = n > 0 && n <= KEY_MAX;

	for (size_t i = 0; i < n && is_good; i++)
		is_good = key[i] > 0x20 && key[i] < 0x7f;
	if (!is_good)
		berth_reply_error(request, &refusal,
		                  "Idempotency-Key must be 1 to %u printable characters without blanks.", KEY_MAX);
	return is_good;
}

static void submit(struct berth_api *api, struct berth_exchange *request, const char *key)
{
	struct berth_submission submission = {.uid = request->uid, .key = key};
	json_t *root = berth_api_body(request);
	__attribute__((cleanup(berth_batch_fini))) struct berth_batch batch = {0};
	struct berth_error err = {0};
	struct berth_post post;
	char buf[24];
	int r;

	if (!root)
		return;
	r = berth_batch_read(&api->host, root, request->uid, berth_api_user_name(api, request->uid, buf), &batch, &err);
	if (r < 0) {
		refuse_batch(request, r, &err);
		return;
	}
	if (!check_all(api, request, &batch))
		return;
	if (is_dry(request)) {
		reply_trial(api, request, &batch);
		return;
	}
	submission.n = (uint32_t)batch.n;
	submission.at_ms = berth_api_now(api);
	post = (struct berth_post){.facts = batch.facts,
	                           .n_facts = batch.n,
	                           .blobs = batch.blobs,
	                           .n_blobs = batch.n_blobs,
	                           .submission = key ? &submission : NULL};
	berth_api_post(api, request, &post, on_submitted);
}

/* --- the same key again ---------------------------------------------------------------------- */

static int on_retry(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct berth_api *api = arg;
	struct berth_retry *retry = api->retries;

	api->retries = NULL;
	while (retry) {
		struct berth_retry *next = retry->next;
		struct berth_exchange *request = berth_ticket_redeem(retry->ticket);

		free(retry);
		if (request)
			berth_post_jobs(api, request); /* may wait again */
		retry = next;
	}
	return 0;
}

static int arm_retries(struct berth_api *api)
{
	uint64_t now_us = 0;
	int r = sd_event_now(api->event, CLOCK_MONOTONIC, &now_us);

	if (r >= 0 && !api->retry_timer)
		r = sd_event_add_time(api->event, &api->retry_timer, CLOCK_MONOTONIC, 0, 1000, on_retry, api);
	if (r >= 0)
		r = sd_event_source_set_time(api->retry_timer, now_us + RETRY_US);
	if (r >= 0)
		r = sd_event_source_set_enabled(api->retry_timer, SD_EVENT_ONESHOT);
	return r < 0 ? r : 0;
}

/* Its first sending is being written: look again soon. */
static void wait_for_first(struct berth_api *api, struct berth_exchange *request)
{
	struct berth_retry *retry = arm_retries(api) == 0 ? calloc(1, sizeof(*retry)) : NULL;

	if (retry)
		retry->ticket = berth_exchange_wait(request);
	if (!retry || !retry->ticket) {
		free(retry);
		berth_reply_errno(request, -ENOMEM, "wait for the first sending");
		return;
	}
	retry->next = api->retries;
	api->retries = retry;
}

void berth_post_jobs(struct berth_api *api, struct berth_exchange *request)
{
	const char *key = is_dry(request) ? NULL : berth_exchange_header(request, "Idempotency-Key");
	uint64_t first;
	uint32_t n;
	int r = 0;

	if (key && !check_key(request, key))
		return;
	if (key)
		r = berth_store_submission(berth_ledger_store(api->host.ledger), request->uid, key, &first, &n);
	if (r < 0)
		berth_reply_errno(request, r, "look for an earlier sending");
	else if (r > 0)
		reply_ids(api, request, MHD_HTTP_OK, first, n);
	else if (key && berth_ledger_submission_pending(api->host.ledger, request->uid, key) > 0)
		wait_for_first(api, request);
	else
		submit(api, request, key);
}
