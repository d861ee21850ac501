/* The probe's host: scans and samples go to registry and telemetry, and what the core does not know yet goes to the
 * ledger. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include "base/clock.h"
#include "daemon/server.h"
#include "engine/local/jobspec.h"

#define SCAN_OVERDUE_MS 10000u
#define MISSING_MAX (3 * BERTH_DEVICES_MAX + 2)

/* --- what the core does not know yet ----------------------------------------------------------- */

static enum berth_health view_health(void *arg, const char *uuid)
{
	const struct berth_server *server = arg;

	return berth_telemetry_health(server->telemetry, uuid, berth_clock_boot_ms());
}

static bool view_is_owned(void *arg, const char *uuid)
{
	const struct berth_server *server = arg;

	return !server->engine || berth_engine_is_owned(server->engine, uuid);
}

static bool is_policy_of(const struct berth_fact_policy *policy, const struct berth_config *config)
{
	return policy->backoff_first_ms == config->backoff_first_ms &&
	       policy->backoff_max_ms == config->backoff_max_ms && policy->retain_ms == config->retain_ms;
}

/* Policy and node, where the core has others: at most 2 facts. */
static size_t add_site(const struct berth_server *server, struct berth_fact *ret)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	const struct berth_node *node = berth_core_node(core, BERTH_REGISTRY_NODE);
	size_t n = 0;

	if (!is_policy_of(berth_core_policy(core), &server->config)) {
		berth_fact_init(&ret[n], BERTH_FACT_POLICY_SET);
		ret[n].u.policy = (struct berth_fact_policy){
			.backoff_first_ms = server->config.backoff_first_ms,
			.backoff_max_ms = server->config.backoff_max_ms,
			.retain_ms = server->config.retain_ms,
		};
		n++;
	}
	if (!node || strcmp(node->name, server->node_name) != 0) {
		berth_fact_init(&ret[n], BERTH_FACT_NODE_SEEN);
		ret[n].u.node = (struct berth_fact_node){.node = BERTH_REGISTRY_NODE, .name = server->node_name};
		n++;
	}
	return n;
}

/* Said before the core hears it: afterwards it is no longer known what was before. */
static void log_health(const struct berth_server *server, const struct berth_fact_device_health *health)
{
	const struct berth_device *device = berth_core_device(berth_ledger_core(server->ledger), health->device);

	if (!device)
		return;
	if (health->health == BERTH_HEALTH_OK && device->health != BERTH_HEALTH_UNKNOWN)
		berth_log(&server->log, BERTH_LOG_INFO, "card %u (%s): healthy again", device->index, device->uuid);
	else if (health->health == BERTH_HEALTH_UNKNOWN)
		berth_log(&server->log, BERTH_LOG_WARNING, "card %u (%s): not seen yet, nothing new starts on it",
		          device->index, device->uuid);
	else if (health->health == BERTH_HEALTH_LOST && !view_is_owned((void *)server, device->uuid))
		berth_log(&server->log, BERTH_LOG_WARNING,
		          "card %u (%s): another berth on this machine has it; leave it out with `cards:` in the "
		          "configuration, "
		          "or end the other one",
		          device->index, device->uuid);
	else if (health->health == BERTH_HEALTH_LOST)
		berth_log(&server->log, BERTH_LOG_WARNING,
		          "card %u (%s): lost; its driver does not answer for it, or says that it is gone",
		          device->index, device->uuid);
}

static void reconciled(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	struct berth_server *server = arg;

	server->is_reconciling = false;
	if (result == 0)
		berth_server_reconcile(server); /* a new card's health follows; a full disk waits for the next tick */
}

void berth_server_reconcile(struct berth_server *server)
{
	const struct berth_registry_view view = {
		.arg = server,
		.health = view_health,
		.is_owned = view_is_owned,
		.is_overdue = berth_clock_boot_ms() - server->started_boot_ms > SCAN_OVERDUE_MS,
	};
	struct berth_fact facts[MISSING_MAX];
	struct berth_post post = {.facts = facts, .done = reconciled, .done_arg = server};

	if (server->is_reconciling || server->is_closing)
		return;
	post.n_facts = add_site(server, facts);
	post.n_facts += berth_registry_diff(server->registry, berth_ledger_core(server->ledger), &view,
	                                    facts + post.n_facts, MISSING_MAX - post.n_facts);
	if (post.n_facts == 0) {
		server->is_settled = server->is_settled || berth_registry_is_scanned(server->registry);
		return;
	}
	if (berth_ledger_post(server->ledger, &post) < 0)
		return; /* memory is out: found missing again at the next tick */
	server->is_reconciling = true;
	for (size_t i = 0; i < post.n_facts; i++)
		if (facts[i].kind == BERTH_FACT_DEVICE_HEALTH)
			log_health(server, &facts[i].u.health);
}

bool berth_server_may_assign(const struct berth_server *server, const struct berth_fact *assigned)
{
	const struct berth_share_set *set = &assigned->u.assigned.set;

	for (uint32_t i = 0; i < set->n; i++) {
		const struct berth_device *device = berth_core_device(berth_ledger_core(server->ledger),
		                                                      set->share[i].device);
		const struct berth_device_facts *seen = device ? berth_registry_find(server->registry, device->uuid)
		                                               : NULL;

		if (seen &&
		    (!berth_registry_is_enrolled(server->registry, seen) || !view_is_owned((void *)server, seen->uuid)))
			return false;
	}
	return true;
}

/* --- the probe's host -------------------------------------------------------------------------- */

static void log_scan(const struct berth_server *server, size_t n)
{
	const struct berth_source *source = &server->config.devices;

	berth_log(&server->log, BERTH_LOG_INFO, "%zu card%s%s: %s%s", n, n == 1 ? "" : "s",
	          source->is_simulated ? ", simulated" : "", source->spec,
	          source->is_auto ? " (this version has no driver for real cards)" : "");
}

static void host_scanned(void *arg, const struct berth_device_facts *devices, size_t n, const struct berth_link *links,
                         size_t n_links)
{
	struct berth_server *server = arg;

	if (berth_registry_scanned(server->registry, devices, n, links, n_links) < 0) {
		berth_log(&server->log, BERTH_LOG_ERROR, "out of memory: what was seen of the cards is left out");
		return;
	}
	log_scan(server, n);
	for (size_t i = 0; server->engine && i < n; i++)
		if (berth_registry_is_enrolled(server->registry, &devices[i]))
			berth_engine_enrol(server->engine, devices[i].uuid);
	berth_server_reconcile(server);
}

static void host_sampled(void *arg, const char *uuid, const struct berth_sample *sample)
{
	struct berth_server *server = arg;

	if (berth_telemetry_put(server->telemetry, uuid, sample) < 0)
		return; /* the next sample comes in a second */
	if (sample->valid & BERTH_SAMPLE_HEALTH && sample->health == BERTH_DEVICE_HEALTH_OK)
		server->sample_wall_ms = berth_clock_wall_ms();
	if (server->api)
		berth_api_sample(server->api, uuid, sample);
	berth_server_reconcile(server);
}

static void host_stale(void *arg, bool is_stale, const struct berth_error *err)
{
	struct berth_server *server = arg;

	if (is_stale)
		berth_log(&server->log, BERTH_LOG_WARNING, "the probe of the cards does not answer: %s", err->text);
	else
		berth_log(&server->log, BERTH_LOG_INFO, "the probe of the cards answers");
}

static void host_injected(void *arg, uint64_t ticket, int result, const struct berth_error *err)
{
	struct berth_server *server = arg;

	for (size_t i = 0; i < BERTH_INJECTIONS_MAX; i++) {
		struct berth_injection injection = server->injections[i];

		if (!injection.done || injection.ticket != ticket)
			continue;
		server->injections[i] = (struct berth_injection){0};
		injection.done(injection.done_arg, result, err);
		return;
	}
}

int berth_server_inject(void *arg, const char *uuid, const char *what,
                        void (*done)(void *done_arg, int result, const struct berth_error *err), void *done_arg,
                        struct berth_error *err)
{
	struct berth_server *server = arg;
	uint64_t ticket = 0;
	int r;

	for (size_t i = 0; i < BERTH_INJECTIONS_MAX; i++) {
		if (server->injections[i].done)
			continue;
		r = berth_probe_inject(server->probe, uuid, what, &ticket, err);
		if (r == 0)
			server->injections[i] = (struct berth_injection){
				.ticket = ticket, .done = done, .done_arg = done_arg};
		return r;
	}
	return berth_error_set(err, -EAGAIN, "%d injections wait for the probe already; ask again in a moment",
	                       BERTH_INJECTIONS_MAX);
}

size_t berth_server_links(void *arg, const char *uuid, struct berth_link *ret, const char **ret_peer, size_t cap)
{
	const struct berth_server *server = arg;

	return berth_registry_links(server->registry, uuid, ret, ret_peer, cap);
}

/* --- loads of simulated cards ------------------------------------------------------------------ */

/* The load that the job declares, "" for none. Allocated; NULL when memory is out or the specification cannot be read.
 */
static char *declared_load(struct berth_server *server, const struct berth_job *job)
{
	struct berth_jobspec spec = {0};
	struct berth_error err = {0};
	const char *declared;
	char *copy;

	if (berth_jobspec_load(berth_ledger_store(server->ledger), job->asked.spec, &spec, &err) < 0) {
		berth_log(&server->log, BERTH_LOG_WARNING, "job %" PRIu64 ": its simulated load is not known: %s",
		          job->id, err.text);
		return NULL;
	}
	declared = json_string_value(json_object_get(spec.root, "sim_load"));
	copy = strdup(declared ? declared : "");
	berth_jobspec_fini(&spec);
	return copy;
}

static void begin_load(struct berth_server *server, uint64_t id, const char *holder)
{
	struct berth_core *core = berth_ledger_core(server->ledger);
	const struct berth_job *job = berth_core_job(core, id);
	BERTH_AUTO_FREE char *profile = job && job->set.n ? declared_load(server, job) : NULL;

	for (uint32_t i = 0; profile && i < job->set.n; i++) {
		const struct berth_device *device = berth_core_device(core, job->set.share[i].device);

		if (device)
			berth_probe_load(server->probe, device->uuid, holder, profile);
	}
}

/* The job may have got other cards meanwhile, or be forgotten: the holder is taken off all of them. */
static void end_load(struct berth_server *server, const char *holder)
{
	const struct berth_device_facts *device;

	for (size_t i = 0; (device = berth_registry_at(server->registry, i)); i++)
		berth_probe_load(server->probe, device->uuid, holder, NULL);
}

void berth_server_load(void *arg, uint64_t job, uint32_t attempt, bool is_begin)
{
	struct berth_server *server = arg;
	char holder[40];

	if (!server->config.devices.is_simulated)
		return;
	(void)snprintf(holder, sizeof(holder), "%" PRIu64 ".%u", job, attempt);
	if (is_begin)
		begin_load(server, job, holder);
	else
		end_load(server, holder);
}

/* --- the loop ---------------------------------------------------------------------------------- */

static int on_probe(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	berth_probe_dispatch(((struct berth_server *)arg)->probe);
	return 0;
}

static int on_probe_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	berth_probe_dispatch(((struct berth_server *)arg)->probe);
	return 0;
}

/* The probe's socket changes when a new one is started. */
static int watch_socket(struct berth_server *server)
{
	int fd = berth_probe_fd(server->probe);

	if (server->probe_io && fd >= 0 && sd_event_source_get_io_fd(server->probe_io) == fd)
		return 0;
	server->probe_io = sd_event_source_disable_unref(server->probe_io);
	return fd < 0 ? 0 : sd_event_add_io(server->event, &server->probe_io, fd, EPOLLIN, on_probe, server);
}

static int arm_probe(sd_event_source *source, void *arg)
{
	struct berth_server *server = arg;
	uint64_t wake_ms = berth_probe_wake_ms(server->probe);
	int r = watch_socket(server);

	if (r < 0)
		return r;
	r = sd_event_source_set_time(server->probe_timer,
	                             wake_ms > UINT64_MAX / 1000 ? UINT64_MAX - 1 : wake_ms * 1000);
	return r < 0 ? r : sd_event_source_set_enabled(server->probe_timer, SD_EVENT_ONESHOT);
}

int berth_server_open_probe(struct berth_server *server, struct berth_error *err)
{
	const struct berth_probe_host host = {server, host_scanned, host_sampled, host_stale, host_injected};
	struct berth_probe_options options = {
		.driver = server->config.devices.driver,
		.arg = server->config.devices.arg,
		.identity = server->identity,
	};
	char path[BERTH_PATH_MAX];
	int r = berth_program_find(&server->dirs, "berth-probe", "probe", path, sizeof(path), err);

	if (r < 0)
		return r;
	options.probe_path = path;
	r = berth_probe_open(&options, &host, &server->probe, err);
	if (r < 0)
		return r;
	r = sd_event_add_time(server->event, &server->probe_timer, CLOCK_BOOTTIME, 0, 1000, on_probe_timer, server);
	if (r < 0)
		return berth_error_errno(err, r, "watching the probe");
	r = sd_event_source_set_prepare(server->tick, arm_probe);
	return r < 0 ? berth_error_errno(err, r, "watching the probe") : 0;
}
