#include "daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include "base/clock.h"
#define TICK_US UINT64_C(1000000)
#define API_LATEST_MS 10000u /* without a scan the API opens all the same: people must be able to see and cancel */

/* --- signals ----------------------------------------------------------------------------------- */

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct berth_server *server = arg;

	berth_log(&server->log, BERTH_LOG_INFO, "asked to end (%s); jobs run on",
	          info->ssi_signo == SIGINT ? "Ctrl-C" : "SIGTERM");
	return sd_event_exit(server->event, 0);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	berth_server_reload(arg);
	return 0;
}

static int hang_signals(struct berth_server *server)
{
	int r = sd_event_add_signal(server->event, NULL, SIGTERM, on_stop, server);

	if (r < 0)
		return r;
	r = sd_event_add_signal(server->event, NULL, SIGINT, on_stop, server);
	return r < 0 ? r : sd_event_add_signal(server->event, NULL, SIGHUP, on_reload, server);
}

/* --- opening the API when the cards are known -------------------------------------------------- */

static bool is_time_for_api(const struct berth_server *server)
{
	if (server->api || berth_ledger_is_full(server->ledger))
		return !server->api; /* a full disk keeps the cards from being journalled; people must hear why */
	return server->is_settled || berth_core_device_count(berth_ledger_core(server->ledger)) > 0 ||
	       berth_clock_boot_ms() - server->started_boot_ms > API_LATEST_MS;
}

static void log_ready(const struct berth_server *server)
{
	uint16_t port = berth_api_port(server->api);
	const char *addr = server->config.listen.addr;
	char page[96] = "no page";

	if (port)
		(void)snprintf(page, sizeof(page),
		               strchr(addr, ':') ? "page at http://[%s]:%u/" : "page at http://%s:%u/", addr, port);
	berth_log(&server->log, BERTH_LOG_INFO, "ready: socket %s, %s, state in %s", server->paths.socket, page,
	          server->paths.state);
}

static int open_front(struct berth_server *server)
{
	struct berth_error err = {0};
	int r = berth_server_open_api(server, &err);

	if (r < 0) {
		berth_log(&server->log, BERTH_LOG_ERROR, "%s", err.text);
		return sd_event_exit(server->event, 1);
	}
	log_ready(server);
	(void)sd_notifyf(0, "READY=1\nSTATUS=%zu cards, socket %s",
	                 berth_core_device_count(berth_ledger_core(server->ledger)), server->paths.socket);
	if (server->options->is_demo) {
		server->demo = berth_demo_begin(server);
		if (!server->demo)
			berth_log(&server->log, BERTH_LOG_ERROR, "out of memory: no demonstration");
	}
	return 0;
}

static int on_settled(sd_event_source *source, void *arg)
{
	struct berth_server *server = arg;

	return is_time_for_api(server) ? open_front(server) : 0;
}

/* --- the tick ---------------------------------------------------------------------------------- */

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
	struct berth_server *server = arg;
	int r = sd_event_source_set_time_relative(source, TICK_US);

	server->tick_boot_ms = berth_clock_boot_ms();
	berth_server_reconcile(server);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int hang_tick(struct berth_server *server)
{
	int r = sd_event_add_time_relative(server->event, &server->tick, CLOCK_BOOTTIME, TICK_US, 100000, on_tick,
	                                   server);

	server->tick_boot_ms = server->started_boot_ms = berth_clock_boot_ms();
	return r < 0 ? r : sd_event_add_post(server->event, NULL, on_settled, server);
}

/* --- life -------------------------------------------------------------------------------------- */

/* Progress goes to those who watch. */
static void host_progress(void *arg, uint64_t job, const char *text)
{
	struct berth_server *server = arg;

	if (server->api)
		berth_api_progress(server->api, job, text);
}

static int open_engine(struct berth_server *server, struct berth_error *err)
{
	const struct berth_engine_host host = {server, host_progress, berth_server_load};
	char path[BERTH_PATH_MAX];
	const struct berth_engine_options options = {server->paths.state, path, server->paths.socket,
	                                             server->node_name};
	int r = berth_program_find(&server->dirs, "berth-exec", "exec", path, sizeof(path), err);

	return r < 0 ? r : berth_engine_open(server->event, server->ledger, &options, &host, &server->engine, err);
}

/* Many jobs mean many sockets to shims. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_loop(struct berth_server *server, struct berth_error *err)
{
	int r = sd_event_default(&server->event);

	if (r >= 0)
		r = hang_signals(server);
	if (r >= 0)
		r = hang_tick(server);
	if (r >= 0)
		r = sd_event_set_watchdog(server->event, true);
	return r < 0 ? berth_error_errno(err, r, "making the event loop") : 0;
}

static int open_all(struct berth_server *server, struct berth_error *err)
{
	int r = open_loop(server, err);

	if (r < 0)
		return r;
	server->telemetry = berth_telemetry_new();
	server->registry = berth_registry_new(&server->config.cards);
	if (!server->telemetry || !server->registry)
		return berth_error_errno(err, -ENOMEM, "starting");
	r = berth_server_open_ledger(server, err);
	if (r < 0)
		return r;
	berth_log(&server->log, BERTH_LOG_INFO, "berthd " BERTH_VERSION " on %s, pid %d", server->node_name, getpid());
	r = berth_server_open_probe(server, err);
	if (r < 0)
		return r;
	r = open_engine(server, err);
	if (r < 0)
		return r;
	berth_server_reconcile(server);
	return is_time_for_api(server) ? open_front(server) : 0;
}

/* In the order in which nothing is used after its end: what asks ends first, what others stand on last. */
static void close_all(struct berth_server *server)
{
	server->is_closing = true;
	(void)sd_notify(0, "STOPPING=1");
	berth_demo_end(server->demo);
	berth_api_close(server->api);
	server->api = NULL;
	server->ledger_io = sd_event_source_disable_unref(server->ledger_io);
	server->ledger_timer = sd_event_source_disable_unref(server->ledger_timer);
	server->probe_io = sd_event_source_disable_unref(server->probe_io);
	server->probe_timer = sd_event_source_disable_unref(server->probe_timer);
	server->tick = sd_event_source_disable_unref(server->tick);
	berth_engine_close(server->engine);
	server->engine = NULL;
	berth_ledger_close(server->ledger);
	berth_probe_close(server->probe);
	berth_registry_free(server->registry);
	berth_telemetry_free(server->telemetry);
	server->event = sd_event_unref(server->event);
	free(server->identity);
}

int berth_server_run(const struct berth_options *options, const struct berth_config *config,
                     const struct berth_paths *paths)
{
	struct berth_server server = {
		.options = options,
		.config = *config,
		.paths = *paths,
		.log = {.fd = STDERR_FILENO,
	                .level = config->log_level,
	                .is_journal = berth_log_is_journal(STDERR_FILENO, getenv("JOURNAL_STREAM"))},
	};
	struct berth_error err = {0};
	int r;

	raise_file_limit();
	berth_program_dirs_find(&server.dirs);
	r = open_all(&server, &err);
	if (r == 0)
		r = sd_event_loop(server.event);
	else
		berth_log(&server.log, BERTH_LOG_ERROR, "%s", err.text);
	if (r == -EBUSY)
		berth_log(&server.log, BERTH_LOG_INFO,
		          "`berth queue` and the other commands use the one that runs; `kill PID` ends it, and jobs "
		          "run on");
	close_all(&server);
	return r < 0 ? 1 : r;
}
