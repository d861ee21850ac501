#include "engine/local/local.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/file.h"
#include "engine/local/engine.h"

/* The safety net under lost messages; nothing in the ordinary course waits for it. */
#define SWEEP_EVERY_MS 5000u

static void each_watch(struct berth_engine *engine, void (*visit)(struct berth_watch *watch))
{
	for (size_t i = 0; i < BERTH_ENGINE_BUCKETS; i++) {
		struct berth_watch *next;

		for (struct berth_watch *watch = engine->bucket[i]; watch; watch = next) {
			next = watch->next;
			visit(watch);
		}
	}
}

/* --- berth-exec ------------------------------------------------------------------------------------------------------
 */

static struct berth_engine_card *find_card(const struct berth_engine *engine, const char *uuid)
{
	for (struct berth_engine_card *card = engine->cards; card; card = card->next)
		if (strcmp(card->uuid, uuid) == 0)
			return card;
	return NULL;
}

static void ask_card(struct berth_engine *engine, const struct berth_engine_card *card)
{
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_ENROL, NULL);
	msg.n_uuid = 1;
	memcpy(msg.uuid[0], card->uuid, sizeof(msg.uuid[0]));
	/* Not connected: asked when the line is ready. */
	(void)berth_execlink_send(engine->link, &msg, -1);
}

/* Questions of an earlier line get no answer any more. */
static void look_afresh(struct berth_watch *watch)
{
	watch->is_asked = false;
	berth_watch_look(watch);
}

static void on_ready(void *arg)
{
	struct berth_engine *engine = arg;

	for (const struct berth_engine_card *card = engine->cards; card; card = card->next)
		ask_card(engine, card);
	each_watch(engine, look_afresh);
}

static void on_message(void *arg, const struct berth_wire *msg)
{
	struct berth_engine *engine = arg;
	struct berth_watch *watch = berth_watch_find(engine, msg->job, msg->attempt);
	struct berth_engine_card *card = msg->kind == BERTH_WIRE_ENROLLED ? find_card(engine, msg->uuid[0]) : NULL;

	if (card)
		card->is_owned = msg->error == 0;
	else if (watch && msg->attempt != 0)
		berth_watch_take(watch, msg);
}

static int on_sweep(sd_event_source *source, uint64_t usec, void *arg)
{
	each_watch(arg, berth_watch_look);
	(void)sd_event_source_set_time_relative(source, SWEEP_EVERY_MS * 1000u);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* --- opening ---------------------------------------------------------------------------------------------------------
 */

static bool is_live(const struct berth_core *core, const struct berth_attempt_id *id)
{
	const struct berth_job *job = berth_core_job(core, id->job);

	return job && job->attempt == id->attempt && berth_job_state_is_live(job->state);
}

/* What cannot be removed now goes at the next start. */
static void remove_files(const struct berth_engine *engine, const struct berth_attempt_id *id)
{
	int r = berth_attempt_remove(engine->attempts_fd, id);

	(void)r;
}

/* Files of attempts whose end was journalled before they could be removed, all or (a claim alone) in part. What is or
 * may be alive stays, and what the journal has never heard of: by the journal neither can be, so doctor shows it. */
static int remove_leftovers(struct berth_engine *engine, struct berth_error *err)
{
	const struct berth_core *core = berth_ledger_core(engine->ledger);
	int fd = openat(engine->state_fd, "attempts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir) {
		int r = berth_error_errno(err, -errno, "read %s", engine->attempts_dir);

		if (fd >= 0)
			(void)close(fd);
		return r;
	}
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		struct berth_attempt_id id;
		enum berth_attempt_file file;

		if (!berth_attempt_parse_name(entry->d_name, &id, &file) || is_live(core, &id) ||
		    id.job >= berth_core_next_job(core))
			continue;
		enum berth_attempt_state state = berth_attempt_look(engine->attempts_fd, &id);
		if (state != BERTH_ATTEMPT_ALIVE && state != BERTH_ATTEMPT_UNKNOWN)
			remove_files(engine, &id);
	}
	(void)closedir(dir);
	return 0;
}

static int adopt_live(struct berth_engine *engine)
{
	const struct berth_core *core = berth_ledger_core(engine->ledger);

	for (size_t i = 0; i < berth_core_job_count(core); i++) {
		const struct berth_job *job = berth_core_job_at(core, i);

		if (!berth_job_state_is_live(job->state))
			continue;
		const struct berth_attempt_id id = {job->id, job->attempt};
		struct berth_watch *watch = berth_watch_get(engine, &id);
		if (!watch)
			return -ENOMEM;
		if (job->state == BERTH_JOB_STOPPING) {
			/* A stop can only be shortened, so one that arrived before is not prolonged by this. */
			watch->stop_cause = job->stop_cause;
			watch->stop_grace_ms = job->asked.grace_ms;
		}
		if (job->limit_told_ms != 0)
			watch->limit_ms = job->limit_told_ms;
	}
	return 0;
}

static int open_dirs(struct berth_engine *engine, struct berth_error *err)
{
	const char *dir = engine->options.state_dir;

	if (asprintf(&engine->attempts_dir, "%s/attempts", dir) < 0) {
		engine->attempts_dir = NULL;
		return -ENOMEM;
	}
	int r = berth_dir_make_private(engine->attempts_dir, err);
	if (r < 0)
		return r;
	engine->state_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	engine->attempts_fd = engine->state_fd < 0 ? -1
	                                           : open(engine->attempts_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return engine->attempts_fd < 0 ? berth_error_errno(err, -errno, "open %s", engine->attempts_dir) : 0;
}

static int copy_options(struct berth_engine *engine, const struct berth_engine_options *options)
{
	engine->options = (struct berth_engine_options){strdup(options->state_dir), strdup(options->exec_path),
	                                                strdup(options->socket_path), strdup(options->node_name)};
	const struct berth_engine_options *own = &engine->options;
	return own->state_dir && own->exec_path && own->socket_path && own->node_name ? 0 : -ENOMEM;
}

int berth_engine_open(sd_event *event, struct berth_ledger *ledger, const struct berth_engine_options *options,
                      const struct berth_engine_host *host, struct berth_engine **ret, struct berth_error *err)
{
	struct berth_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return berth_error_set(err, -ENOMEM, "memory is out");
	*engine = (struct berth_engine){
		.event = sd_event_ref(event), .ledger = ledger, .host = *host, .state_fd = -1, .attempts_fd = -1};
	int r = copy_options(engine, options);
	if (r == 0)
		r = open_dirs(engine, err);
	if (r == 0)
		r = remove_leftovers(engine, err);
	if (r == 0)
		r = adopt_live(engine);
	const struct berth_execlink_host link_host = {engine, on_ready, on_message};
	if (r == 0)
		r = berth_execlink_open(event, engine->state_fd, engine->options.state_dir, engine->options.exec_path,
		                        &link_host, &engine->link);
	if (r == 0)
		r = sd_event_add_time_relative(event, &engine->sweep, CLOCK_BOOTTIME, SWEEP_EVERY_MS * 1000u, 100000,
		                               on_sweep, engine);
	if (r < 0) {
		if (err && !err->code)
			(void)berth_error_errno(err, r, "start the engine");
		berth_engine_close(engine);
		return r;
	}
	*ret = engine;
	return 0;
}

/* Closing is no end of an attempt: the host is not told that it left its devices. */
static void forget(struct berth_watch *watch)
{
	watch->is_load = false;
	berth_watch_free(watch);
}

void berth_engine_close(struct berth_engine *engine)
{
	if (!engine)
		return;
	each_watch(engine, forget);
	sd_event_source_disable_unref(engine->sweep);
	berth_execlink_close(engine->link);
	while (engine->cards) {
		struct berth_engine_card *card = engine->cards;

		engine->cards = card->next;
		free(card);
	}
	if (engine->state_fd >= 0)
		(void)close(engine->state_fd);
	if (engine->attempts_fd >= 0)
		(void)close(engine->attempts_fd);
	free((void *)(uintptr_t)engine->options.state_dir);
	free((void *)(uintptr_t)engine->options.exec_path);
	free((void *)(uintptr_t)engine->options.socket_path);
	free((void *)(uintptr_t)engine->options.node_name);
	free(engine->attempts_dir);
	sd_event_unref(engine->event);
	free(engine);
}

/* --- decisions and what became of them
 * -------------------------------------------------------------------------------- */

static void carry_out_start(struct berth_engine *engine, const struct berth_fact_assigned *assigned)
{
	const struct berth_attempt_id id = {assigned->job, assigned->attempt};
	struct berth_watch *watch = berth_watch_get(engine, &id);

	/* Without memory for a watch the sweep has nothing to find; the next daemon start adopts it. */
	if (watch)
		berth_watch_look(watch);
}

static void carry_out_stop(struct berth_engine *engine, const struct berth_fact *decision)
{
	const struct berth_fact_stop *stop = &decision->u.stop;
	const struct berth_attempt_id id = {stop->job, stop->attempt};
	struct berth_watch *watch = berth_watch_get(engine, &id);

	if (watch)
		berth_watch_stop(watch, stop->cause,
		                 stop->deadline_ms > decision->at_ms ? stop->deadline_ms - decision->at_ms : 0);
}

void berth_engine_carry_out(struct berth_engine *engine, const struct berth_fact *decision)
{
	struct berth_watch *watch;

	switch (decision->kind) {
	case BERTH_FACT_ATTEMPT_ASSIGNED:
		carry_out_start(engine, &decision->u.assigned);
		break;
	case BERTH_FACT_STOP_ASKED:
		carry_out_stop(engine, decision);
		break;
	case BERTH_FACT_LIMIT_SET:
		watch = berth_watch_find(engine, decision->u.limit.job, decision->u.limit.attempt);
		if (watch)
			berth_watch_limit(watch, decision->u.limit.limit_ms);
		break;
	default:
		break;
	}
}

void berth_engine_seen(struct berth_engine *engine, const struct berth_fact *fact, int result)
{
	struct berth_attempt_id id;

	if (fact->kind == BERTH_FACT_ATTEMPT_ENDED)
		id = (struct berth_attempt_id){fact->u.ended.job, fact->u.ended.attempt};
	else if (fact->kind == BERTH_FACT_ATTEMPT_REFUSED)
		id = (struct berth_attempt_id){fact->u.refused.job, fact->u.refused.attempt};
	else
		return;
	struct berth_watch *watch = berth_watch_find(engine, id.job, id.attempt);
	if (watch)
		berth_watch_free(watch);
	remove_files(engine, &id);
}

/* --- cards, state
 * ------------------------------------------------------------------------------------------------------ */

void berth_engine_enrol(struct berth_engine *engine, const char *uuid)
{
	struct berth_engine_card *card = find_card(engine, uuid);

	if (card || strlen(uuid) >= sizeof(card->uuid))
		return;
	card = calloc(1, sizeof(*card));
	if (!card)
		return;
	(void)snprintf(card->uuid, sizeof(card->uuid), "%s", uuid);
	card->is_owned = true;
	card->next = engine->cards;
	engine->cards = card;
	ask_card(engine, card);
}

bool berth_engine_is_owned(const struct berth_engine *engine, const char *uuid)
{
	const struct berth_engine_card *card = find_card(engine, uuid);

	return !card || card->is_owned;
}

const char *berth_engine_progress(const struct berth_engine *engine, uint64_t job)
{
	const struct berth_watch *watch = berth_watch_find(engine, job, 0);

	return watch ? watch->progress : "";
}

const char *berth_engine_containment(const struct berth_engine *engine)
{
	return berth_execlink_words(engine->link);
}

bool berth_engine_is_connected(const struct berth_engine *engine)
{
	return berth_execlink_is_ready(engine->link);
}
