#ifndef BERTH_API_API_H
#define BERTH_API_API_H
/* HTTP, JSON, events: what people and programs outside see. libmicrohttpd runs on the daemon's event loop through its
 * epoll fd; no handler ever waits: an answer that needs a commit is suspended and resumed. A slow, vanished or hostile
 * client costs a bounded buffer and nobody's time. The contract is docs/api.md.
 */
#include <systemd/sd-event.h>
#include "base/error.h"
#include "device/device.h"
#include "store/ledger.h"
#include "telemetry/telemetry.h"

struct berth_engine;
struct berth_api;

/* One line of doctor. */
struct berth_check {
	const char *name; /* "disk", "cgroup", "clock" … */
	enum { BERTH_CHECK_OK, BERTH_CHECK_WARN, BERTH_CHECK_FAIL } result;
	char text[256]; /* what was found */
	char fix[256];  /* what to do, "" = nothing */
};

/* What the daemon lends the API. The struct is copied; what it points to is borrowed until the API is closed, and
 * ledger, engine and telemetry must outlive it. Functions are called on the loop and must not wait. */
struct berth_api_host {
	void *arg;
	struct berth_ledger *ledger;
	struct berth_engine *engine;
	struct berth_telemetry *telemetry;
	const char *node_name;
	const char *devices_spec; /* as --devices resolved: "sim:8xA100-80GB" */
	bool is_simulated;
	uid_t uid; /* whose daemon it is */
	/* defaults of requests that say nothing; max_limit_ms 0 or UINT64_MAX = any limit may be asked for */
	uint64_t default_limit_ms, default_grace_ms, max_limit_ms;
	uint32_t default_gpus, default_requeue;
	uint64_t (*now_ms)(void *arg); /* core clock */
	size_t (*links)(void *arg, const char *uuid, struct berth_link *ret, const char **ret_peer,
	                size_t cap); /* of one device, with the peer's UUID */
	/* Simulated devices: 0 and done is called once, at once or later; or -errno with err, and done is not called.
	 */
	int (*inject)(void *arg, const char *uuid, const char *what,
	              void (*done)(void *done_arg, int result, const struct berth_error *err), void *done_arg,
	              struct berth_error *err);
	/* At most cap lines; returns how many were written. */
	size_t (*doctor)(void *arg, struct berth_check *ret, size_t cap);
	char *(*config_json)(void *arg); /* allocated; schema berth.config/1 */
	/* All but http_requests and sse_clients, which the API counts itself. */
	void (*counters)(void *arg, struct berth_telemetry_counters *ret);
	/* The last scheduler cycle and sample are recent? false fills why, for /healthz. */
	bool (*is_healthy)(void *arg, struct berth_text *why);
};

struct berth_api_options {
	const char *socket_path; /* unix socket, made 0600 in a private directory */
	const char *listen_addr; /* "127.0.0.1", "::1"; NULL = no TCP. Other than loopback is refused */
	uint16_t listen_port;    /* when taken: a free one is used if may_move */
	bool may_move;
};

/* Listens when it returns 0. Call after the ledger was loaded: what changed before is not told to streams.
 * -EADDRINUSE another daemon answers on the socket, or the port is taken; -EPERM a directory that is open to others, or
 * an address that is not loopback; err says what would help. */
BERTH_MUST_USE int berth_api_open(sd_event *event, const struct berth_api_options *options,
                                  const struct berth_api_host *host, struct berth_api **ret, struct berth_error *err);
/* Ends event streams and requests that still wait, without an answer: what was posted for them still becomes durable,
 * and a client that sends its key again finds it. Call before engine and ledger are closed; their callbacks may come
 * later all the same. NULL allowed. */
void berth_api_close(struct berth_api *api);
uint16_t berth_api_port(const struct berth_api *api); /* 0 = no TCP */
/* Other defaults of requests from now on (the configuration was read again): all of host is copied anew. */
void berth_api_set_host(struct berth_api *api, const struct berth_api_host *host);
/* A fresh one-time sign-in link; allocated. NULL when there is no TCP or memory. */
char *berth_api_login_link(struct berth_api *api);

/* For event streams: call for every fact seen (after its fold), every progress, every sample. Cheap: streams read the
 * core when they get that far. */
void berth_api_seen(struct berth_api *api, const struct berth_fact *fact, int result);
void berth_api_progress(struct berth_api *api, uint64_t job, const char *text);
void berth_api_sample(struct berth_api *api, const char *uuid, const struct berth_sample *sample);

/* The job as `berth show` has it, one JSON object marked "history": true, for its history row. Allocated; NULL when
 * memory is out. */
char *berth_api_job_json(struct berth_api *api, const struct berth_job *job);

/* English for a reason ("needs 4 GPUs, 1 is free"): written into buf. Shared by why, the queue's text and the log of
 * the daemon. */
void berth_reason_text(const struct berth_reason *reason, char *buf, size_t cap);
#endif
