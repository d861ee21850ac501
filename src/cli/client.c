#include "cli/client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include "base/clock.h"
#include "cli/find.h"

#define ANSWER_SECONDS 60 /* longer than the daemon takes for anything */

void berth_json_cleanup(json_t **json)
{
	json_decref(*json);
}

void berth_reply_fini(struct berth_reply *reply)
{
	json_decref(reply->json);
	berth_text_fini(&reply->body);
}

bool berth_is_daemon_gone(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN;
}

/* Say where was looked, and why nothing was found there. */
static int explain(const struct berth_socket_list *list, const int *results, struct berth_error *err)
{
	BERTH_AUTO_TEXT struct berth_text places = {0};

	if (list->n == 1)
		return berth_error_errno(err, results[0], "the daemon does not answer on %s", list->path[0]);
	for (size_t i = 0; i < list->n; i++)
		if (results[i] != -ENOENT)
			return berth_error_errno(err, results[i], "the daemon does not answer on %s", list->path[i]);
	for (size_t i = 0; i < list->n; i++)
		berth_text_addf(&places, "%s%s", i > 0 ? ", " : "", list->path[i]);
	return berth_error_set(err, -ENOENT, "no daemon is running: there is no socket at %s",
	                       places.at ? places.at : "?");
}

/* A connection to the daemon, remembered for the next one. */
static int reach(struct berth_cli *cli, struct berth_error *err)
{
	int results[BERTH_SOCKET_CANDIDATES];
	struct berth_socket_list list;
	int r = berth_socket_list(cli->socket ? cli->socket : berth_given_value(&cli->given, "socket"), &cli->arena,
	                          &list);

	if (r < 0)
		return berth_error_errno(err, r, "cannot look for the daemon");
	for (size_t i = 0; i < list.n; i++) {
		results[i] = berth_socket_connect(list.path[i]);
		if (results[i] < 0)
			continue;
		cli->socket = list.path[i];
		return results[i];
	}
	return explain(&list, results, err);
}

/* All of it; a daemon that has enough may answer and close before it has read everything, so that is for the reader to
 * see. */
static int send_all(int fd, const char *data, size_t n, struct berth_error *err)
{
	while (n > 0) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
			return 0;
		if (sent < 0)
			return berth_error_errno(err, -errno, "cannot send to the daemon");
		data += sent;
		n -= (size_t)sent;
	}
	return 0;
}

static int send_request(int fd, const struct berth_call *call, struct berth_error *err)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_FREE char *body = NULL;

	if (call->body && !(body = json_dumps(call->body, JSON_COMPACT)))
		return berth_error_set(err, -ENOMEM, "out of memory");
	berth_text_addf(&text,
	                "%s %s HTTP/1.1\r\nHost: berth\r\nConnection: close\r\nUser-Agent: berth/" BERTH_VERSION "\r\n",
	                call->method, call->target);
	if (call->key)
		berth_text_addf(&text, "Idempotency-Key: %s\r\n", call->key);
	if (body)
		berth_text_addf(&text, "Content-Type: application/json\r\nContent-Length: %zu\r\n", strlen(body));
	else if (strcmp(call->method, "GET") != 0)
		berth_text_add(&text, "Content-Length: 0\r\n");
	berth_text_add(&text, "\r\n");
	if (body)
		berth_text_add(&text, body);
	if (text.is_failed)
		return berth_error_set(err, -ENOMEM, "out of memory");
	return send_all(fd, text.at, text.len, err);
}

static int receive(int fd, struct berth_http *http, struct berth_error *err)
{
	const struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	char buf[16384];

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while (http->stage != BERTH_HTTP_DONE) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return berth_error_set(err, -ETIMEDOUT,
			                       "the daemon takes connections but has not answered for %d s",
			                       ANSWER_SECONDS);
		if (n < 0)
			return berth_error_errno(err, -errno, "cannot read the daemon's answer");
		r = n == 0 ? berth_http_end(http, err) : berth_http_feed(http, buf, (size_t)n, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int berth_call_try(struct berth_cli *cli, const struct berth_call *call, struct berth_reply *ret,
                   struct berth_error *err)
{
	BERTH_AUTO_HTTP struct berth_http http = {0};
	BERTH_AUTO_CLOSE int fd = reach(cli, err);
	json_t *json = NULL;
	int r;

	if (fd < 0)
		return fd;
	r = send_request(fd, call, err);
	if (r == 0)
		r = receive(fd, &http, err);
	if (r < 0)
		return r;
	if (!call->is_raw || http.status >= 300)
		json = json_loadb(http.body.at ? http.body.at : "", http.body.len, 0, NULL);
	*ret = (struct berth_reply){
		.status = http.status, .json = json, .body = http.body, .log_size_bytes = http.log_size_bytes};
	http.body = (struct berth_text){0};
	return 0;
}

int berth_complain_unreachable(const struct berth_cli *cli, const struct berth_error *err)
{
	const char *help = "Is it running?  Start one:  berthd     Check all:  berth doctor";

	if (err->code == -EPROTO || err->code == -EFBIG)
		return berth_complain(cli, BERTH_EXIT_FAILED, "Protocol",
		                      "Are berth and berthd of the same version?  berth --version", "%s", err->text);
	if (err->code == -ENOMEM)
		return berth_complain(cli, BERTH_EXIT_FAILED, "OutOfMemory", NULL, "%s", err->text);
	if (err->code == -EPERM || err->code == -EACCES)
		help = "It is another user's. Name the daemon you mean with --socket PATH or BERTH_SOCKET.";
	return berth_complain(cli, BERTH_EXIT_UNREACHABLE, "Unreachable", help, "%s", err->text);
}

/* A daemon that is starting or stopping says so; for us it is one that is not there. */
static int as_gone(const struct berth_reply *reply, struct berth_error *err)
{
	const json_t *error = json_object_get(reply->json, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));

	if (reply->status != 503 || !code || (strcmp(code, "Starting") != 0 && strcmp(code, "Stopping") != 0))
		return 0;
	return berth_error_set(err, -EAGAIN, "%s", message ? message : code);
}

/* berth_call_try again and again while the daemon is away and may come back. */
static int try_patiently(struct berth_cli *cli, const struct berth_call *call, struct berth_reply *ret,
                         struct berth_error *err)
{
	uint64_t end_ms = 0;

	for (;;) {
		const struct timespec pause = {.tv_nsec = BERTH_RETRY_MS * 1000000};
		struct berth_reply reply = {0};
		int r = berth_call_try(cli, call, &reply, err);

		if (r == 0 && (r = as_gone(&reply, err)) == 0) {
			*ret = reply;
			return 0;
		}
		berth_reply_fini(&reply);
		if (!berth_is_daemon_gone(r) || !cli->socket)
			return r;
		if (call->is_once && r != -ENOENT && r != -ECONNREFUSED)
			return berth_error_set(
				err, r, "the daemon went away before it answered; whether it did this is not known");
		if (end_ms == 0) {
			berth_say("the daemon went away; trying for %u s to reach it again", BERTH_PATIENCE_MS / 1000);
			end_ms = berth_clock_boot_ms() + BERTH_PATIENCE_MS;
		} else if (berth_clock_boot_ms() >= end_ms) {
			return r;
		}
		(void)nanosleep(&pause, NULL);
	}
}

int berth_call(struct berth_cli *cli, const struct berth_call *call, struct berth_reply *ret)
{
	struct berth_error err = {0};
	struct berth_reply reply = {0};
	int r = try_patiently(cli, call, &reply, &err);

	if (r < 0)
		return berth_complain_unreachable(cli, &err);
	if (reply.status < 200 || reply.status >= 300 || (!reply.json && !call->is_raw)) {
		r = berth_complain_answer(cli, berth_exit_of_status(reply.status),
		                          json_object_get(reply.json, "error"));
		berth_reply_fini(&reply);
		return r;
	}
	*ret = reply;
	return BERTH_EXIT_OK;
}

int berth_ask(struct berth_cli *cli, const char *method, const char *target, const json_t *body, json_t **ret)
{
	const struct berth_call call = {.method = method, .target = target, .body = body};
	struct berth_reply reply = {0};
	int r;

	if (!target)
		return berth_complain_memory(cli);
	r = berth_call(cli, &call, &reply);
	if (r != BERTH_EXIT_OK)
		return r;
	*ret = BERTH_TAKE(reply.json);
	berth_reply_fini(&reply);
	return BERTH_EXIT_OK;
}

void berth_url_add(struct berth_text *text, const char *s)
{
	for (; *s; s++) {
		const char c = *s;
		const char lower = (char)(c | 0x20);

		if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || strchr("-._~", c))
			berth_text_add_n(text, &c, 1);
		else
			berth_text_addf(text, "%%%02X", (unsigned)(unsigned char)c);
	}
}

const char *berth_target(struct berth_cli *cli, const char *before, const char *quoted, const char *after)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_add(&text, before);
	berth_url_add(&text, quoted);
	berth_text_add(&text, after);
	return berth_arena_strdup(&cli->arena, berth_text_str(&text));
}

int berth_events_open(struct berth_cli *cli, struct berth_events *ret, struct berth_error *err)
{
	const struct berth_call call = {.method = "GET", .target = "/api/v1/events"};
	BERTH_AUTO_CLOSE int fd = reach(cli, err);
	int r;

	if (fd < 0)
		return fd;
	r = send_request(fd, &call, err);
	if (r < 0)
		return r;
	*ret = (struct berth_events){.fd = BERTH_TAKE_FD(fd)};
	return 0;
}

int berth_events_pump(struct berth_events *events, struct berth_error *err)
{
	char buf[16384];

	for (;;) {
		ssize_t n = recv(events->fd, buf, sizeof(buf), MSG_DONTWAIT);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return berth_error_errno(err, -errno, "cannot read the daemon's events");
		if (n == 0)
			return berth_error_set(err, -ECONNRESET, "the daemon ended its stream of events");
		r = berth_http_feed(&events->http, buf, (size_t)n, err);
		if (r < 0)
			return r;
		if (events->http.status == 503)
			return berth_error_set(err, -EAGAIN, "the daemon is not ready");
		if (events->http.status != 0 && events->http.status != 200)
			return berth_error_set(err, -EPROTO, "the daemon refuses its stream of events (%d)",
			                       events->http.status);
	}
}

void berth_events_close(struct berth_events *events)
{
	if (events->fd >= 0)
		(void)close(events->fd);
	berth_http_fini(&events->http);
	*events = (struct berth_events){.fd = -1};
}
