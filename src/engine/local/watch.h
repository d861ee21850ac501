#ifndef BERTH_ENGINE_LOCAL_WATCH_H
#define BERTH_ENGINE_LOCAL_WATCH_H
/* One live attempt, from its assignment until its end is durable.
 *
 * A watch acts on what it sees in the attempt's files (host/attempt.h), whoever told it to look: a message of
 * berth-exec, the shim's closing its socket, a timer, the sweep. So a lost message costs time and nothing else.
 */
#include <systemd/sd-event.h>
#include "core/core.h"
#include "engine/local/local.h"
#include "host/claim.h"
#include "host/wire.h"

struct berth_engine;

struct berth_watch_log { /* a range asked of the shim; answered in order */
	struct berth_watch_log *next;
	uint64_t offset;
	uint32_t length;
	berth_engine_log_done *done;
	void *arg;
};

struct berth_watch {
	struct berth_watch *next; /* in its bucket */
	struct berth_engine *engine;
	struct berth_attempt_id id;

	/* berth-exec: one question about this attempt at a time */
	bool is_asked;  /* LAUNCH, WITHDRAW or RECOVER is under way */
	bool is_forked; /* LAUNCH was answered: what berth-exec says of a shim from then on is about this one */

	/* the shim */
	int fd; /* of its control socket, -1 = not connected */
	sd_event_source *io;
	sd_event_source *timer;
	uint64_t retry_ms;

	/* what is to be told to it; told again on each connection, it only takes what is new */
	enum berth_stop_cause stop_cause; /* NONE = let it run */
	uint64_t stop_grace_ms;
	uint64_t limit_ms; /* 0 = as launched */

	/* what was learnt */
	bool is_load; /* the host was told that it is at its devices */
	bool is_start_posted;
	bool is_end_posted;
	char progress[BERTH_WIRE_TEXT_MAX];
	struct berth_watch_log *logs, **last_log;
};

/* The watch of an attempt; NULL when there is none. attempt 0: of whichever attempt is live. */
struct berth_watch *berth_watch_find(const struct berth_engine *engine, uint64_t job, uint32_t attempt);
/* The same, made when missing; NULL when memory is out. */
struct berth_watch *berth_watch_get(struct berth_engine *engine, const struct berth_attempt_id *id);
void berth_watch_free(struct berth_watch *watch);

/* Look at the files and do what they call for. */
void berth_watch_look(struct berth_watch *watch);
/* The same after a while: at first milliseconds, then longer. */
void berth_watch_look_later(struct berth_watch *watch);
/* Ask it to stop, or to take a new limit: now or as soon as it listens. */
void berth_watch_stop(struct berth_watch *watch, enum berth_stop_cause cause, uint64_t grace_ms);
void berth_watch_limit(struct berth_watch *watch, uint64_t limit_ms);
/* An answer of berth-exec about this attempt. */
void berth_watch_take(struct berth_watch *watch, const struct berth_wire *msg);
/* Ask the shim for a range of the output. false: it does not listen now, read the file instead. */
bool berth_watch_log(struct berth_watch *watch, uint64_t offset, uint32_t length, berth_engine_log_done *done,
                     void *arg);
#endif
