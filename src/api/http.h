#ifndef BERTH_API_HTTP_H
#define BERTH_API_HTTP_H
/* The transport: HTTP/1.1 on the daemon's event loop, on a unix socket and on TCP loopback. Knows nothing of jobs.
 *
 * Two servers of libmicrohttpd, one per kind of socket, each with its own share of connections, so that nobody who can
 * reach the TCP port can keep people off the unix socket. No thread, no waiting: a handler that cannot answer at once
 * takes a ticket, the connection is suspended, and the answer resumes it.
 *
 * A client can cost at most: 32 KiB of headers (64 on the unix socket), a body up to BERTH_HTTP_BODY_MAX and only after
 * begin() let it in, and time: 30 s to send its headers, 60 s for its body, 120 s to take an answer, 30 s without
 * taking a byte of a stream. After that the connection is shut.
 */
#include <microhttpd.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>
#include "base/error.h"
#include "base/text.h"

#define BERTH_HTTP_BODY_MAX (16u << 20)
#define BERTH_HTTP_UNIX_CONNECTIONS 600u
#define BERTH_HTTP_TCP_CONNECTIONS 400u
/* Answers made and not yet taken, all together: beyond, new ones are refused with 503. */
#define BERTH_HTTP_ANSWER_BYTES_MAX (256u << 20)

struct berth_http;
struct berth_connection;
struct berth_ticket;

enum berth_method {
	BERTH_METHOD_OTHER = 0,
	BERTH_METHOD_GET,
	BERTH_METHOD_POST,
	BERTH_METHOD_PATCH,
	BERTH_METHOD_COUNT
};

/* One request, from its first line until its answer was taken or the client is gone. Owned by the transport. */
struct berth_exchange {
	struct berth_http *http;
	struct MHD_Connection *mhd; /* for header and query lookups */
	struct berth_connection *connection;
	enum berth_method method; /* HEAD counts as GET */
	char *path;               /* decoded, without the query; owned */
	bool is_bad_path;         /* holds %00: never let in */
	bool is_tcp;
	uid_t uid;      /* who asks. Unix: from the kernel, at accept. TCP: set by whoever checks the session; (uid_t)-1
	                   until then */
	uid_t peer_uid; /* whose program holds the other end of a TCP connection, at accept; (uid_t)-1 = nobody's */
	bool is_peer_told;             /* false: this kernel does not say, peer_uid means nothing */
	struct berth_text body;        /* complete when handle() is called; owned */
	const void *route;             /* for the host's use */
	char *arg;                     /* the variable part of the path; owned; NULL = none */
	struct MHD_Response *response; /* owned */
	unsigned status;
	size_t answer_bytes;
	bool is_begun, is_handled, is_answered, is_suspended, is_stream;
	struct berth_ticket *ticket; /* owned by whoever will answer */
	struct berth_exchange *prev, *next;
};

struct berth_http_host {
	void *arg;
	/* Headers are here, the body is not. Answer to refuse; without an answer the body is read. */
	void (*begin)(void *arg, struct berth_exchange *request);
	/* All is here: answer, or take a ticket. */
	void (*handle)(void *arg, struct berth_exchange *request);
};

struct berth_http_options {
	const char *socket_path; /* made 0600 in a private directory; a dead daemon's socket there is replaced */
	const char *listen_addr; /* NULL = no TCP; only loopback */
	uint16_t listen_port;    /* 0 = any free one */
	bool may_move;           /* to a free port when that one is taken */
};

/* host is copied. err says what could not be opened and what would help. -EADDRINUSE: another daemon answers there. */
BERTH_MUST_USE int berth_http_open(sd_event *event, const struct berth_http_options *options,
                                   const struct berth_http_host *host, struct berth_http **ret,
                                   struct berth_error *err);
/* Requests that still wait are ended without an answer, their tickets become void; streams end. NULL allowed. */
void berth_http_close(struct berth_http *http);
uint16_t berth_http_port(const struct berth_http *http);     /* 0 = no TCP */
uint64_t berth_http_requests(const struct berth_http *http); /* since the start */

/* Give the answer, once per request. response's reference is taken; NULL = memory is out, the connection is closed.
 * bytes: memory that the answer holds. */
void berth_exchange_answer(struct berth_exchange *request, unsigned status, struct MHD_Response *response,
                           size_t bytes);
/* Is there room for an answer of so many bytes? */
bool berth_http_has_room(const struct berth_http *http, size_t bytes);
/* A ticket for a later answer; NULL when memory is out. Redeem it exactly once: the request, or NULL when it is gone.
 */
struct berth_ticket *berth_exchange_wait(struct berth_exchange *request);
struct berth_exchange *berth_ticket_redeem(struct berth_ticket *ticket);

/* Header and query values; NULL when absent. Borrowed from the connection until the answer. */
const char *berth_exchange_header(const struct berth_exchange *request, const char *name);
const char *berth_exchange_query(const struct berth_exchange *request, const char *name);

/* A stream's reader said "nothing now": suspend and resume its connection. */
void berth_exchange_pause(struct berth_exchange *request);
void berth_exchange_resume(struct berth_exchange *request);
/* The answer is a stream: no deadline for taking it all. */
void berth_exchange_set_stream(struct berth_exchange *request);
#endif
