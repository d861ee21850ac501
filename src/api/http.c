#include "api/http.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "api/listen.h"
#include "api/peer.h"
#include "base/clock.h"

#define IDLE_S 30u /* without a byte in either direction */
#define HEADERS_MS 30000u
#define BODY_MS 60000u
#define ANSWER_MS 120000u
#define SWEEP_US 5000000u
/* Behind the journal and the engine: people wait, jobs do not. */
#define PRIORITY (SD_EVENT_PRIORITY_NORMAL + 10)

enum phase { PHASE_HEADERS, PHASE_BODY, PHASE_WORK, PHASE_ANSWER, PHASE_STREAM };

struct berth_connection {
	struct berth_http *http;
	int fd;         /* libmicrohttpd's */
	uid_t uid;      /* unix */
	uid_t peer_uid; /* TCP */
	bool is_tcp;
	enum phase phase;
	uint64_t since_ms; /* boot clock: the phase began */
	struct berth_connection *prev, *next;
};

struct berth_ticket {
	struct berth_exchange *request;
};

struct server { /* one kind of socket */
	struct berth_http *http;
	struct MHD_Daemon *mhd;
	sd_event_source *io, *timer;
	bool is_tcp;
	bool has_room; /* a connection was closed: see on_ready */
};

struct berth_http {
	sd_event *event;
	struct berth_http_host host;
	struct server server[2]; /* unix, TCP */
	sd_event_source *sweeper;
	struct berth_connection *connections;
	struct berth_exchange *requests;
	char *socket_path;
	dev_t socket_dev;
	ino_t socket_ino;
	uint16_t port;
	uint64_t n_requests;
	size_t answer_bytes;
	bool is_peer_told;
	bool is_closing;
};

static void set_phase(struct berth_connection *connection, enum phase phase)
{
	connection->phase = phase;
	connection->since_ms = berth_clock_boot_ms();
}

/* --- the loop -------------------------------------------------------------------------------- */

static void arm(struct server *server)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;
	uint64_t now_us;

	if (MHD_get_timeout(server->mhd, &wait_ms) != MHD_YES) {
		(void)sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
		return;
	}
	(void)sd_event_now(server->http->event, CLOCK_MONOTONIC, &now_us);
	(void)sd_event_source_set_time(server->timer, now_us + wait_ms * 1000u);
	(void)sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

/* Run again in the next turn of the loop. */
static void wake(struct server *server)
{
	(void)sd_event_source_set_time(server->timer, 0);
	(void)sd_event_source_set_enabled(server->timer, SD_EVENT_ONESHOT);
}

static int on_ready(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct server *server = arg;

	server->has_room = false;
	(void)MHD_run(server->mhd);
	arm(server);
	/* Out of descriptors or of places it looks away from its listening socket, and back only at the turn after the
	 * one that closed a connection; nothing else might ever call for that. */
	if (server->has_room)
		wake(server);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t now_us, void *arg)
{
	return on_ready(source, -1, 0, arg);
}

static bool is_overdue(const struct berth_connection *connection, uint64_t now_ms)
{
	static const uint64_t allowed_ms[] = {[PHASE_HEADERS] = HEADERS_MS,
	                                      [PHASE_BODY] = BODY_MS,
	                                      [PHASE_WORK] = UINT64_MAX,
	                                      [PHASE_ANSWER] = ANSWER_MS,
	                                      [PHASE_STREAM] = UINT64_MAX};

	return now_ms - connection->since_ms > allowed_ms[connection->phase];
}

/* A byte a second keeps a connection from being idle, so idleness alone does not bound it. */
static int on_sweep(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct berth_http *http = arg;
	const uint64_t now_ms = berth_clock_boot_ms();

	for (struct berth_connection *c = http->connections; c; c = c->next)
		if (is_overdue(c, now_ms))
			(void)shutdown(c->fd, SHUT_RDWR);
	(void)sd_event_source_set_time(source, now_us + SWEEP_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

/* --- connections and requests ---------------------------------------------------------------- */

static void open_connection(struct server *server, struct MHD_Connection *mhd, void **ret)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct berth_connection *connection = calloc(1, sizeof(*connection));
	struct ucred cred;
	socklen_t len = sizeof(cred);

	*ret = connection;
	if (!connection || !info)
		return;
	connection->http = server->http;
	connection->fd = info->connect_fd;
	connection->is_tcp = server->is_tcp;
	connection->uid = (uid_t)-1;
	connection->peer_uid = (uid_t)-1;
	if (!server->is_tcp && getsockopt(connection->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0)
		connection->uid = cred.uid;
	if (server->is_tcp && server->http->is_peer_told && berth_peer_uid(connection->fd, &connection->peer_uid) < 0)
		connection->peer_uid = (uid_t)-1;
	set_phase(connection, PHASE_HEADERS);
	connection->next = server->http->connections;
	if (connection->next)
		connection->next->prev = connection;
	server->http->connections = connection;
}

static void close_connection(struct berth_connection *connection)
{
	if (!connection || !connection->http) {
		free(connection);
		return;
	}
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		connection->http->connections = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
	free(connection);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
	struct server *server = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		open_connection(server, mhd, context);
	} else {
		close_connection(*context);
		server->has_room = true;
	}
}

static struct berth_connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct berth_connection *connection = info ? info->socket_context : NULL;

	return connection && connection->http ? connection : NULL;
}

/* The request line arrived, still encoded. */
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *mhd)
{
	struct server *server = arg;
	struct berth_connection *connection = connection_of(mhd);
	struct berth_exchange *request = connection ? calloc(1, sizeof(*request)) : NULL;

	if (!request)
		return NULL;
	*request = (struct berth_exchange){.http = server->http,
	                                   .mhd = mhd,
	                                   .connection = connection,
	                                   .is_tcp = server->is_tcp,
	                                   .uid = connection->uid,
	                                   .peer_uid = connection->peer_uid,
	                                   .is_peer_told = server->http->is_peer_told,
	                                   .is_bad_path = strstr(uri, "%00") != NULL,
	                                   .next = server->http->requests};
	if (request->next)
		request->next->prev = request;
	server->http->requests = request;
	server->http->n_requests++;
	return request;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode code)
{
	struct berth_exchange *request = *context;

	if (!request)
		return;
	if (request->prev)
		request->prev->next = request->next;
	else
		request->http->requests = request->next;
	if (request->next)
		request->next->prev = request->prev;
	if (request->ticket)
		request->ticket->request = NULL;
	if (request->response)
		MHD_destroy_response(request->response);
	request->http->answer_bytes -= request->answer_bytes;
	set_phase(request->connection, PHASE_HEADERS);
	berth_text_fini(&request->body);
	free(request->path);
	free(request->arg);
	free(request);
	*context = NULL;
}

static enum berth_method method_of(const char *name)
{
	if (strcmp(name, MHD_HTTP_METHOD_GET) == 0 || strcmp(name, MHD_HTTP_METHOD_HEAD) == 0)
		return BERTH_METHOD_GET;
	if (strcmp(name, MHD_HTTP_METHOD_POST) == 0)
		return BERTH_METHOD_POST;
	return strcmp(name, MHD_HTTP_METHOD_PATCH) == 0 ? BERTH_METHOD_PATCH : BERTH_METHOD_OTHER;
}

static enum MHD_Result queue_answer(struct berth_exchange *request)
{
	if (!request->response)
		return MHD_NO;
	set_phase(request->connection, request->is_stream ? PHASE_STREAM : PHASE_ANSWER);
	return MHD_queue_response(request->mhd, request->status, request->response);
}

static enum MHD_Result begin(struct berth_exchange *request, const char *url, const char *method)
{
	request->is_begun = true;
	request->method = method_of(method);
	request->path = strdup(url);
	if (!request->path)
		return MHD_NO;
	set_phase(request->connection, PHASE_BODY);
	request->http->host.begin(request->http->host.arg, request);
	return request->is_answered ? queue_answer(request) : MHD_YES;
}

/* A body of unknown length can only be cut off: there is no answer in its middle. */
static enum MHD_Result take_body(struct berth_exchange *request, const char *data, size_t *n)
{
	if (*n > BERTH_HTTP_BODY_MAX - request->body.len)
		return MHD_NO;
	berth_text_add_n(&request->body, data, *n);
	*n = 0;
	return request->body.is_failed ? MHD_NO : MHD_YES;
}

/* Called for the headers, for each piece of the body, at its end, and when a suspended connection is resumed. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd, const char *url, const char *method,
                                  const char *version, const char *data, size_t *n_data, void **context)
{
	struct berth_exchange *request = *context;

	if (!request || request->http->is_closing)
		return MHD_NO;
	if (!request->is_begun)
		return begin(request, url, method);
	if (*n_data > 0)
		return take_body(request, data, n_data);
	if (!request->is_handled) {
		request->is_handled = true;
		set_phase(request->connection, PHASE_WORK);
		request->http->host.handle(request->http->host.arg, request);
	}
	if (request->is_answered)
		return queue_answer(request);
	if (!request->ticket)
		return MHD_NO;
	berth_exchange_pause(request);
	return MHD_YES;
}

/* --- for handlers ---------------------------------------------------------------------------- */

void berth_exchange_pause(struct berth_exchange *request)
{
	if (request->is_suspended)
		return;
	request->is_suspended = true;
	MHD_suspend_connection(request->mhd);
}

void berth_exchange_resume(struct berth_exchange *request)
{
	if (!request->is_suspended)
		return;
	request->is_suspended = false;
	MHD_resume_connection(request->mhd);
	wake(&request->http->server[request->is_tcp]);
}

void berth_exchange_answer(struct berth_exchange *request, unsigned status, struct MHD_Response *response, size_t bytes)
{
	request->is_answered = true;
	request->status = status;
	request->response = response;
	request->answer_bytes = bytes;
	request->http->answer_bytes += bytes;
	berth_exchange_resume(request);
}

void berth_exchange_set_stream(struct berth_exchange *request)
{
	request->is_stream = true;
}

bool berth_http_has_room(const struct berth_http *http, size_t bytes)
{
	return bytes <= BERTH_HTTP_ANSWER_BYTES_MAX && http->answer_bytes <= BERTH_HTTP_ANSWER_BYTES_MAX - bytes;
}

struct berth_ticket *berth_exchange_wait(struct berth_exchange *request)
{
	struct berth_ticket *ticket = calloc(1, sizeof(*ticket));

	if (ticket) {
		ticket->request = request;
		request->ticket = ticket;
	}
	return ticket;
}

struct berth_exchange *berth_ticket_redeem(struct berth_ticket *ticket)
{
	struct berth_exchange *request = ticket->request;

	if (request)
		request->ticket = NULL;
	free(ticket);
	return request;
}

const char *berth_exchange_header(const struct berth_exchange *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_HEADER_KIND, name);
}

const char *berth_exchange_query(const struct berth_exchange *request, const char *name)
{
	return MHD_lookup_connection_value(request->mhd, MHD_GET_ARGUMENT_KIND, name);
}

/* --- opening --------------------------------------------------------------------------------- */

/* Half of the descriptors at most are for clients. */
static unsigned connection_limit(unsigned wanted)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur / 2 >= BERTH_HTTP_UNIX_CONNECTIONS + BERTH_HTTP_TCP_CONNECTIONS)
		return wanted;
	return (unsigned)(limit.rlim_cur / 2 * wanted / (BERTH_HTTP_UNIX_CONNECTIONS + BERTH_HTTP_TCP_CONNECTIONS)) + 1;
}

static int watch(struct server *server, int epoll_fd)
{
	sd_event *event = server->http->event;
	int r = sd_event_add_io(event, &server->io, epoll_fd, EPOLLIN, on_ready, server);

	if (r >= 0)
		r = sd_event_source_set_priority(server->io, PRIORITY);
	if (r >= 0)
		r = sd_event_add_time(event, &server->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, server);
	if (r >= 0)
		r = sd_event_source_set_priority(server->timer, PRIORITY);
	return r < 0 ? r : 0;
}

/* Takes fd, also on failure. */
static int start_server(struct berth_http *http, bool is_tcp, int fd, struct berth_error *err)
{
	struct server *server = &http->server[is_tcp];
	const union MHD_DaemonInfo *info;

	server->http = http;
	server->is_tcp = is_tcp;
	server->mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET,
		fd, MHD_OPTION_URI_LOG_CALLBACK, on_uri, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, server, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S,
		MHD_OPTION_CONNECTION_LIMIT,
		connection_limit(is_tcp ? BERTH_HTTP_TCP_CONNECTIONS : BERTH_HTTP_UNIX_CONNECTIONS),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)(is_tcp ? 32u << 10 : 64u << 10),
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->mhd) {
		(void)close(fd);
		return berth_error_set(err, -ENOMEM, "start the HTTP server: out of memory or file descriptors");
	}
	info = MHD_get_daemon_info(server->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || watch(server, info->epoll_fd) < 0)
		return berth_error_set(err, -ENOMEM, "start the HTTP server: its descriptor cannot be watched");
	return 0;
}

static int open_unix(struct berth_http *http, const char *path, struct berth_error *err)
{
	struct stat st;
	int fd = berth_listen_unix(path, err);

	if (fd < 0)
		return fd;
	http->socket_path = strdup(path);
	if (http->socket_path && stat(path, &st) == 0) {
		http->socket_dev = st.st_dev;
		http->socket_ino = st.st_ino;
	}
	return start_server(http, false, fd, err);
}

static int open_all(struct berth_http *http, const struct berth_http_options *options, struct berth_error *err)
{
	uint64_t now_us = 0;
	int r = open_unix(http, options->socket_path, err);

	http->is_peer_told = options->listen_addr && berth_peer_is_told();
	if (r == 0 && options->listen_addr) {
		r = berth_listen_loopback(options->listen_addr, options->listen_port, options->may_move, &http->port,
		                          err);
		if (r >= 0)
			r = start_server(http, true, r, err);
	}
	if (r < 0)
		return r;
	(void)sd_event_now(http->event, CLOCK_MONOTONIC, &now_us);
	r = sd_event_add_time(http->event, &http->sweeper, CLOCK_MONOTONIC, now_us + SWEEP_US, 0, on_sweep, http);
	return r < 0 ? berth_error_errno(err, r, "start the HTTP server") : 0;
}

int berth_http_open(sd_event *event, const struct berth_http_options *options, const struct berth_http_host *host,
                    struct berth_http **ret, struct berth_error *err)
{
	struct berth_http *http = calloc(1, sizeof(*http));
	int r;

	if (!http)
		return berth_error_errno(err, -ENOMEM, "start the HTTP server");
	http->event = sd_event_ref(event);
	http->host = *host;
	r = open_all(http, options, err);
	if (r < 0) {
		berth_http_close(http);
		return r;
	}
	*ret = http;
	return 0;
}

static void stop_server(struct server *server)
{
	(void)sd_event_source_disable_unref(server->io);
	(void)sd_event_source_disable_unref(server->timer);
	if (server->mhd)
		MHD_stop_daemon(server->mhd); /* closes its sockets, completes its requests */
}

void berth_http_close(struct berth_http *http)
{
	struct stat st;

	if (!http)
		return;
	http->is_closing = true;
	for (struct berth_exchange *r = http->requests; r; r = r->next)
		berth_exchange_resume(r); /* libmicrohttpd does not stop over suspended connections */
	/* Only our own socket: another daemon may have taken the path over. */
	if (http->socket_path && stat(http->socket_path, &st) == 0 && st.st_dev == http->socket_dev &&
	    st.st_ino == http->socket_ino)
		(void)unlink(http->socket_path);
	stop_server(&http->server[0]);
	stop_server(&http->server[1]);
	(void)sd_event_source_disable_unref(http->sweeper);
	(void)sd_event_unref(http->event);
	free(http->socket_path);
	free(http);
}

uint16_t berth_http_port(const struct berth_http *http)
{
	return http->port;
}

uint64_t berth_http_requests(const struct berth_http *http)
{
	return http->n_requests;
}
