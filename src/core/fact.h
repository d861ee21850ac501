#ifndef BERTH_CORE_FACT_H
#define BERTH_CORE_FACT_H
/* Facts: what happened. The journal is a list of them, the state is their fold.
 *
 * Three families: what the site is (devices, policy), what people asked, what attempts did; and the decisions of the
 * core itself, which become facts before they are carried out, so that a restart only folds and never decides old
 * history again.
 *
 * Strings are borrowed from the maker of the fact, never NULL ("" = none), and interned by the core when folded.
 * Ids: jobs and devices are numbered from 1, ascending, and never used twice. Attempts of a job count from 1. A report
 * about attempt 1 never touches attempt 2: a fact that no longer applies is ignored by the fold (-ESTALE), not an
 * error.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/reason.h"
#include "core/request.h"

enum berth_fact_kind {
	BERTH_FACT_UNKNOWN = 0,

	/* the site */
	BERTH_FACT_POLICY_SET,
	BERTH_FACT_NODE_SEEN,
	BERTH_FACT_DEVICE_SEEN,   /* new, or seen again with perhaps another index, model, memory or node */
	BERTH_FACT_DEVICE_HEALTH,
	BERTH_FACT_DEVICE_DRAIN,  /* begun or ended by a person */

	/* people */
	BERTH_FACT_JOB_SUBMITTED,
	BERTH_FACT_JOB_CANCEL_ASKED,
	BERTH_FACT_JOB_HELD,
	BERTH_FACT_JOB_RELEASED,
	BERTH_FACT_JOB_ALTERED,
	BERTH_FACT_JOB_REQUEUE_ASKED,

	/* attempts */
	BERTH_FACT_ATTEMPT_STARTED, /* the command runs */
	BERTH_FACT_ATTEMPT_REFUSED, /* it never ran: could not be launched */
	BERTH_FACT_ATTEMPT_ENDED,   /* all its processes are gone, its devices are free */

	/* decisions */
	BERTH_FACT_ATTEMPT_ASSIGNED, /* start attempt A of job J on these devices */
	BERTH_FACT_STOP_ASKED,       /* ask the attempt to stop, kill it at the deadline */
	BERTH_FACT_LIMIT_SET,        /* tell the running attempt its new time limit */
	BERTH_FACT_JOB_REQUEUED,     /* after an attempt: back to the queue, not before eligible_ms */
	BERTH_FACT_JOB_FINISHED,     /* after the last attempt, or cancelled while waiting: the final state */
	BERTH_FACT_JOB_FORGOTTEN,    /* leaves the live state; history keeps it */

	/* snapshots: the whole record of one job; folded, it makes that job as it was */
	BERTH_FACT_JOB_IMAGE,
	/* snapshots: since when a device that nobody holds is free (everything else about it has its own fact) */
	BERTH_FACT_DEVICE_FREE,
	/* snapshots: the next ids, so that none is used again after jobs were forgotten; the last fact of a snapshot */
	BERTH_FACT_COUNTERS,

	BERTH_FACT_COUNT
};

enum berth_health { BERTH_HEALTH_UNKNOWN = 0, BERTH_HEALTH_OK, BERTH_HEALTH_LOST, BERTH_HEALTH_COUNT };

/* P0 urgent production, P1 important, P2 ordinary: strict, P0 first. */
enum berth_tier { BERTH_TIER_P0 = 0, BERTH_TIER_P1, BERTH_TIER_P2, BERTH_TIER_COUNT };

enum berth_job_state {
	BERTH_JOB_UNKNOWN = 0,
	BERTH_JOB_PENDING,  /* waits; see held, begin_ms, eligible_ms */
	BERTH_JOB_HELD,
	BERTH_JOB_STARTING, /* assigned, devices taken, the command does not run yet (people see PENDING, Starting) */
	BERTH_JOB_RUNNING,
	BERTH_JOB_STOPPING, /* asked to stop; devices still taken */
	BERTH_JOB_ENDED,    /* attempt over, devices free; the core decides next whether it is finished or requeued */
	BERTH_JOB_COMPLETED,
	BERTH_JOB_FAILED,
	BERTH_JOB_CANCELLED,
	BERTH_JOB_TIMEOUT,
	BERTH_JOB_OUT_OF_MEMORY,
	BERTH_JOB_NODE_FAIL, /* device lost and not to be run again */
	BERTH_JOB_STATE_COUNT
};

/* Why an attempt was or is being stopped; the first cause stays. */
enum berth_stop_cause {
	BERTH_STOP_NONE = 0,
	BERTH_STOP_CANCEL,
	BERTH_STOP_REQUEUE,     /* a person wants it back in the queue */
	BERTH_STOP_PREEMPT,
	BERTH_STOP_LIMIT,       /* the time limit: the shim enforces it by itself */
	BERTH_STOP_DEVICE_LOST,
	BERTH_STOP_CAUSE_COUNT
};

struct berth_fact_policy {          /* constants of decisions; one fact changes all */
	uint64_t backoff_first_ms;  /* wait before the second launch after a failure; doubles */
	uint64_t backoff_max_ms;
	uint64_t retain_ms;         /* finished jobs stay in the live state this long */
};
struct berth_fact_node {
	uint32_t node; /* from 1 */
	const char *name;
};
struct berth_fact_device {
	uint32_t device;    /* id, from 1 */
	uint32_t node;
	uint32_t index;     /* position people see on the node */
	const char *uuid;   /* the key, stable over restarts */
	const char *kind;   /* "gpu", "npu" */
	const char *model;
	uint64_t mem_bytes;
};
struct berth_fact_device_health {
	uint32_t device;
	enum berth_health health;
};
struct berth_fact_device_drain {
	uint32_t device;
	bool is_draining;
	const char *by;   /* user name */
	const char *note; /* why, for people */
};
struct berth_fact_submit {
	uint64_t job;
	uint32_t uid;
	const char *user;
	const char *name;
	const char *spec;             /* key of the stored specification (argv, environment, paths) */
	struct berth_request request;
	enum berth_tier tier;
	bool is_held;
	uint64_t begin_ms;            /* not before; 0 = at once */
	uint64_t grace_ms;            /* between asking an attempt to stop and killing it */
	uint32_t requeue_max;         /* failures after which it runs again */
};
struct berth_fact_job {               /* CANCEL_ASKED, HELD, RELEASED, REQUEUE_ASKED, FORGOTTEN */
	uint64_t job;
	const char *by;               /* user name; "" for FORGOTTEN */
};

enum berth_alter_field {
	BERTH_ALTER_NAME = 1u << 0,
	BERTH_ALTER_TIER = 1u << 1,
	BERTH_ALTER_LIMIT = 1u << 2, /* also of a running job */
	BERTH_ALTER_BEGIN = 1u << 3,
	BERTH_ALTER_GRACE = 1u << 4,
	BERTH_ALTER_REQUEUE = 1u << 5,
	BERTH_ALTER_GPUS = 1u << 6,  /* this and below: only while it waits */
	BERTH_ALTER_GPU_MEM = 1u << 7,
	BERTH_ALTER_INDEX = 1u << 8,
	BERTH_ALTER_MODEL = 1u << 9,
};
struct berth_fact_alter {
	uint64_t job;
	uint32_t fields;              /* enum berth_alter_field; the others are not read */
	const char *by;
	const char *name;
	enum berth_tier tier;
	uint64_t begin_ms, grace_ms;
	uint32_t requeue_max;
	struct berth_request request; /* the altered parts of it */
};
struct berth_fact_started {
	uint64_t job;
	uint32_t attempt;
	int32_t pid;                  /* of the command, for people; no signal is ever sent by it */
};
struct berth_fact_refused {
	uint64_t job;
	uint32_t attempt;
	int32_t error;                /* positive errno */
};
struct berth_fact_ended {
	uint64_t job;
	uint32_t attempt;
	int32_t exit_code;            /* -1 = none or unknown */
	int32_t signal;               /* 0 = none */
	enum berth_stop_cause cause;  /* why the shim stopped it, NONE = ended by itself */
	enum berth_reason_code how;   /* NONE, or EXIT_CODE_UNKNOWN, OUT_OF_MEMORY, OUTPUT_FAILED, EXEC_FAILED */
	int32_t error;                /* errno of OUTPUT_FAILED, EXEC_FAILED; else 0 */
	bool is_done;                 /* it touched $BERTH_DONE_FILE: finished although it was asked to stop */
	uint64_t started_ms;          /* wall time of the shim; 0 = the command never ran */
	uint64_t ended_ms;
};
struct berth_fact_assigned {
	uint64_t job;
	uint32_t attempt;
	struct berth_share_set set;
};
struct berth_fact_stop {
	uint64_t job;
	uint32_t attempt;
	enum berth_stop_cause cause;
	uint64_t deadline_ms;
};
struct berth_fact_limit {
	uint64_t job;
	uint32_t attempt;
	uint64_t limit_ms;
};
struct berth_fact_requeued {
	uint64_t job;
	uint64_t eligible_ms;         /* 0 = at once */
	uint32_t failures;            /* in a row, launches that failed included; drives the back-off */
	struct berth_reason reason;
};
struct berth_fact_finished {
	uint64_t job;
	enum berth_job_state state;
	struct berth_reason reason;
};
struct berth_fact_device_free {
	uint32_t device;
	uint64_t since_ms;
};
struct berth_fact_counters {
	uint64_t next_job;
	uint32_t next_device;
};

/* One job, whole: the live record and its image in a snapshot. Strings are interned by the core that holds it.
 *
 * Times are of the core clock. Start and end are when the shim saw them, moved into what the core saw between the facts
 * before and behind: its wall clock may have been stepped. A job cancelled while it waits ends without running:
 * assign_ms and start_ms are 0 then, and last says exit code -1, whatever an attempt before had. */
struct berth_job {
	uint64_t id;
	enum berth_job_state state;
	struct berth_fact_submit asked;   /* as submitted and altered since */
	uint64_t submit_ms;
	uint32_t attempt;                 /* current or last; 0 = none yet */
	uint32_t restarts;                /* times it went back to the queue after having run */
	uint32_t failures;                /* in a row */
	uint32_t requeues_used;           /* of asked.requeue_max */
	uint64_t eligible_ms;             /* back-off; 0 = none */
	bool is_cancel_asked;
	bool is_requeue_asked;
	struct berth_share_set set;       /* of the current attempt; n = 0 when none or over */
	struct berth_share_set last_set;  /* of the last attempt, for people */
	uint64_t assign_ms;               /* 0 = not yet; of the current or last attempt, like those below */
	uint64_t start_ms;
	uint64_t end_ms;
	uint64_t finish_ms;               /* became final; 0 = it is not. retain_ms counts from here */
	int32_t pid;                      /* 0 = none */
	enum berth_stop_cause stop_cause;
	uint64_t stop_deadline_ms;
	uint64_t limit_told_ms;           /* the limit that the running attempt knows */
	struct berth_fact_ended last;     /* valid when end_ms */
	struct berth_reason reason;       /* of the last requeue or the end; while it waits, ask berth_core_why */
};

struct berth_fact {
	uint64_t seq;   /* journal number from 1; 0 = not journalled */
	uint64_t at_ms; /* core clock: milliseconds since 1970 UTC, never falls along the journal */
	enum berth_fact_kind kind;
	union {
		struct berth_fact_policy policy;
		struct berth_fact_node node;
		struct berth_fact_device device;
		struct berth_fact_device_health health;
		struct berth_fact_device_drain drain;
		struct berth_fact_submit submit;
		struct berth_fact_job job;
		struct berth_fact_alter alter;
		struct berth_fact_started started;
		struct berth_fact_refused refused;
		struct berth_fact_ended ended;
		struct berth_fact_assigned assigned;
		struct berth_fact_stop stop;
		struct berth_fact_limit limit;
		struct berth_fact_requeued requeued;
		struct berth_fact_finished finished;
		struct berth_fact_device_free free;
		struct berth_fact_counters counters;
		struct berth_job image;
	} u;
};

/* The shape of every kind, as data: codecs, hashes, random streams and documents are made from it. */
enum berth_field_type {
	BERTH_FIELD_END = 0,
	BERTH_FIELD_U64,
	BERTH_FIELD_U32,
	BERTH_FIELD_I32,
	BERTH_FIELD_BOOL,
	BERTH_FIELD_STR,   /* const char * */
	BERTH_FIELD_ENUM,  /* written by name, see names */
	BERTH_FIELD_SHARES /* struct berth_share_set */
};
struct berth_field {
	const char *name;
	enum berth_field_type type;
	size_t offset;              /* in struct berth_fact */
	const char *const *names;   /* ENUM: names of the values */
	uint32_t n_names;
};
struct berth_fact_shape {
	const char *name;                 /* "JobSubmitted" */
	bool is_decision;
	const struct berth_field *fields; /* ends with type END */
};
/* The shape of a kind; NULL for UNKNOWN and for numbers beyond the last. Static. */
const struct berth_fact_shape *berth_fact_shape(enum berth_fact_kind kind);
/* The kind of a shape's name; UNKNOWN when there is none. */
enum berth_fact_kind berth_fact_kind_from_name(const char *name);
/* Point every string field of the fact at "" (a zeroed fact has NULLs). Makers call it first. */
void berth_fact_init(struct berth_fact *fact, enum berth_fact_kind kind);

/* "PENDING", "RUNNING" …: the exact names for codecs, and those for people, to whom STARTING is PENDING and ENDED is
 * STOPPING. Static. */
const char *berth_job_state_name(enum berth_job_state state);
const char *berth_job_state_public_name(enum berth_job_state state);
/* COMPLETED and what stands below it. */
bool berth_job_state_is_final(enum berth_job_state state);
/* STARTING, RUNNING, STOPPING: it has devices or processes. */
bool berth_job_state_is_live(enum berth_job_state state);
#endif
