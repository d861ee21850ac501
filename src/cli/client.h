#ifndef BERTH_CLI_CLIENT_H
#define BERTH_CLI_CLIENT_H
/* Questions to the daemon, one connection each, and its stream of events.
 *
 * A daemon that goes away after it has answered once in this run is waited for, BERTH_PATIENCE_MS long: it is being
 * restarted. One that never answered is not: it does not run.
 */
#include <jansson.h>
#include "cli/cli.h"
#include "cli/http.h"

#define BERTH_PATIENCE_MS 60000u
#define BERTH_RETRY_MS 200u

struct berth_call {
	const char *method; /* "GET", "POST", "PATCH" */
	const char *target; /* path and query */
	const json_t *body; /* borrowed; NULL = none */
	const char *key;    /* Idempotency-Key; NULL = none */
	bool is_raw;        /* the answer is wanted as bytes, not as JSON */
	bool is_once;       /* twice is not the same as once: a lost answer is not asked for again */
};

struct berth_reply {
	int status;
	json_t *json;           /* owned: the answer's object; NULL when it is none, or is_raw */
	struct berth_text body; /* owned: its bytes */
	int64_t log_size_bytes; /* -1 = not told */
};
void berth_reply_fini(struct berth_reply *reply);
#define BERTH_AUTO_REPLY __attribute__((cleanup(berth_reply_fini)))
#define BERTH_AUTO_JSON __attribute__((cleanup(berth_json_cleanup)))
void berth_json_cleanup(json_t **json);

/* Ask once. 0 with any status; -ENOENT, -ECONNREFUSED, -EPERM … nobody answers there (err names all places that were
 * tried); -ECONNRESET, -EPIPE the answer was lost; -ETIMEDOUT; -EPROTO. ret is written on success only. */
BERTH_MUST_USE int berth_call_try(struct berth_cli *cli, const struct berth_call *call, struct berth_reply *ret,
                                  struct berth_error *err);
/* Ask, wait for a daemon that is being restarted, and complain about what goes wrong, errors in the answer included.
 * BERTH_EXIT_OK with ret, else the exit code. */
BERTH_MUST_USE int berth_call(struct berth_cli *cli, const struct berth_call *call, struct berth_reply *ret);
/* berth_call for the common case: *ret is the answer's object, owned by the caller. body may be NULL. */
BERTH_MUST_USE int berth_ask(struct berth_cli *cli, const char *method, const char *target, const json_t *body,
                             json_t **ret);
/* Complain about a result of berth_call_try. Returns the exit code. */
int berth_complain_unreachable(const struct berth_cli *cli, const struct berth_error *err);
/* Is this negative errno what a restart of the daemon looks like? */
bool berth_is_daemon_gone(int r);

/* A path with an argument that has to be quoted: "/api/v1/gpus/" "GPU-1" "/drain". In cli's arena; NULL on -ENOMEM. */
const char *berth_target(struct berth_cli *cli, const char *before, const char *quoted, const char *after);
/* s added to text with all but letters, digits and -._~ written as %XX. */
void berth_url_add(struct berth_text *text, const char *s);

/* An open GET /api/v1/events. fd -1 = closed. */
struct berth_events {
	int fd; /* owned; readable when something came */
	struct berth_http http;
};
BERTH_MUST_USE int berth_events_open(struct berth_cli *cli, struct berth_events *ret, struct berth_error *err);
/* Take what has come, without waiting; whole events are then in http.body for berth_sse_take. 0, or as berth_call_try.
 */
BERTH_MUST_USE int berth_events_pump(struct berth_events *events, struct berth_error *err);
/* Also of a closed one. */
void berth_events_close(struct berth_events *events);
#endif
