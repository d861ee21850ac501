#include <string.h>
#include "core/fact.h"

static const char *const job_state_names[BERTH_JOB_STATE_COUNT] = {
	[BERTH_JOB_UNKNOWN] = "UNKNOWN",
	[BERTH_JOB_PENDING] = "PENDING",
	[BERTH_JOB_HELD] = "HELD",
	[BERTH_JOB_STARTING] = "STARTING",
	[BERTH_JOB_RUNNING] = "RUNNING",
	[BERTH_JOB_STOPPING] = "STOPPING",
	[BERTH_JOB_ENDED] = "ENDED",
	[BERTH_JOB_COMPLETED] = "COMPLETED",
	[BERTH_JOB_FAILED] = "FAILED",
	[BERTH_JOB_CANCELLED] = "CANCELLED",
	[BERTH_JOB_TIMEOUT] = "TIMEOUT",
	[BERTH_JOB_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
	[BERTH_JOB_NODE_FAIL] = "NODE_FAIL",
};
static const char *const health_names[BERTH_HEALTH_COUNT] = { "unknown", "ok", "lost" };
static const char *const tier_names[BERTH_TIER_COUNT] = { "P0", "P1", "P2" };
static const char *const stop_cause_names[BERTH_STOP_CAUSE_COUNT] = {
	[BERTH_STOP_NONE] = "none",       [BERTH_STOP_CANCEL] = "cancel", [BERTH_STOP_REQUEUE] = "requeue",
	[BERTH_STOP_PREEMPT] = "preempt", [BERTH_STOP_LIMIT] = "limit",   [BERTH_STOP_DEVICE_LOST] = "device_lost",
};

/* Rows of the tables below: the name people read, and where the value lies in struct berth_fact. */
#define AT(type, name, member) { name, BERTH_FIELD_##type, offsetof(struct berth_fact, u.member), NULL, 0 }
#define ENUM(name, member, values) \
	{ name, BERTH_FIELD_ENUM, offsetof(struct berth_fact, u.member), values, sizeof(values) / sizeof(*(values)) }
#define END { NULL, BERTH_FIELD_END, 0, NULL, 0 }
#define REQUEST(member) \
	AT(U32, "gpus", member.gpus), AT(U64, "gpu_mem_bytes", member.gpu_mem_bytes), \
		AT(U64, "index_mask", member.index_mask), AT(U64, "limit_ms", member.limit_ms), \
		AT(STR, "gpu_model", member.gpu_model)
#define REASON(member) \
	ENUM("reason", member.code, berth_reason_names), AT(U64, "reason_a", member.a), AT(U64, "reason_b", member.b), \
		AT(U64, "reason_c", member.c)

static const struct berth_field policy_fields[] = {
	AT(U64, "backoff_first_ms", policy.backoff_first_ms),
	AT(U64, "backoff_max_ms", policy.backoff_max_ms),
	AT(U64, "retain_ms", policy.retain_ms),
	END,
};
static const struct berth_field node_fields[] = { AT(U32, "node", node.node), AT(STR, "name", node.name), END };
static const struct berth_field device_fields[] = {
	AT(U32, "device", device.device),
	AT(U32, "node", device.node),
	AT(U32, "index", device.index),
	AT(STR, "uuid", device.uuid),
	AT(STR, "kind", device.kind),
	AT(STR, "model", device.model),
	AT(U64, "mem_bytes", device.mem_bytes),
	END,
};
static const struct berth_field health_fields[] = {
	AT(U32, "device", health.device),
	ENUM("health", health.health, health_names),
	END,
};
static const struct berth_field drain_fields[] = {
	AT(U32, "device", drain.device),
	AT(BOOL, "is_draining", drain.is_draining),
	AT(STR, "by", drain.by),
	AT(STR, "note", drain.note),
	END,
};
static const struct berth_field submit_fields[] = {
	AT(U64, "job", submit.job),
	AT(U32, "uid", submit.uid),
	AT(STR, "user", submit.user),
	AT(STR, "name", submit.name),
	AT(STR, "spec", submit.spec),
	REQUEST(submit.request),
	ENUM("tier", submit.tier, tier_names),
	AT(BOOL, "is_held", submit.is_held),
	AT(U64, "begin_ms", submit.begin_ms),
	AT(U64, "grace_ms", submit.grace_ms),
	AT(U32, "requeue_max", submit.requeue_max),
	END,
};
static const struct berth_field job_fields[] = { AT(U64, "job", job.job), AT(STR, "by", job.by), END };
static const struct berth_field alter_fields[] = {
	AT(U64, "job", alter.job),
	AT(U32, "fields", alter.fields),
	AT(STR, "by", alter.by),
	AT(STR, "name", alter.name),
	ENUM("tier", alter.tier, tier_names),
	AT(U64, "begin_ms", alter.begin_ms),
	AT(U64, "grace_ms", alter.grace_ms),
	AT(U32, "requeue_max", alter.requeue_max),
	REQUEST(alter.request),
	END,
};
static const struct berth_field started_fields[] = {
	AT(U64, "job", started.job),
	AT(U32, "attempt", started.attempt),
	AT(I32, "pid", started.pid),
	END,
};
static const struct berth_field refused_fields[] = {
	AT(U64, "job", refused.job),
	AT(U32, "attempt", refused.attempt),
	AT(I32, "error", refused.error),
	END,
};
static const struct berth_field ended_fields[] = {
	AT(U64, "job", ended.job),
	AT(U32, "attempt", ended.attempt),
	AT(I32, "exit_code", ended.exit_code),
	AT(I32, "signal", ended.signal),
	ENUM("cause", ended.cause, stop_cause_names),
	ENUM("how", ended.how, berth_reason_names),
	AT(I32, "error", ended.error),
	AT(BOOL, "is_done", ended.is_done),
	AT(U64, "started_ms", ended.started_ms),
	AT(U64, "ended_ms", ended.ended_ms),
	END,
};
static const struct berth_field assigned_fields[] = {
	AT(U64, "job", assigned.job),
	AT(U32, "attempt", assigned.attempt),
	AT(SHARES, "devices", assigned.set),
	END,
};
static const struct berth_field stop_fields[] = {
	AT(U64, "job", stop.job),
	AT(U32, "attempt", stop.attempt),
	ENUM("cause", stop.cause, stop_cause_names),
	AT(U64, "deadline_ms", stop.deadline_ms),
	END,
};
static const struct berth_field limit_fields[] = {
	AT(U64, "job", limit.job),
	AT(U32, "attempt", limit.attempt),
	AT(U64, "limit_ms", limit.limit_ms),
	END,
};
static const struct berth_field requeued_fields[] = {
	AT(U64, "job", requeued.job),
	AT(U64, "eligible_ms", requeued.eligible_ms),
	AT(U32, "failures", requeued.failures),
	REASON(requeued.reason),
	END,
};
static const struct berth_field finished_fields[] = {
	AT(U64, "job", finished.job),
	ENUM("state", finished.state, job_state_names),
	REASON(finished.reason),
	END,
};
static const struct berth_field free_fields[] = {
	AT(U32, "device", free.device),
	AT(U64, "since_ms", free.since_ms),
	END,
};
static const struct berth_field counters_fields[] = {
	AT(U64, "next_job", counters.next_job),
	AT(U32, "next_device", counters.next_device),
	END,
};
/* asked.job and last.job are not written: they are the job. */
static const struct berth_field image_fields[] = {
	AT(U64, "job", image.id),
	ENUM("state", image.state, job_state_names),
	AT(U32, "uid", image.asked.uid),
	AT(STR, "user", image.asked.user),
	AT(STR, "name", image.asked.name),
	AT(STR, "spec", image.asked.spec),
	REQUEST(image.asked.request),
	ENUM("tier", image.asked.tier, tier_names),
	AT(BOOL, "is_held", image.asked.is_held),
	AT(U64, "begin_ms", image.asked.begin_ms),
	AT(U64, "grace_ms", image.asked.grace_ms),
	AT(U32, "requeue_max", image.asked.requeue_max),
	AT(U64, "submit_ms", image.submit_ms),
	AT(U32, "attempt", image.attempt),
	AT(U32, "restarts", image.restarts),
	AT(U32, "failures", image.failures),
	AT(U32, "requeues_used", image.requeues_used),
	AT(U64, "eligible_ms", image.eligible_ms),
	AT(BOOL, "is_cancel_asked", image.is_cancel_asked),
	AT(BOOL, "is_requeue_asked", image.is_requeue_asked),
	AT(SHARES, "devices", image.set),
	AT(SHARES, "last_devices", image.last_set),
	AT(U64, "assign_ms", image.assign_ms),
	AT(U64, "start_ms", image.start_ms),
	AT(U64, "end_ms", image.end_ms),
	AT(U64, "finish_ms", image.finish_ms),
	AT(I32, "pid", image.pid),
	ENUM("stop_cause", image.stop_cause, stop_cause_names),
	AT(U64, "stop_deadline_ms", image.stop_deadline_ms),
	AT(U64, "limit_told_ms", image.limit_told_ms),
	AT(U32, "last_attempt", image.last.attempt),
	AT(I32, "last_exit_code", image.last.exit_code),
	AT(I32, "last_signal", image.last.signal),
	ENUM("last_cause", image.last.cause, stop_cause_names),
	ENUM("last_how", image.last.how, berth_reason_names),
	AT(I32, "last_error", image.last.error),
	AT(BOOL, "last_is_done", image.last.is_done),
	AT(U64, "last_started_ms", image.last.started_ms),
	AT(U64, "last_ended_ms", image.last.ended_ms),
	REASON(image.reason),
	END,
};

static const struct berth_fact_shape shapes[BERTH_FACT_COUNT] = {
	[BERTH_FACT_POLICY_SET] = { "PolicySet", false, policy_fields },
	[BERTH_FACT_NODE_SEEN] = { "NodeSeen", false, node_fields },
	[BERTH_FACT_DEVICE_SEEN] = { "DeviceSeen", false, device_fields },
	[BERTH_FACT_DEVICE_HEALTH] = { "DeviceHealth", false, health_fields },
	[BERTH_FACT_DEVICE_DRAIN] = { "DeviceDrain", false, drain_fields },
	[BERTH_FACT_JOB_SUBMITTED] = { "JobSubmitted", false, submit_fields },
	[BERTH_FACT_JOB_CANCEL_ASKED] = { "JobCancelAsked", false, job_fields },
	[BERTH_FACT_JOB_HELD] = { "JobHeld", false, job_fields },
	[BERTH_FACT_JOB_RELEASED] = { "JobReleased", false, job_fields },
	[BERTH_FACT_JOB_ALTERED] = { "JobAltered", false, alter_fields },
	[BERTH_FACT_JOB_REQUEUE_ASKED] = { "JobRequeueAsked", false, job_fields },
	[BERTH_FACT_ATTEMPT_STARTED] = { "AttemptStarted", false, started_fields },
	[BERTH_FACT_ATTEMPT_REFUSED] = { "AttemptRefused", false, refused_fields },
	[BERTH_FACT_ATTEMPT_ENDED] = { "AttemptEnded", false, ended_fields },
	[BERTH_FACT_ATTEMPT_ASSIGNED] = { "AttemptAssigned", true, assigned_fields },
	[BERTH_FACT_STOP_ASKED] = { "StopAsked", true, stop_fields },
	[BERTH_FACT_LIMIT_SET] = { "LimitSet", true, limit_fields },
	[BERTH_FACT_JOB_REQUEUED] = { "JobRequeued", true, requeued_fields },
	[BERTH_FACT_JOB_FINISHED] = { "JobFinished", true, finished_fields },
	[BERTH_FACT_JOB_FORGOTTEN] = { "JobForgotten", true, job_fields },
	[BERTH_FACT_JOB_IMAGE] = { "JobImage", false, image_fields },
	[BERTH_FACT_DEVICE_FREE] = { "DeviceFree", false, free_fields },
	[BERTH_FACT_COUNTERS] = { "Counters", false, counters_fields },
};

const struct berth_fact_shape *berth_fact_shape(enum berth_fact_kind kind)
{
	if (kind == BERTH_FACT_UNKNOWN || kind >= BERTH_FACT_COUNT)
		return NULL;
	return &shapes[kind];
}

enum berth_fact_kind berth_fact_kind_from_name(const char *name)
{
	for (unsigned kind = BERTH_FACT_UNKNOWN + 1; kind < BERTH_FACT_COUNT; kind++) {
		if (strcmp(name, shapes[kind].name) == 0)
			return (enum berth_fact_kind)kind;
	}
	return BERTH_FACT_UNKNOWN;
}

void berth_fact_init(struct berth_fact *fact, enum berth_fact_kind kind)
{
	const struct berth_fact_shape *shape = berth_fact_shape(kind);

	memset(fact, 0, sizeof(*fact));
	fact->kind = kind;
	if (!shape)
		return;
	for (const struct berth_field *field = shape->fields; field->type != BERTH_FIELD_END; field++) {
		if (field->type == BERTH_FIELD_STR)
			*(const char **)((char *)fact + field->offset) = "";
	}
}

const char *berth_job_state_name(enum berth_job_state state)
{
	return job_state_names[state < BERTH_JOB_STATE_COUNT ? state : BERTH_JOB_UNKNOWN];
}

const char *berth_job_state_public_name(enum berth_job_state state)
{
	if (state == BERTH_JOB_STARTING)
		state = BERTH_JOB_PENDING;
	else if (state == BERTH_JOB_ENDED)
		state = BERTH_JOB_STOPPING;
	return berth_job_state_name(state);
}

bool berth_job_state_is_final(enum berth_job_state state)
{
	return state >= BERTH_JOB_COMPLETED && state < BERTH_JOB_STATE_COUNT;
}

bool berth_job_state_is_live(enum berth_job_state state)
{
	return state == BERTH_JOB_STARTING || state == BERTH_JOB_RUNNING || state == BERTH_JOB_STOPPING;
}
