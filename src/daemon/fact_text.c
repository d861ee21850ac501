#include "daemon/fact_text.h"

#include <inttypes.h>
#include <string.h>
#include "api/api.h"
#include "base/units.h"

static const char *const causes[BERTH_STOP_CAUSE_COUNT] = {
	[BERTH_STOP_NONE] = "",
	[BERTH_STOP_CANCEL] = ", as it is cancelled",
	[BERTH_STOP_REQUEUE] = ", to be run again",
	[BERTH_STOP_PREEMPT] = ", for another job",
	[BERTH_STOP_LIMIT] = ", at its time limit",
	[BERTH_STOP_DEVICE_LOST] = ", as a card of it is lost",
};

static void add_cards(const struct berth_core *core, const struct berth_share_set *set, struct berth_text *ret)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device *device = berth_core_device(core, set->share[i].device);

		if (device)
			berth_text_addf(ret, "%s%u", i ? "," : set->n == 1 ? " on card " : " on cards ", device->index);
	}
}

static void add_reason(const struct berth_reason *reason, struct berth_text *ret)
{
	char words[256];

	if (reason->code == BERTH_REASON_NONE)
		return;
	berth_reason_text(reason, words, sizeof(words));
	berth_text_addf(ret, ": %s", words);
}

static enum berth_log_level text_submitted(const struct berth_core *core, const struct berth_fact *fact,
                                           struct berth_text *ret)
{
	const struct berth_fact_submit *asked = &fact->u.submit;

	berth_text_addf(ret, "job %" PRIu64 " \"%s\" of %s: submitted, %u card%s%s", asked->job, asked->name,
	                asked->user, asked->request.gpus, asked->request.gpus == 1 ? "" : "s",
	                asked->is_held ? ", held" : "");
	return BERTH_LOG_INFO;
}

/* What a person asked of a job or a card. */
static enum berth_log_level text_asked(const struct berth_core *core, const struct berth_fact *fact,
                                       struct berth_text *ret)
{
	static const char *const verbs[BERTH_FACT_COUNT] = {
		[BERTH_FACT_JOB_CANCEL_ASKED] = "asked to cancel it",
		[BERTH_FACT_JOB_HELD] = "asked to hold it",
		[BERTH_FACT_JOB_RELEASED] = "asked to release it",
		[BERTH_FACT_JOB_REQUEUE_ASKED] = "asked to run it again",
	};

	berth_text_addf(ret, "job %" PRIu64 ": %s %s", fact->u.job.job, fact->u.job.by, verbs[fact->kind]);
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_altered(const struct berth_core *core, const struct berth_fact *fact,
                                         struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ": altered by %s", fact->u.alter.job, fact->u.alter.by);
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_drain(const struct berth_core *core, const struct berth_fact *fact,
                                       struct berth_text *ret)
{
	const struct berth_fact_device_drain *drain = &fact->u.drain;
	const struct berth_device *device = berth_core_device(core, drain->device);

	if (!device)
		return BERTH_LOG_DEBUG;
	berth_text_addf(ret, "card %u (%s): %s by %s%s%s", device->index, device->uuid,
	                drain->is_draining ? "taken out of service" : "back in service", drain->by,
	                drain->note[0] ? ": " : "", drain->note);
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_assigned(const struct berth_core *core, const struct berth_fact *fact,
                                          struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ".%u: starts", fact->u.assigned.job, fact->u.assigned.attempt);
	add_cards(core, &fact->u.assigned.set, ret);
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_started(const struct berth_core *core, const struct berth_fact *fact,
                                         struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ".%u: runs, pid %d", fact->u.started.job, fact->u.started.attempt,
	                fact->u.started.pid);
	return BERTH_LOG_DEBUG;
}

static enum berth_log_level text_refused(const struct berth_core *core, const struct berth_fact *fact,
                                         struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ".%u: could not be launched: %s", fact->u.refused.job,
	                fact->u.refused.attempt, strerror(fact->u.refused.error));
	return BERTH_LOG_WARNING;
}

static enum berth_log_level text_ended(const struct berth_core *core, const struct berth_fact *fact,
                                       struct berth_text *ret)
{
	const struct berth_fact_ended *ended = &fact->u.ended;

	berth_text_addf(ret, "job %" PRIu64 ".%u: ended, ", ended->job, ended->attempt);
	if (ended->signal)
		berth_text_addf(ret, "signal %d", ended->signal);
	else if (ended->exit_code >= 0)
		berth_text_addf(ret, "exit code %d", ended->exit_code);
	else
		berth_text_add(ret, "exit code unknown");
	return BERTH_LOG_DEBUG;
}

static enum berth_log_level text_stop(const struct berth_core *core, const struct berth_fact *fact,
                                      struct berth_text *ret)
{
	char until[BERTH_FORMAT_MAX];

	berth_text_addf(ret, "job %" PRIu64 ".%u: asked to stop%s; killed at %s", fact->u.stop.job,
	                fact->u.stop.attempt, causes[fact->u.stop.cause],
	                berth_moment_format(fact->u.stop.deadline_ms, until));
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_requeued(const struct berth_core *core, const struct berth_fact *fact,
                                          struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ": back in the queue", fact->u.requeued.job);
	add_reason(&fact->u.requeued.reason, ret);
	return BERTH_LOG_INFO;
}

static enum berth_log_level text_finished(const struct berth_core *core, const struct berth_fact *fact,
                                          struct berth_text *ret)
{
	berth_text_addf(ret, "job %" PRIu64 ": %s", fact->u.finished.job,
	                berth_job_state_public_name(fact->u.finished.state));
	add_reason(&fact->u.finished.reason, ret);
	return BERTH_LOG_INFO;
}

/* Kinds that are not listed are of no interest: what the daemon itself told the core, images, what is forgotten. */
static enum berth_log_level (*const writers[BERTH_FACT_COUNT])(const struct berth_core *core,
                                                               const struct berth_fact *fact,
                                                               struct berth_text *ret) = {
	[BERTH_FACT_DEVICE_DRAIN] = text_drain,        [BERTH_FACT_JOB_SUBMITTED] = text_submitted,
	[BERTH_FACT_JOB_CANCEL_ASKED] = text_asked,    [BERTH_FACT_JOB_HELD] = text_asked,
	[BERTH_FACT_JOB_RELEASED] = text_asked,        [BERTH_FACT_JOB_ALTERED] = text_altered,
	[BERTH_FACT_JOB_REQUEUE_ASKED] = text_asked,   [BERTH_FACT_ATTEMPT_STARTED] = text_started,
	[BERTH_FACT_ATTEMPT_REFUSED] = text_refused,   [BERTH_FACT_ATTEMPT_ENDED] = text_ended,
	[BERTH_FACT_ATTEMPT_ASSIGNED] = text_assigned, [BERTH_FACT_STOP_ASKED] = text_stop,
	[BERTH_FACT_JOB_REQUEUED] = text_requeued,     [BERTH_FACT_JOB_FINISHED] = text_finished,
};

enum berth_log_level berth_fact_text(const struct berth_core *core, const struct berth_fact *fact,
                                     struct berth_text *ret)
{
	if (fact->kind >= BERTH_FACT_COUNT || !writers[fact->kind])
		return BERTH_LOG_DEBUG;
	return writers[fact->kind](core, fact, ret);
}
