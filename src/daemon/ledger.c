/* The ledger's host: what happens when a fact is durable, and when a decision is to be carried out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>
#include "base/clock.h"
#include "daemon/fact_text.h"
#include "daemon/server.h"

uint64_t berth_server_now_ms(void *arg)
{
	const struct berth_server *server = arg;

	return berth_core_clock_at(&server->clock, berth_clock_boot_ms());
}

static void log_fact(const struct berth_server *server, const struct berth_fact *fact)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	enum berth_log_level level = berth_fact_text(berth_ledger_core(server->ledger), fact, &text);

	if (text.len && berth_text_str(&text))
		berth_log(&server->log, level, "%s", berth_text_str(&text));
}

static void host_seen(void *arg, const struct berth_fact *fact, int result)
{
	struct berth_server *server = arg;
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);

	server->facts++;
	if (shape && shape->is_decision)
		server->decisions++;
	if (result == 0) {
		log_fact(server, fact);
		berth_telemetry_seen(server->telemetry, berth_ledger_core(server->ledger), fact);
	}
	if (server->api)
		berth_api_seen(server->api, fact, result);
	if (server->engine)
		berth_engine_seen(server->engine, fact, result);
	/* somebody put a card into service that the configuration leaves out, or a card's number changed: look at once
	 */
	if (fact->kind == BERTH_FACT_DEVICE_DRAIN || fact->kind == BERTH_FACT_DEVICE_SEEN)
		berth_server_reconcile(server);
}

/* Between the fold of "back in service" and our drain the core may have given the card away. */
static void refuse(struct berth_server *server, const struct berth_fact_assigned *assigned)
{
	struct berth_fact fact;
	const struct berth_post post = {.facts = &fact, .n_facts = 1, .keep = true};

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_REFUSED);
	fact.u.refused = (struct berth_fact_refused){
		.job = assigned->job, .attempt = assigned->attempt, .error = EBUSY};
	if (berth_ledger_post(server->ledger, &post) < 0)
		berth_log(&server->log, BERTH_LOG_ERROR,
		          "out of memory: job %" PRIu64 " holds a card that it may not use until the next start",
		          assigned->job);
}

static void host_carry_out(void *arg, const struct berth_fact *decision)
{
	struct berth_server *server = arg;

	if (!server->engine)
		return; /* not open yet: it looks at what the core says is live when it opens */
	if (decision->kind == BERTH_FACT_ATTEMPT_ASSIGNED && !berth_server_may_assign(server, decision)) {
		refuse(server, &decision->u.assigned);
		return;
	}
	berth_engine_carry_out(server->engine, decision);
}

static int host_history(void *arg, const struct berth_job *job, struct berth_arena *arena,
                        struct berth_history_row *ret)
{
	struct berth_server *server = arg;
	BERTH_AUTO_FREE char *json = server->api ? berth_api_job_json(server->api, job) : NULL;
	char *copy = json ? berth_arena_strdup(arena, json) : NULL;

	if (!server->api)
		return -EAGAIN;
	if (!copy)
		return -ENOMEM;
	*ret = (struct berth_history_row){
		.job = job->id,
		.uid = job->asked.uid,
		.user = job->asked.user,
		.name = job->asked.name,
		.state = berth_job_state_public_name(job->state),
		.submit_ms = job->submit_ms,
		.start_ms = job->start_ms,
		.end_ms = job->end_ms ? job->end_ms : job->finish_ms,
		.json = copy,
	};
	return 0;
}

static void host_failed(void *arg, const struct berth_error *err)
{
	struct berth_server *server = arg;

	berth_log(&server->log, BERTH_LOG_ERROR,
	          "the store failed: %s; the daemon ends, jobs run on: start it again when the disk is well",
	          err->text);
	(void)sd_event_exit(server->event, 1);
}

/* --- the loop ---------------------------------------------------------------------------------- */

static int on_commit(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct berth_server *server = arg;

	berth_ledger_dispatch(server->ledger);
	server->cycle_ms = berth_server_now_ms(server);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct berth_server *server = arg;

	berth_ledger_tick(server->ledger);
	server->cycle_ms = berth_server_now_ms(server);
	return 0;
}

/* Posts come from everywhere, and each may bring the ledger's next tick nearer: set the timer anew before every sleep.
 */
static int arm_timer(sd_event_source *source, void *arg)
{
	struct berth_server *server = arg;
	uint64_t wake_ms = berth_core_clock_to_boot(&server->clock, berth_ledger_wake_ms(server->ledger));
	int r;

	if (wake_ms == UINT64_MAX)
		return sd_event_source_set_enabled(server->ledger_timer, SD_EVENT_OFF);
	r = sd_event_source_set_time(server->ledger_timer,
	                             wake_ms > UINT64_MAX / 1000 ? UINT64_MAX - 1 : wake_ms * 1000);
	return r < 0 ? r : sd_event_source_set_enabled(server->ledger_timer, SD_EVENT_ONESHOT);
}

static int hang_into_loop(struct berth_server *server)
{
	int r = sd_event_add_io(server->event, &server->ledger_io, berth_ledger_fd(server->ledger), EPOLLIN, on_commit,
	                        server);

	if (r < 0)
		return r;
	r = sd_event_source_set_prepare(server->ledger_io, arm_timer);
	if (r < 0)
		return r;
	/* what was decided is carried out before new requests are taken */
	r = sd_event_source_set_priority(server->ledger_io, SD_EVENT_PRIORITY_IMPORTANT);
	if (r < 0)
		return r;
	return sd_event_add_time(server->event, &server->ledger_timer, CLOCK_BOOTTIME, 0, 1000, on_timer, server);
}

/* --- first start ------------------------------------------------------------------------------- */

/* A seed that makes this state directory's simulated cards its own, for ever. */
static int find_identity(struct berth_server *server)
{
	struct berth_store *store = berth_ledger_store(server->ledger);
	char made[33];
	uint64_t random[2];
	int r = berth_store_setting_get(store, "identity", &server->identity);

	if (r != -ENOENT)
		return r;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	(void)snprintf(made, sizeof(made), "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
	r = berth_store_setting_put(store, "identity", made);
	if (r < 0)
		return r;
	server->identity = strdup(made);
	return server->identity ? 0 : -ENOMEM;
}

int berth_server_open_ledger(struct berth_server *server, struct berth_error *err)
{
	const struct berth_ledger_host host = {server,         berth_server_now_ms,  host_seen,
	                                       host_carry_out, host_history, host_failed};
	int r;

	berth_core_clock_init(&server->clock, berth_clock_wall_ms(), berth_clock_boot_ms());
	r = berth_ledger_open(server->paths.state, &host, &server->ledger, err);
	if (r < 0)
		return r;
	berth_core_clock_raise(&server->clock, berth_core_at_ms(berth_ledger_core(server->ledger)),
	                       berth_clock_boot_ms());
	server->cycle_ms = berth_server_now_ms(server);
	if (gethostname(server->node_name, sizeof(server->node_name)) < 0 || !server->node_name[0])
		(void)snprintf(server->node_name, sizeof(server->node_name), "localhost");
	server->node_name[sizeof(server->node_name) - 1] = '\0';
	r = find_identity(server);
	if (r < 0)
		return berth_error_errno(err, r, "reading the identity of %s", server->paths.state);
	r = hang_into_loop(server);
	return r < 0 ? berth_error_errno(err, r, "watching the journal") : 0;
}
