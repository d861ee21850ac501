#ifndef BERTH_API_SERVER_H
#define BERTH_API_SERVER_H
/* The room's wiring: what handlers may reach. Made and closed in api.c; private to src/api.
 *
 * Rules of the room. A handler runs on the loop and never waits: it answers at once, or takes a ticket and answers from
 * a callback. It asks core and store, changes nothing in them, and posts facts to the ledger; what it promised is said
 * only when the ledger says that it is durable. Who asks is request->uid, checked before the handler is called; what a
 * message says of a user is never read.
 */
#include "api/api.h"
#include "api/auth.h"
#include "api/events.h"
#include "api/http.h"
#include "api/outlook.h"
#include "api/reply.h"

/* A submission that was sent again while its first sending is being written; asked again every 20 ms. */
struct berth_retry {
	struct berth_ticket *ticket; /* owned */
	struct berth_retry *next;
};

struct berth_streams; /* api/stream.h */

struct berth_api {
	sd_event *event;            /* referenced */
	struct berth_api_host host; /* what it points to is the daemon's */
	struct berth_http *http;
	struct berth_auth *auth;
	struct berth_events *events;
	struct berth_streams *streams;
	struct berth_outlooks outlooks;
	struct berth_retry *retries;
	sd_event_source *retry_timer; /* on while there are retries */
	char *owner;                  /* name of host.uid, for people */
	char *listen_addr;            /* NULL = no TCP */
};

static inline struct berth_core *berth_api_core(const struct berth_api *api)
{
	return berth_ledger_core(api->host.ledger);
}

static inline uint64_t berth_api_now(const struct berth_api *api)
{
	return api->host.now_ms(api->host.arg);
}

/* The name that goes with who asks: "lin", or the number where there is none. Borrowed; buf is used for a number. */
const char *berth_api_user_name(const struct berth_api *api, uid_t uid, char buf[static 24]);

/* The handlers, by file. A handler answers the request or takes a ticket. */
typedef void berth_handler(struct berth_api *api, struct berth_exchange *request);
berth_handler berth_get_jobs, berth_get_job; /* jobs.c */
berth_handler berth_post_jobs;               /* submit.c */
berth_handler berth_post_cancel, berth_post_hold, berth_post_release, berth_post_requeue,
	berth_patch_job;                                            /* change.c */
berth_handler berth_get_why;                                        /* why.c */
berth_handler berth_get_log;                                        /* log.c */
berth_handler berth_get_gpus, berth_post_drain, berth_post_undrain; /* gpus.c */
berth_handler berth_post_sim;                                       /* sim.c */
berth_handler berth_get_history;                                    /* history.c */
berth_handler berth_get_events;                                     /* stream.c */
berth_handler berth_get_status, berth_get_doctor, berth_get_config, berth_get_metrics, berth_get_healthz; /* status.c */
berth_handler berth_post_login_links, berth_get_login;                                                    /* login.c */
berth_handler berth_get_page, berth_get_asset;                                                            /* page.c */
#endif
