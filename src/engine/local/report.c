#include <errno.h>
#include "base/clock.h"
#include "engine/local/engine.h"

/* berth-exec includes nothing of the core, so it has this number of its own. */
_Static_assert((int)BERTH_WIRE_CAUSE_LIMIT == (int)BERTH_STOP_LIMIT, "a time limit would be reported as another cause");

/* kept: a report that a full disk refuses is tried again until it goes through. */
static bool post(struct berth_watch *watch, const struct berth_fact *fact)
{
	const struct berth_post post = {.facts = fact, .n_facts = 1, .keep = true};

	return berth_ledger_post(watch->engine->ledger, &post) == 0;
}

void berth_report_started(struct berth_watch *watch, int32_t pid)
{
	const struct berth_job *job = berth_core_job(berth_ledger_core(watch->engine->ledger), watch->id.job);
	struct berth_fact fact;

	/* After a restart of the daemon the shim says it again: it is known then. */
	if (watch->is_start_posted || !job || job->attempt != watch->id.attempt || job->start_ms != 0)
		return;
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){watch->id.job, watch->id.attempt, pid};
	watch->is_start_posted = post(watch, &fact);
}

void berth_report_refused(struct berth_watch *watch, int error)
{
	struct berth_fact fact;

	if (watch->is_end_posted)
		return;
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){watch->id.job, watch->id.attempt, error > 0 ? error : EIO};
	watch->is_end_posted = post(watch, &fact);
}

static enum berth_reason_code how_of(const struct berth_record *record)
{
	enum berth_reason_code code = record->how[0] ? berth_reason_from_name(record->how) : BERTH_REASON_NONE;

	return code == BERTH_REASON_COUNT ? BERTH_REASON_EXIT_CODE_UNKNOWN : code;
}

void berth_report_ended(struct berth_watch *watch, const struct berth_record *record)
{
	struct berth_fact fact;

	if (watch->is_end_posted)
		return;
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended = (struct berth_fact_ended){
		.job = watch->id.job,
		.attempt = watch->id.attempt,
		.exit_code = record->exit_code,
		.signal = record->signal,
		.cause = record->cause < BERTH_STOP_CAUSE_COUNT ? (enum berth_stop_cause)record->cause
	                                                        : BERTH_STOP_NONE,
		.how = how_of(record),
		.error = record->error,
		.is_done = record->is_done,
		.started_ms = record->started_ms,
		.ended_ms = record->ended_ms,
	};
	watch->is_end_posted = post(watch, &fact);
}

void berth_report_vanished(struct berth_watch *watch)
{
	const struct berth_record record = {
		.id = watch->id, .exit_code = -1, .how = "ExitCodeUnknown", .ended_ms = berth_clock_wall_ms()};

	berth_report_ended(watch, &record);
}
