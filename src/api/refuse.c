#include "api/refuse.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "api/job_json.h"
#include "api/reason.h"

#define TEXT_MAX 256

/* The models there are, each once: "A100-80GB, V100-32GB". */
static const char *models(const struct berth_core *core, char buf[static TEXT_MAX])
{
	const struct berth_device *device;

	buf[0] = '\0';
	for (size_t i = 0; (device = berth_core_device_at(core, i)); i++) {
		const size_t n = strlen(buf);

		if (!strstr(buf, device->model))
			(void)snprintf(buf + n, TEXT_MAX - n, "%s%s", n > 0 ? ", " : "", device->model);
	}
	return buf;
}

/* What would fit. */
static const char *help_of(const struct berth_core *core, const struct berth_reason *reason, char buf[static TEXT_MAX])
{
	char list[TEXT_MAX];

	switch ((int)reason->code) {
	case BERTH_REASON_TOO_MANY_GPUS:
		(void)snprintf(buf, TEXT_MAX,
		               reason->b > 0 ? "Ask for %" PRIu64 " or fewer."
		                             : "%" PRIu64 " suit: ask for another model, index or memory.",
		               reason->b);
		return buf;
	case BERTH_REASON_NO_SUCH_MODEL:
		(void)snprintf(buf, TEXT_MAX, "There are: %.200s.", models(core, list));
		return buf;
	case BERTH_REASON_GPU_TOO_SMALL:
		return "Ask for less memory for each GPU, or leave it out.";
	case BERTH_REASON_NO_SUCH_INDEX:
		return "Leave the index out, and berth chooses a card.";
	default:
		return "`berth doctor` tells why no card was found; without a card only jobs that ask for none can "
		       "run.";
	}
}

static void refuse_request(const struct berth_api *api, struct berth_exchange *request,
                           const struct berth_reason *reason, const char *where)
{
	const struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_TEXT struct berth_text params = {0};
	struct berth_json json = berth_json_at(&params);
	char help[TEXT_MAX];
	char text[TEXT_MAX];

	berth_reason_write_params(&json, NULL, core, reason);
	berth_reason_text(reason, text, sizeof(text));
	berth_reply_error(request,
	                  &(struct berth_refusal){MHD_HTTP_UNPROCESSABLE_CONTENT, berth_reason_name(reason->code),
	                                          params.is_failed ? NULL : params.at, help_of(core, reason, help)},
	                  "%s%s%s.", where ? where : "", where ? ": " : "", text);
}

/* Why a job in this state cannot be asked this. */
static void refuse_state(const struct berth_api *api, struct berth_exchange *request, const struct berth_fact *fact)
{
	/* The number stands first in all of them. */
	const uint64_t id = fact->kind == BERTH_FACT_JOB_ALTERED ? fact->u.alter.job : fact->u.job.job;
	const struct berth_job *job = berth_core_job(berth_api_core(api), id);
	const char *state = job ? berth_job_state_public_name(job->state) : "gone";
	struct berth_refusal refusal = {MHD_HTTP_CONFLICT, "WrongState", NULL, NULL};
	const char *what = "be asked this";

	switch ((int)fact->kind) {
	case BERTH_FACT_JOB_HELD:
		what = "be held";
		refusal.help =
			"Only a job that waits can be held; `berth requeue` takes a running one back into the queue.";
		break;
	case BERTH_FACT_JOB_RELEASED:
		what = "be released";
		refusal.help = "Only a held job can be released.";
		break;
	case BERTH_FACT_JOB_REQUEUE_ASKED:
		what = "be requeued";
		refusal.help = "It waits already, or is being cancelled.";
		break;
	case BERTH_FACT_JOB_ALTERED:
		what = "be altered so";
		refusal.help = "The GPUs can be changed only while it waits; name, tier, limit, grace and requeue also "
		               "while it runs; nothing when it is over.";
		break;
	default:
		break;
	}
	berth_reply_error(request, &refusal, "Job %" PRIu64 " is %s and cannot %s.", id, state, what);
}

void berth_refuse_check(const struct berth_api *api, struct berth_exchange *request, int code,
                        const struct berth_reason *reason, const struct berth_fact *fact, const char *where)
{
	const struct berth_refusal nonsense = {MHD_HTTP_BAD_REQUEST, "BadRequest", NULL, NULL};

	/* The core calls more devices than any node can have nonsense; to a person it is one more thing that cannot be
	 * had. */
	if (code == -EINVAL && reason->code == BERTH_REASON_TOO_MANY_GPUS)
		code = -ERANGE;
	switch (code) {
	case -ENOENT:
		berth_reply_no_job(request, request->arg ? request->arg : "");
		break;
	case -EBUSY:
		refuse_state(api, request, fact);
		break;
	case -ERANGE:
		refuse_request(api, request, reason, where);
		break;
	default:
		berth_reply_error(
			request, &nonsense,
			"%s%sthe request makes no sense (a time limit of 0, or more devices than a node can have).",
			where ? where : "", where ? ": " : "");
		break;
	}
}
