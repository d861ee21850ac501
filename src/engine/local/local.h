#ifndef BERTH_ENGINE_LOCAL_LOCAL_H
#define BERTH_ENGINE_LOCAL_LOCAL_H
/* The local engine: carries the core's decisions out on this machine, and reports what became of them as facts.
 *
 * It talks to berth-exec (LAUNCH, RECOVER) and to the shim of each live attempt (STOP, LIMIT, LOG; STARTED, PROGRESS,
 * ENDED come back). Everything it does may be done twice without harm. It believes files, not messages: an end is
 * reported from the record, once, and the attempt's files are removed only after that fact is durable.
 */
#include <systemd/sd-event.h>
#include "base/error.h"
#include "store/ledger.h"

struct berth_engine;

struct berth_engine_host {
	void *arg;
	/* The environment berth adds to a job, its resolved specification and so on come from the job's stored blob
	 * (see engine/local/jobspec.h). */
	/* Progress of a running attempt changed; text as in the file, cleaned. */
	void (*progress)(void *arg, uint64_t job, const char *text);
	/* An attempt took or left its devices (sim devices follow the load of jobs). */
	void (*load)(void *arg, uint64_t job, uint32_t attempt, bool is_begin);
};

struct berth_engine_options {
	const char *state_dir;   /* DIR; DIR/attempts is made */
	const char *exec_path;   /* the berth-exec binary */
	const char *socket_path; /* the daemon's own socket, told to jobs as BERTH_SOCKET */
	const char *node_name;   /* for %N */
};

/* Connects to a running berth-exec of this state directory or starts one (own session, survives the daemon), enrols
 * nothing yet. ledger borrowed, must outlive the engine; host copied. Attempts that the core says are live are looked
 * at at once: never claimed → launched again, alive → watched, over → reported, orphan → recovered. */
BERTH_MUST_USE int berth_engine_open(sd_event *event, struct berth_ledger *ledger,
                                     const struct berth_engine_options *options, const struct berth_engine_host *host,
                                     struct berth_engine **ret, struct berth_error *err);
/* Jobs run on. NULL allowed. */
void berth_engine_close(struct berth_engine *engine);

/* ATTEMPT_ASSIGNED, STOP_ASKED, LIMIT_SET are carried out; other kinds are ignored. Never blocks. */
void berth_engine_carry_out(struct berth_engine *engine, const struct berth_fact *decision);
/* ATTEMPT_ENDED became durable: the attempt's files can go. Call for every fact seen. */
void berth_engine_seen(struct berth_engine *engine, const struct berth_fact *fact, int result);

/* Own a card on this machine against other berths (asynchronous). is_owned: last answer; true until told otherwise. */
void berth_engine_enrol(struct berth_engine *engine, const char *uuid);
bool berth_engine_is_owned(const struct berth_engine *engine, const char *uuid);

/* The output of a job, length bytes from offset: from its shim while it runs, from the file after. done is called once,
 * later or at once: result 0 with data (may be fewer, 0 at the end) and the file's size, or -ENOENT no output (yet),
 * -errno. */
typedef void berth_engine_log_done(void *arg, int result, const void *data, size_t n, uint64_t size);
void berth_engine_log(struct berth_engine *engine, uint64_t job, uint64_t offset, uint32_t length,
                      berth_engine_log_done *done, void *arg);
/* Latest progress text of a live attempt; "" = none. */
const char *berth_engine_progress(const struct berth_engine *engine, uint64_t job);

/* How processes are held here: "cgroup v2 at PATH", or "sub-reaper" with why no group can be made. For doctor. Static
 * until close. */
const char *berth_engine_containment(const struct berth_engine *engine);
/* Is berth-exec answering? For /healthz and doctor. */
bool berth_engine_is_connected(const struct berth_engine *engine);
#endif
