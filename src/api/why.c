#include <errno.h>
#include <inttypes.h>
#include "api/job_json.h"
#include "api/reason.h"
#include "base/units.h"

#define TEXT_MAX 256

static void write_device(struct berth_json *json, const struct berth_core *core, const struct berth_device_reason *row)
{
	const struct berth_device *device = berth_core_device(core, row->device);
	char text[TEXT_MAX];

	berth_reason_text(&row->reason, text, sizeof(text));
	berth_json_open(json, NULL, '{');
	berth_json_str(json, "uuid", device ? device->uuid : NULL);
	berth_json_u64_or_null(json, "index", device ? device->index : UINT64_MAX, UINT64_MAX);
	berth_reason_write_members(json, core, &row->reason);
	berth_json_str(json, "text", text);
	berth_json_close(json, '}');
}

/* Reasons that the state of devices explains. */
static bool is_about_devices(enum berth_reason_code code)
{
	return code == BERTH_REASON_RESOURCES || code == BERTH_REASON_NO_DEVICES || code == BERTH_REASON_PRIORITY;
}

static void write_reasons(struct berth_json *json, const struct berth_core *core, const struct berth_why *why)
{
	bool is_told = false;
	char text[TEXT_MAX];

	berth_json_open(json, "reasons", '[');
	for (size_t i = 0; i < why->n_reasons; i++) {
		const struct berth_reason *reason = &why->reasons[i];
		/* The devices stand under the first reason that is about them. */
		const bool is_with_devices = !is_told && is_about_devices(reason->code);

		is_told |= is_with_devices;
		berth_reason_text(reason, text, sizeof(text));
		berth_json_open(json, NULL, '{');
		berth_reason_write_members(json, core, reason);
		berth_json_str(json, "text", text);
		berth_json_open(json, "devices", '[');
		for (size_t k = 0; is_with_devices && k < why->n_devices; k++)
			write_device(json, core, &why->devices[k]);
		berth_json_close(json, ']');
		berth_json_close(json, '}');
	}
	berth_json_close(json, ']');
}

/* One change in words, and as the option that makes it. */
struct change {
	char text[TEXT_MAX];
	char option[24], value[80];
};

static void index_list(uint64_t mask, char *buf, size_t cap)
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < 64 && n + 4 < cap; i++)
		if (mask >> i & 1)
			n += (size_t)snprintf(buf + n, cap - n, n > 0 ? ",%u" : "%u", i);
}

static struct change change_of(const struct berth_suggestion *suggestion, const struct berth_request *now)
{
	const struct berth_request *then = &suggestion->request;
	struct change change = {0};
	char was[BERTH_FORMAT_MAX];
	char list[64];

	if (suggestion->fields & BERTH_ALTER_GPUS) {
		(void)snprintf(change.text, sizeof(change.text), "ask for %u GPU%s instead of %u", then->gpus,
		               then->gpus == 1 ? "" : "s", now->gpus);
		(void)snprintf(change.option, sizeof(change.option), "--gpus");
		(void)snprintf(change.value, sizeof(change.value), "%u", then->gpus);
	} else if (suggestion->fields & BERTH_ALTER_LIMIT) {
		berth_duration_format(then->limit_ms, change.value);
		(void)snprintf(change.text, sizeof(change.text), "ask for a time limit of %.32s instead of %s",
		               change.value, berth_duration_format(now->limit_ms, was));
		(void)snprintf(change.option, sizeof(change.option), "--time");
	} else if (suggestion->fields & BERTH_ALTER_GPU_MEM) {
		(void)snprintf(change.value, sizeof(change.value), "%" PRIu64, then->gpu_mem_bytes);
		(void)snprintf(change.text, sizeof(change.text), "ask for less GPU memory than %s",
		               berth_size_format(now->gpu_mem_bytes, was));
		(void)snprintf(change.option, sizeof(change.option), "--gpu-mem");
	} else if (suggestion->fields & BERTH_ALTER_MODEL) {
		(void)snprintf(change.value, sizeof(change.value), "%.64s",
		               then->gpu_model[0] ? then->gpu_model : "any");
		(void)snprintf(change.text, sizeof(change.text), "take %s instead of %.64s",
		               then->gpu_model[0] ? then->gpu_model : "any model", now->gpu_model);
		(void)snprintf(change.option, sizeof(change.option), "--gpu-model");
	} else {
		index_list(then->index_mask, list, sizeof(list));
		(void)snprintf(change.value, sizeof(change.value), "%s", then->index_mask ? list : "any");
		(void)snprintf(change.text, sizeof(change.text), "take GPU %s instead of the indexes asked for",
		               then->index_mask ? list : "whichever is free");
		(void)snprintf(change.option, sizeof(change.option), "--gpu-index");
	}
	return change;
}

static void write_suggestions(struct berth_json *json, const struct berth_job *job, const struct berth_why *why)
{
	char id[24];

	(void)snprintf(id, sizeof(id), "%" PRIu64, job->id);
	berth_json_open(json, "suggestions", '[');
	for (size_t i = 0; i < why->n_suggestions; i++) {
		const struct change change = change_of(&why->suggestions[i], &job->asked.request);
		const char *const argv[] = {"berth", "alter", id, change.option, change.value};

		berth_json_open(json, NULL, '{');
		berth_json_str(json, "change", change.text);
		berth_json_open(json, "argv", '[');
		for (size_t k = 0; k < sizeof(argv) / sizeof(argv[0]); k++)
			berth_json_str(json, NULL, argv[k]);
		berth_json_close(json, ']');
		berth_json_time(json, "starts", why->suggestions[i].starts_ms);
		berth_json_close(json, '}');
	}
	berth_json_close(json, ']');
}

static void reply_why(struct berth_api *api, struct berth_exchange *request, const struct berth_job *job,
                      const struct berth_why *why)
{
	const struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	if (berth_outlooks_refresh(&api->outlooks, berth_api_core(api), berth_api_now(api)) < 0)
		text.is_failed = true;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.why/1");
	berth_json_u64(&json, "id", job->id);
	berth_job_write(api, &json, "job", job, BERTH_JOB_ROW);
	berth_json_time(&json, "now", berth_api_now(api));
	write_reasons(&json, core, why);
	write_suggestions(&json, job, why);
	berth_json_open(&json, "predicted_start", '{');
	berth_json_time(&json, "earliest", why->forecast.earliest_ms);
	berth_json_null(&json, "likely");
	berth_json_time(&json, "latest", why->forecast.latest_ms);
	berth_json_null(&json, "hit_rate");
	berth_json_close(&json, '}');
	berth_json_u64(&json, "decision", berth_core_seq(core));
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

static void refuse_past(struct berth_exchange *request)
{
	const struct berth_refusal refusal = {
		MHD_HTTP_NOT_FOUND, "NoSuchJob", NULL,
		"`berth show` tells how a job of the history ended; `berth queue` lists what waits and runs."};

	berth_reply_error(request, &refusal, "Job %.40s neither waits nor runs, nor ended lately.", request->arg);
}

void berth_get_why(struct berth_api *api, struct berth_exchange *request)
{
	struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_FREE struct berth_why *why = calloc(1, sizeof(*why));
	uint64_t id;
	int r;

	if (berth_number_parse(request->arg, "job", 1, INT64_MAX, &id, NULL) < 0 || !berth_core_job(core, id)) {
		refuse_past(request);
		return;
	}
	r = why ? berth_core_why(core, id, berth_api_now(api), why) : -ENOMEM;
	if (r < 0)
		berth_reply_errno(request, r, "work out why");
	else
		reply_why(api, request, berth_core_job(core, id), why);
}
