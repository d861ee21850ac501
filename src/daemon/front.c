/* The API and what the daemon lends it. */
#include <inttypes.h>
#include "base/clock.h"
#include "daemon/server.h"

#define STALE_MS 10000u
#define START_GRACE_MS 15000u

static char *host_config_json(void *arg)
{
	return berth_config_json(&((const struct berth_server *)arg)->config);
}

static void host_counters(void *arg, struct berth_telemetry_counters *ret)
{
	struct berth_server *server = arg;

	ret->facts = server->facts;
	ret->decisions = server->decisions;
	berth_store_counts(berth_ledger_store(server->ledger), &ret->commits, &ret->fsyncs);
	ret->last_cycle_ms = server->cycle_ms;
	ret->last_sample_ms = server->sample_wall_ms;
	ret->is_disk_full = berth_ledger_is_full(server->ledger);
	ret->is_probe_stale = berth_probe_is_stale(server->probe);
	ret->is_exec_connected = berth_engine_is_connected(server->engine);
}

static bool host_is_healthy(void *arg, struct berth_text *why)
{
	const struct berth_server *server = arg;
	uint64_t now_ms = berth_clock_boot_ms(), answer_ms = berth_probe_last_ms(server->probe);

	if (now_ms - server->tick_boot_ms > STALE_MS) {
		berth_text_addf(why, "the scheduler loop stood still for %" PRIu64 " s",
		                (now_ms - server->tick_boot_ms) / 1000);
		return false;
	}
	if (now_ms - server->started_boot_ms <= START_GRACE_MS || now_ms - answer_ms <= STALE_MS)
		return true;
	if (answer_ms)
		berth_text_addf(why, "the cards were last read %" PRIu64 " s ago: berth-probe does not answer",
		                (now_ms - answer_ms) / 1000);
	else
		berth_text_add(why, "the cards were never read: berth-probe does not answer");
	return false;
}

void berth_server_lend_defaults(struct berth_server *server)
{
	struct berth_api_host *host = &server->api_host;

	host->default_limit_ms = berth_config_limit_ms(&server->config);
	host->default_grace_ms = server->config.default_grace_ms;
	host->max_limit_ms = server->config.max_limit_ms;
	host->default_gpus = server->config.default_gpus;
	host->default_requeue = server->config.default_requeue;
	if (server->api)
		berth_api_set_host(server->api, host);
}

int berth_server_open_api(struct berth_server *server, struct berth_error *err)
{
	const struct berth_listen *listen = &server->config.listen;
	const struct berth_api_options options = {
		.socket_path = server->paths.socket,
		.listen_addr = listen->is_on ? listen->addr : NULL,
		.listen_port = listen->port,
		.may_move = server->config.origin[BERTH_KEY_LISTEN].kind == BERTH_ORIGIN_DEFAULT,
	};

	server->api_host = (struct berth_api_host){
		.arg = server,
		.ledger = server->ledger,
		.engine = server->engine,
		.telemetry = server->telemetry,
		.node_name = server->node_name,
		.devices_spec = server->config.devices.spec,
		.is_simulated = server->config.devices.is_simulated,
		.uid = geteuid(),
		.now_ms = berth_server_now_ms,
		.links = berth_server_links,
		.inject = berth_server_inject,
		.doctor = berth_server_doctor,
		.config_json = host_config_json,
		.counters = host_counters,
		.is_healthy = host_is_healthy,
	};
	berth_server_lend_defaults(server);
	return berth_api_open(server->event, &options, &server->api_host, &server->api, err);
}
