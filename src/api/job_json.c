#include "api/job_json.h"

#include <string.h>
#include "api/reason.h"
#include "base/units.h"
#include "engine/local/jobspec.h"
#include "engine/local/local.h"

struct berth_reason berth_job_reason(const struct berth_api *api, const struct berth_job *job)
{
	const struct berth_outlook *row;
	size_t position;

	switch (job->state) {
	case BERTH_JOB_PENDING:
	case BERTH_JOB_HELD:
		row = berth_outlooks_find(&api->outlooks, job->id, &position);
		return row ? row->reason : (struct berth_reason){0};
	case BERTH_JOB_STARTING:
		return (struct berth_reason){.code = BERTH_REASON_STARTING};
	case BERTH_JOB_STOPPING:
	case BERTH_JOB_ENDED:
		return (struct berth_reason){.code = BERTH_REASON_STOPPING, .a = job->stop_deadline_ms};
	default:
		return berth_job_state_is_final(job->state) ? job->reason : (struct berth_reason){0};
	}
}

void berth_forecast_write(struct berth_json *json, const char *key, const struct berth_forecast *forecast)
{
	if (!forecast) {
		berth_json_null(json, key);
		return;
	}
	berth_json_open(json, key, '{');
	berth_json_time(json, "earliest", forecast->earliest_ms);
	berth_json_null(json, "likely");
	berth_json_time(json, "latest", forecast->latest_ms);
	berth_json_close(json, '}');
}

void berth_set_write(struct berth_json *json, const char *key, const struct berth_core *core,
                     const struct berth_share_set *set)
{
	berth_json_open(json, key, '[');
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device *device = berth_core_device(core, set->share[i].device);

		berth_json_str(json, NULL, device ? device->uuid : NULL);
	}
	berth_json_close(json, ']');
}

/* Digits at *at, moved behind them; false when there are none or too many. */
static bool take_digits(const char **at, uint64_t *ret)
{
	uint64_t value = 0;
	const char *s = *at;

	for (; *s >= '0' && *s <= '9'; s++) {
		if (value > (UINT64_C(1) << 53) / 10)
			return false;
		value = value * 10 + (uint64_t)(*s - '0');
	}
	if (s == *at)
		return false;
	*at = s;
	*ret = value;
	return true;
}

void berth_progress_write(struct berth_json *json, const char *key, const char *line)
{
	uint64_t done = UINT64_MAX;
	uint64_t total = UINT64_MAX;
	const char *at = line;
	const char *text = line;

	if (line[0] == '\0') {
		berth_json_null(json, key);
		return;
	}
	if (take_digits(&at, &done)) {
		if (at[0] == '/' && (at++, take_digits(&at, &total)))
			text = at;
		else if (at[0] == '%' && done <= 100)
			text = at + 1, total = 100;
		else
			done = UINT64_MAX;
	}
	berth_json_open(json, key, '{');
	berth_json_u64_or_null(json, "done", done, UINT64_MAX);
	berth_json_u64_or_null(json, "total", total, UINT64_MAX);
	berth_json_str(json, "text", text + strspn(text, " \t"));
	berth_json_close(json, '}');
}

static void write_indexes(struct berth_json *json, const char *key, uint64_t mask)
{
	if (mask == 0) {
		berth_json_null(json, key);
		return;
	}
	berth_json_open(json, key, '[');
	for (unsigned i = 0; i < 64; i++)
		if (mask >> i & 1)
			berth_json_u64(json, NULL, i);
	berth_json_close(json, ']');
}

/* What it has, or had last. */
static const struct berth_share_set *set_of(const struct berth_job *job)
{
	return berth_job_state_is_final(job->state) ? &job->last_set : &job->set;
}

static void write_placement(const struct berth_api *api, struct berth_json *json, const struct berth_job *job)
{
	const struct berth_core *core = berth_api_core(api);
	const struct berth_share_set *set = set_of(job);
	const bool is_placed = job->attempt > 0 && job->state != BERTH_JOB_PENDING && job->state != BERTH_JOB_HELD;

	berth_set_write(json, "devices", core, set);
	berth_json_open(json, "device_indexes", '[');
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device *device = berth_core_device(core, set->share[i].device);

		berth_json_u64_or_null(json, NULL, device ? device->index : UINT64_MAX, UINT64_MAX);
	}
	berth_json_close(json, ']');
	berth_json_str(json, "node", is_placed ? api->host.node_name : NULL);
}

static void write_asked(struct berth_json *json, const struct berth_fact_submit *asked)
{
	static const char *const tiers[BERTH_TIER_COUNT] = {"P0", "P1", "P2"};
	const struct berth_request *request = &asked->request;

	berth_json_str(json, "name", asked->name);
	berth_json_str(json, "user", asked->user);
	berth_json_u64(json, "uid", asked->uid);
	berth_json_null(json, "team");
	berth_json_str(json, "tier", asked->tier < BERTH_TIER_COUNT ? tiers[asked->tier] : NULL);
	berth_json_null(json, "class");
	berth_json_u64(json, "gpus", request->gpus);
	berth_json_str(json, "gpu_model", request->gpu_model[0] ? request->gpu_model : NULL);
	berth_json_u64_or_null(json, "share_milli", request->gpus > 0 ? 1000 : 0, 0);
	berth_json_u64_or_null(json, "gpu_mem_bytes", request->gpu_mem_bytes, 0);
	write_indexes(json, "gpu_index", request->index_mask);
	berth_json_u64_or_null(json, "limit_ms", request->limit_ms, BERTH_UNLIMITED_MS);
	berth_json_u64(json, "grace_ms", asked->grace_ms);
	berth_json_u64(json, "requeue", asked->requeue_max);
	berth_json_time(json, "begin_time", asked->begin_ms);
}

static void write_end(struct berth_json *json, const struct berth_job *job)
{
	const struct berth_fact_ended *last = &job->last;
	const bool is_over = berth_job_state_is_final(job->state) && job->end_ms > 0;

	if (is_over && last->exit_code >= 0 && last->signal == 0)
		berth_json_i64(json, "exit_code", last->exit_code);
	else
		berth_json_null(json, "exit_code");
	if (is_over && last->signal > 0)
		berth_json_i64(json, "signal", last->signal);
	else
		berth_json_null(json, "signal");
}

static void write_times(struct berth_json *json, const struct berth_job *job)
{
	const bool is_running = job->state == BERTH_JOB_RUNNING || job->state == BERTH_JOB_STOPPING;
	const uint64_t limit_ms = job->asked.request.limit_ms;
	uint64_t latest_ms = UINT64_MAX;

	berth_json_time(json, "submit_time", job->submit_ms);
	berth_json_time(json, "start_time", job->start_ms);
	/* A job that was cancelled while it waited has no attempt that could have ended. */
	berth_json_time(json, "end_time", job->end_ms ? job->end_ms : job->finish_ms);
	berth_json_time(json, "stop_deadline", job->state == BERTH_JOB_STOPPING ? job->stop_deadline_ms : 0);
	if (!is_running) {
		berth_json_null(json, "predicted_end");
		return;
	}
	if (job->state == BERTH_JOB_STOPPING)
		latest_ms = job->stop_deadline_ms;
	else if (limit_ms < UINT64_MAX - job->start_ms - job->asked.grace_ms)
		latest_ms = job->start_ms + limit_ms + job->asked.grace_ms;
	berth_json_open(json, "predicted_end", '{');
	berth_json_time(json, "latest", latest_ms);
	berth_json_close(json, '}');
}

static void write_outlook(const struct berth_api *api, struct berth_json *json, const struct berth_job *job)
{
	const struct berth_reason reason = berth_job_reason(api, job);
	const bool is_waiting = job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD;
	size_t position = 0;
	const struct berth_outlook *row = is_waiting ? berth_outlooks_find(&api->outlooks, job->id, &position) : NULL;

	berth_reason_write(json, "reason", berth_api_core(api), &reason);
	berth_json_u64_or_null(json, "position", position, 0);
	berth_forecast_write(json, "predicted_start", row ? &row->forecast : NULL);
}

static void write_argv(struct berth_json *json, const struct berth_jobspec *spec)
{
	json_t *argv = spec->root ? json_object_get(spec->root, "argv") : NULL;
	json_t *word;
	size_t i;

	if (!json_is_array(argv)) {
		berth_json_null(json, "argv");
		return;
	}
	berth_json_open(json, "argv", '[');
	json_array_foreach(argv, i, word) berth_json_str(json, NULL, json_string_value(word));
	berth_json_close(json, ']');
}

static const char *spec_string(const struct berth_jobspec *spec, const char *name)
{
	return spec->root ? json_string_value(json_object_get(spec->root, name)) : NULL;
}

static void write_spec(const struct berth_api *api, struct berth_json *json, const struct berth_job *job,
                       bool is_history)
{
	__attribute__((cleanup(berth_jobspec_fini))) struct berth_jobspec spec = {0};
	const int r = berth_jobspec_load(berth_ledger_store(api->host.ledger), job->asked.spec, &spec, NULL);
	const char *script = r == 0 ? spec_string(&spec, "script") : NULL;
	const char *cwd = spec_string(&spec, "cwd");
	const char *output = spec_string(&spec, "output");
	BERTH_AUTO_FREE char *line = script ? strndup(script, strcspn(script, "\n")) : NULL;
	BERTH_AUTO_FREE char *path = output && cwd ? berth_jobspec_path(output, cwd, job, api->host.node_name, NULL)
	                                           : NULL;

	write_argv(json, &spec);
	berth_json_str(json, "script", line);
	berth_json_str(json, "cwd", cwd);
	berth_json_str(json, "output", output);
	berth_json_str(json, "error", spec_string(&spec, "error"));
	berth_json_str(json, "output_path", path);
	berth_json_bool(json, "history", is_history);
}

void berth_job_write(struct berth_api *api, struct berth_json *json, const char *key, const struct berth_job *job,
                     enum berth_job_extent extent)
{
	const bool is_live = berth_job_state_is_live(job->state);

	berth_json_open(json, key, '{');
	berth_json_u64(json, "id", job->id);
	write_asked(json, &job->asked);
	berth_json_str(json, "state", berth_job_state_public_name(job->state));
	write_outlook(api, json, job);
	write_placement(api, json, job);
	berth_json_u64(json, "attempt", job->attempt);
	berth_json_u64(json, "restarts", job->restarts);
	berth_progress_write(json, "progress", is_live ? berth_engine_progress(api->host.engine, job->id) : "");
	write_times(json, job);
	write_end(json, job);
	berth_json_u64_or_null(json, "pid", is_live && job->pid > 0 ? (uint64_t)job->pid : 0, 0);
	if (extent != BERTH_JOB_ROW)
		write_spec(api, json, job, extent == BERTH_JOB_HISTORY);
	berth_json_close(json, '}');
}

char *berth_api_job_json(struct berth_api *api, const struct berth_job *job)
{
	struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	berth_job_write(api, &json, NULL, job, BERTH_JOB_HISTORY);
	if (text.is_failed) {
		berth_text_fini(&text);
		return NULL;
	}
	return text.at;
}

void berth_reply_job(struct berth_api *api, struct berth_exchange *request, const struct berth_job *job)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	if (berth_outlooks_refresh(&api->outlooks, berth_api_core(api), berth_api_now(api)) < 0)
		text.is_failed = true;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.job/1");
	berth_json_u64(&json, "seq", berth_core_seq(berth_api_core(api)));
	berth_job_write(api, &json, "job", job, BERTH_JOB_WHOLE);
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

void berth_reply_no_job(struct berth_exchange *request, const char *id)
{
	const struct berth_refusal refusal = {MHD_HTTP_NOT_FOUND, "NoSuchJob", NULL,
	                                      "`berth queue` lists what waits and runs, `berth history` what is over."};

	berth_reply_error(request, &refusal, "There is no job %.40s.", id);
}
