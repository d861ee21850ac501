#include "engine/local/watch.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include "base/hash.h"
#include "engine/local/engine.h"

/* A shim listens a few milliseconds after its launch. */
#define RETRY_FIRST_MS 2u
#define RETRY_MAX_MS 1000u

static struct berth_watch **bucket_of(const struct berth_engine *engine, uint64_t job)
{
	return (struct berth_watch **)(uintptr_t)&engine->bucket[berth_hash_u64(job) % BERTH_ENGINE_BUCKETS];
}

struct berth_watch *berth_watch_find(const struct berth_engine *engine, uint64_t job, uint32_t attempt)
{
	for (struct berth_watch *watch = *bucket_of(engine, job); watch; watch = watch->next)
		if (watch->id.job == job && (attempt == 0 || watch->id.attempt == attempt))
			return watch;
	return NULL;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	berth_watch_look(arg);
	return 0;
}

struct berth_watch *berth_watch_get(struct berth_engine *engine, const struct berth_attempt_id *id)
{
	struct berth_watch *watch = berth_watch_find(engine, id->job, id->attempt);

	if (watch)
		return watch;
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	*watch = (struct berth_watch){.engine = engine, .id = *id, .fd = -1, .retry_ms = RETRY_FIRST_MS};
	watch->last_log = &watch->logs;
	if (sd_event_add_time_relative(engine->event, &watch->timer, CLOCK_BOOTTIME, 0, 1000, on_timer, watch) < 0 ||
	    sd_event_source_set_enabled(watch->timer, SD_EVENT_OFF) < 0) {
		sd_event_source_disable_unref(watch->timer);
		free(watch);
		return NULL;
	}
	struct berth_watch **bucket = bucket_of(engine, id->job);
	watch->next = *bucket;
	*bucket = watch;
	return watch;
}

static struct berth_watch_log *next_log(struct berth_watch *watch)
{
	struct berth_watch_log *log = watch->logs;

	if (log)
		watch->logs = log->next;
	if (!watch->logs)
		watch->last_log = &watch->logs;
	return log;
}

/* The shim will not answer any more: the file does. */
static void read_logs(struct berth_watch *watch)
{
	for (struct berth_watch_log *log = next_log(watch); log; log = next_log(watch)) {
		berth_engine_log(watch->engine, watch->id.job, log->offset, log->length, log->done, log->arg);
		free(log);
	}
}

static void disconnect(struct berth_watch *watch)
{
	watch->io = sd_event_source_disable_unref(watch->io);
	if (watch->fd >= 0)
		(void)close(watch->fd);
	watch->fd = -1;
	read_logs(watch);
}

static void set_load(struct berth_watch *watch, bool is_begin)
{
	struct berth_engine *engine = watch->engine;

	if (watch->is_load == is_begin)
		return;
	watch->is_load = is_begin;
	engine->host.load(engine->host.arg, watch->id.job, watch->id.attempt, is_begin);
}

void berth_watch_free(struct berth_watch *watch)
{
	struct berth_watch **at = bucket_of(watch->engine, watch->id.job);

	while (*at != watch)
		at = &(*at)->next;
	*at = watch->next;
	disconnect(watch);
	set_load(watch, false);
	sd_event_source_disable_unref(watch->timer);
	free(watch);
}

void berth_watch_look_later(struct berth_watch *watch)
{
	(void)sd_event_source_set_time_relative(watch->timer, watch->retry_ms * 1000);
	(void)sd_event_source_set_enabled(watch->timer, SD_EVENT_ONESHOT);
	watch->retry_ms = watch->retry_ms * 2 < RETRY_MAX_MS ? watch->retry_ms * 2 : RETRY_MAX_MS;
}

/* --- the shim ---------------------------------------------------------------------------------------------------- */

static void tell(struct berth_watch *watch, struct berth_wire *msg)
{
	/* A shim that does not read is told again when it is looked at next; its own limit holds without us. */
	if (watch->fd >= 0 && berth_wire_send(watch->fd, msg, NULL, -1) == -EAGAIN)
		berth_watch_look_later(watch);
}

static void tell_stop(struct berth_watch *watch)
{
	struct berth_wire msg;

	if (watch->stop_cause == BERTH_STOP_NONE)
		return;
	berth_wire_init(&msg, BERTH_WIRE_STOP, &watch->id);
	msg.value = watch->stop_grace_ms;
	msg.cause = (uint32_t)watch->stop_cause;
	tell(watch, &msg);
}

static void tell_limit(struct berth_watch *watch)
{
	struct berth_wire msg;

	if (watch->limit_ms == 0)
		return;
	berth_wire_init(&msg, BERTH_WIRE_LIMIT, &watch->id);
	msg.value = watch->limit_ms;
	tell(watch, &msg);
}

static void take_log(struct berth_watch *watch, const struct berth_wire *msg, const void *data)
{
	struct berth_watch_log *log = next_log(watch);

	if (!log)
		return;
	log->done(log->arg, -msg->error, data, msg->length, msg->value);
	free(log);
}

static void take_progress(struct berth_watch *watch, const struct berth_wire *msg)
{
	struct berth_engine *engine = watch->engine;

	memcpy(watch->progress, msg->text, sizeof(watch->progress));
	watch->progress[sizeof(watch->progress) - 1] = '\0';
	engine->host.progress(engine->host.arg, watch->id.job, watch->progress);
}

static void take_shim(struct berth_watch *watch, const struct berth_wire *msg, const void *data)
{
	switch (msg->kind) {
	case BERTH_WIRE_STARTED:
		set_load(watch, true);
		berth_report_started(watch, msg->pid);
		break;
	case BERTH_WIRE_PROGRESS:
		take_progress(watch, msg);
		break;
	case BERTH_WIRE_LOG_DATA:
		take_log(watch, msg, data);
		break;
	default:
		/* ENDED: the record is there, and the closing of the socket follows. DONE needs no deed. */
		break;
	}
}

static int on_shim(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct berth_watch *watch = arg;
	static const size_t cap = BERTH_WIRE_LOG_MAX;
	BERTH_AUTO_FREE void *data = malloc(cap);
	struct berth_wire msg;
	bool is_over = false;
	int r = data ? 1 : -EAGAIN;

	while (r > 0) {
		r = berth_wire_receive(watch->fd, &msg, data, cap, NULL);
		if (r > 0 && berth_wire_id(&msg).job == watch->id.job &&
		    berth_wire_id(&msg).attempt == watch->id.attempt) {
			is_over = is_over || msg.kind == BERTH_WIRE_ENDED;
			take_shim(watch, &msg, data);
		}
	}
	if (r == -EAGAIN && !is_over)
		return 0;
	disconnect(watch);
	berth_watch_look(watch);
	return 0;
}

static void connect_shim(struct berth_watch *watch)
{
	char name[BERTH_ATTEMPT_NAME_MAX];

	if (watch->fd >= 0)
		return;
	watch->fd = berth_wire_connect(watch->engine->attempts_fd,
	                               berth_attempt_file_name(&watch->id, BERTH_ATTEMPT_SOCK, name));
	if (watch->fd >= 0 && sd_event_add_io(watch->engine->event, &watch->io, watch->fd, EPOLLIN, on_shim, watch) < 0)
		disconnect(watch);
	if (watch->fd < 0) {
		watch->fd = -1;
		berth_watch_look_later(watch);
		return;
	}
	watch->retry_ms = RETRY_FIRST_MS;
	tell_limit(watch);
	tell_stop(watch);
}

bool berth_watch_log(struct berth_watch *watch, uint64_t offset, uint32_t length, berth_engine_log_done *done,
                     void *arg)
{
	struct berth_wire msg;

	if (watch->fd < 0)
		return false;
	struct berth_watch_log *log = malloc(sizeof(*log));
	if (!log)
		return false;
	*log = (struct berth_watch_log){.offset = offset, .length = length, .done = done, .arg = arg};
	berth_wire_init(&msg, BERTH_WIRE_LOG, &watch->id);
	msg.value = offset;
	msg.length = length < BERTH_WIRE_LOG_MAX ? length : BERTH_WIRE_LOG_MAX;
	if (berth_wire_send(watch->fd, &msg, NULL, -1) < 0) {
		free(log);
		return false;
	}
	*watch->last_log = log;
	watch->last_log = &log->next;
	return true;
}

void berth_watch_stop(struct berth_watch *watch, enum berth_stop_cause cause, uint64_t grace_ms)
{
	watch->stop_cause = cause;
	watch->stop_grace_ms = grace_ms;
	tell_stop(watch);
	if (watch->fd < 0)
		berth_watch_look(watch);
}

void berth_watch_limit(struct berth_watch *watch, uint64_t limit_ms)
{
	watch->limit_ms = limit_ms;
	tell_limit(watch);
}

/* --- the files ---------------------------------------------------------------------------------------------------- */

static void ask_exec(struct berth_watch *watch, enum berth_wire_kind kind)
{
	struct berth_wire msg;

	berth_wire_init(&msg, kind, &watch->id);
	msg.cause = (uint32_t)watch->stop_cause;
	watch->is_asked = berth_execlink_send(watch->engine->link, &msg, -1) == 0;
	watch->is_forked = false;
}

static void start(struct berth_watch *watch, const struct berth_job *job)
{
	int r = berth_launch(watch->engine, job);

	watch->is_asked = r == 0;
	watch->is_forked = false;
	if (r < 0 && r != -ENOTCONN)
		berth_report_refused(watch, -r);
}

/* No claim: nothing of it ever ran. */
static void on_never(struct berth_watch *watch)
{
	const struct berth_job *job = berth_core_job(berth_ledger_core(watch->engine->ledger), watch->id.job);

	if (!job || job->attempt != watch->id.attempt || !berth_job_state_is_live(job->state))
		return;
	if (job->start_ms != 0)
		berth_report_vanished(watch);
	else if (job->state == BERTH_JOB_STOPPING)
		ask_exec(watch, BERTH_WIRE_WITHDRAW);
	else
		start(watch, job);
}

static void on_over(struct berth_watch *watch)
{
	struct berth_record record;
	int r = berth_record_read(watch->engine->attempts_fd, &watch->id, &record, NULL);

	if (r == 0)
		berth_report_ended(watch, &record);
	else
		berth_watch_look_later(watch);
}

void berth_watch_look(struct berth_watch *watch)
{
	if (watch->is_end_posted)
		return;
	switch (berth_attempt_look(watch->engine->attempts_fd, &watch->id)) {
	case BERTH_ATTEMPT_NEVER:
		if (!watch->is_asked)
			on_never(watch);
		else
			berth_watch_look_later(watch); /* its shim was forked and has not claimed it yet */
		break;
	case BERTH_ATTEMPT_ALIVE:
		watch->is_asked = false;
		connect_shim(watch);
		break;
	case BERTH_ATTEMPT_OVER:
		on_over(watch);
		break;
	case BERTH_ATTEMPT_ORPHAN:
		if (!watch->is_asked)
			ask_exec(watch, BERTH_WIRE_RECOVER);
		break;
	default:
		berth_watch_look_later(watch);
		break;
	}
}

/* Its shim was to be started and no claim came of it. */
static void take_failure(struct berth_watch *watch, int error)
{
	if (berth_attempt_look(watch->engine->attempts_fd, &watch->id) == BERTH_ATTEMPT_NEVER)
		berth_report_refused(watch, error);
	else
		berth_watch_look(watch);
}

void berth_watch_take(struct berth_watch *watch, const struct berth_wire *msg)
{
	switch (msg->kind) {
	case BERTH_WIRE_LAUNCHED:
		/* Forked: the claim follows, so a missing one is no reason yet to launch again. SHIM_GONE will tell
		 * otherwise. */
		if (msg->error == 0) {
			watch->is_forked = true;
			berth_watch_look_later(watch);
			break;
		}
		watch->is_asked = false;
		if (msg->error == EBUSY)
			berth_watch_look_later(watch);
		else
			take_failure(watch, msg->error);
		break;
	case BERTH_WIRE_SHIM_GONE:
		/* Word of an earlier shim, sent before berth-exec read what we asked since: refusing the attempt now
		 * would let a shim run that is about to be forked. The answer is on its way. */
		if (watch->is_asked && !watch->is_forked)
			break;
		watch->is_asked = false;
		take_failure(watch, msg->error ? msg->error : EINTR);
		break;
	case BERTH_WIRE_RECOVERED:
		watch->is_asked = false;
		if (msg->error == 0)
			berth_watch_look(watch);
		else
			berth_watch_look_later(watch);
		break;
	default:
		break;
	}
}
