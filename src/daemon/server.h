#ifndef BERTH_DAEMON_SERVER_H
#define BERTH_DAEMON_SERVER_H
/* The daemon's wiring: which room is told what by which. Private to src/daemon; this is the one place where everything
 * meets.
 *
 * One thread, one sd-event loop. Sources: the ledger's commits and timer, the probe's socket and timer, a tick each
 * second, signals; the engine and the API hang their own into the same loop.
 *
 *   probe --scan, samples--> registry, telemetry --what is missing--> ledger --seen--> api, telemetry, engine, log
 *   api --what people ask--> ledger --carry_out--> engine --reports--> ledger
 */
#include <systemd/sd-event.h>
#include "api/api.h"
#include "daemon/config.h"
#include "daemon/core_clock.h"
#include "daemon/log.h"
#include "daemon/options.h"
#include "daemon/paths.h"
#include "daemon/registry.h"
#include "device/probe.h"
#include "engine/local/local.h"

#define BERTH_INJECTIONS_MAX 32
#define BERTH_NODE_NAME_MAX 65

/* An injection that the probe has not answered yet. */
struct berth_injection {
	uint64_t ticket;
	void (*done)(void *done_arg, int result, const struct berth_error *err); /* NULL = this entry is free */
	void *done_arg;
};

struct berth_demo;

struct berth_server {
	const struct berth_options *options; /* borrowed from main */
	struct berth_config config;
	struct berth_paths paths;
	struct berth_program_dirs dirs;
	struct berth_log log;
	struct berth_core_clock clock;
	char node_name[BERTH_NODE_NAME_MAX];
	char *identity; /* seed of simulated UUIDs; owned */

	sd_event *event;
	sd_event_source *ledger_io, *ledger_timer, *probe_io, *probe_timer, *tick;
	struct berth_ledger *ledger;
	struct berth_telemetry *telemetry;
	struct berth_registry *registry;
	struct berth_probe *probe;
	struct berth_engine *engine;
	struct berth_api *api; /* NULL until the cards are known */
	struct berth_api_host api_host;
	struct berth_demo *demo; /* NULL unless --demo */

	uint64_t started_boot_ms, tick_boot_ms; /* CLOCK_BOOTTIME */
	uint64_t cycle_ms;                      /* core clock: the last time the ledger was let work */
	uint64_t sample_wall_ms;                /* the last good sample; 0 = none */
	uint64_t facts, decisions;
	bool is_reconciling; /* facts about the machine are on their way into the journal */
	bool is_closing;     /* nothing new is posted any more */
	bool is_settled;     /* the core knew all that was scanned, once */
	struct berth_injection injections[BERTH_INJECTIONS_MAX];
};

/* --- server.c: life ---------------------------------------------------------------------------- */

/* Serve until asked to stop. options borrowed; config and paths worked out by main. Returns main's exit code. */
int berth_server_run(const struct berth_options *options, const struct berth_config *config,
                     const struct berth_paths *paths);

/* --- ledger.c: the ledger's host --------------------------------------------------------------- */

/* The core clock. server: a struct berth_server, as every host function here. */
uint64_t berth_server_now_ms(void *server);
/* Open the ledger, find identity and node name, hang it into the loop. */
BERTH_MUST_USE int berth_server_open_ledger(struct berth_server *server, struct berth_error *err);

/* --- devices.c: probe, registry, telemetry ----------------------------------------------------- */

BERTH_MUST_USE int berth_server_open_probe(struct berth_server *server, struct berth_error *err);
/* Post what the core does not know yet about policy, node and cards. Does nothing while an earlier post is on its way.
 */
void berth_server_reconcile(struct berth_server *server);
/* The engine's word that an attempt took or left its cards: simulated cards follow. */
void berth_server_load(void *server, uint64_t job, uint32_t attempt, bool is_begin);
/* The API's host: injections and links. */
int berth_server_inject(void *server, const char *uuid, const char *what,
                        void (*done)(void *done_arg, int result, const struct berth_error *err), void *done_arg,
                        struct berth_error *err);
size_t berth_server_links(void *server, const char *uuid, struct berth_link *ret, const char **ret_peer, size_t cap);
/* May this decision be carried out, as far as cards go? false: it gives a card that the configuration leaves out or
 * that another berth has. */
bool berth_server_may_assign(const struct berth_server *server, const struct berth_fact *assigned);

/* --- front.c: the API and its host ------------------------------------------------------------- */

BERTH_MUST_USE int berth_server_open_api(struct berth_server *server, struct berth_error *err);
/* Copy what the configuration says about requests to the API. */
void berth_server_lend_defaults(struct berth_server *server);

/* --- doctor.c ---------------------------------------------------------------------------------- */

size_t berth_server_doctor(void *server, struct berth_check *ret, size_t cap);

/* --- reload.c ---------------------------------------------------------------------------------- */

/* Defaults, then the file, with the command line above both. complaints: as berth_config_load, also for wrong values on
 * the command line
 * ("--listen: …"). 0, or -EINVAL with complaints. */
BERTH_MUST_USE int berth_server_read_config(const struct berth_options *options, const struct berth_paths *paths,
                                            struct berth_config *ret, struct berth_text *complaints);
/* Read the configuration again, as SIGHUP asks. */
void berth_server_reload(struct berth_server *server);
/* --- demo.c ------------------------------------------------------------------------------------ */

/* The demonstration, berthd --demo: what `make run` starts. When the API is open and no job waits or runs, the example
 * workload is submitted the way a user would do it: by examples/submit.sh, with the `berth` that lies beside this
 * program first in PATH. Then, on standard output: which cards there are, the one-time link to the page, what to type
 * next. When the daemon ends: that jobs run on, and how to end them.
 *
 * Begin: submits in a child process and welcomes when that ended. server must outlive the demo. NULL when memory is
 * out. */
struct berth_demo *berth_demo_begin(struct berth_server *server);
/* Say good-bye. NULL allowed. */
void berth_demo_end(struct berth_demo *demo);
#endif
