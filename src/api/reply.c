#include "api/reply.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	const char *value;
} standing[] = {
	{"X-Content-Type-Options", "nosniff"},
	{"Cache-Control", "no-store"},
	{"Referrer-Policy", "no-referrer"},
	{"X-Frame-Options", "DENY"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Content-Security-Policy",
         "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"},
};

struct MHD_Response *berth_reply_dress(struct MHD_Response *response, const char *type)
{
	enum MHD_Result ok;

	if (!response)
		return NULL;
	ok = MHD_add_response_header(response, "Content-Type", type);
	for (size_t i = 0; i < sizeof(standing) / sizeof(standing[0]) && ok == MHD_YES; i++)
		ok = MHD_add_response_header(response, standing[i].name, standing[i].value);
	if (ok == MHD_YES)
		return response;
	MHD_destroy_response(response);
	return NULL;
}

void berth_reply_static(struct berth_exchange *request, unsigned status, const char *type, const void *data, size_t n)
{
	/* libmicrohttpd does not write into persistent memory; its interface only lacks the const. */
	struct MHD_Response *response = MHD_create_response_from_buffer(n, (void *)(uintptr_t)data,
	                                                                MHD_RESPMEM_PERSISTENT);

	berth_exchange_answer(request, status, berth_reply_dress(response, type), 0);
}

static void reply_without_memory(struct berth_exchange *request)
{
	static const char answer[] = "{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"NoMemory\",\"message\":\"The "
	                             "daemon has no memory for this "
				     "answer now.\",\"params\":{},\"help\":\"Ask for less (?limit=, ?state=), or try "
	                             "again in a moment.\"}}\n";

	berth_reply_static(request, MHD_HTTP_SERVICE_UNAVAILABLE, "application/json", answer, sizeof(answer) - 1);
}

void berth_reply_text(struct berth_exchange *request, unsigned status, const char *type, struct berth_text *text)
{
	const size_t n = text->len;
	struct MHD_Response *response;

	if (text->is_failed || !berth_http_has_room(request->http, text->cap)) {
		berth_text_fini(text);
		reply_without_memory(request);
		return;
	}
	response = MHD_create_response_from_buffer(n, text->at, MHD_RESPMEM_MUST_FREE);
	if (!response) {
		berth_text_fini(text);
		reply_without_memory(request);
		return;
	}
	berth_exchange_answer(request, status, berth_reply_dress(response, type), text->cap);
	*text = (struct berth_text){0};
}

void berth_reply_json(struct berth_exchange *request, unsigned status, struct berth_text *text)
{
	berth_text_add_n(text, "\n", 1);
	berth_reply_text(request, status, "application/json", text);
}

void berth_refusal_write(struct berth_text *ret, const struct berth_refusal *refusal, const char *message)
{
	struct berth_json json = berth_json_at(ret);
	const char *params = refusal->params ? refusal->params : "{}";

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.error/1");
	berth_json_open(&json, "error", '{');
	berth_json_str(&json, "code", refusal->code);
	berth_json_str(&json, "message", message);
	berth_json_raw(&json, "params", params, strlen(params));
	berth_json_str(&json, "help", refusal->help);
	berth_json_close(&json, '}');
	berth_json_close(&json, '}');
}

void berth_reply_error(struct berth_exchange *request, const struct berth_refusal *refusal, const char *fmt, ...)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_FREE char *message = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&message, fmt, args);
	va_end(args);
	if (n < 0)
		message = NULL;
	berth_refusal_write(&text, refusal, message ? message : "The request was refused.");
	berth_reply_json(request, refusal->status, &text);
}

void berth_reply_errno(struct berth_exchange *request, int code, const char *doing)
{
	const struct berth_refusal full = {MHD_HTTP_SERVICE_UNAVAILABLE, "DiskFull", NULL,
	                                   "Running jobs go on. Free space where the daemon keeps its state (`berth "
	                                   "doctor` names it); nothing was accepted, so just try again then."};
	const struct berth_refusal stopping = {
		MHD_HTTP_SERVICE_UNAVAILABLE, "Stopping", NULL,
		"Nothing is lost; try again when the daemon runs again, in some seconds."};
	const struct berth_refusal other = {MHD_HTTP_INTERNAL_SERVER_ERROR, "Internal", NULL,
	                                    "`berth doctor` looks for the cause."};

	if (code == -ENOSPC || code == -EDQUOT)
		berth_reply_error(request, &full, "The disk is full: the daemon could not %s.", doing);
	else if (code == -ECANCELED)
		berth_reply_error(request, &stopping, "The daemon is stopping and did not %s.", doing);
	else if (code == -ENOMEM)
		reply_without_memory(request);
	else
		berth_reply_error(request, &other, "The daemon could not %s: %s.", doing, strerror(-code));
}

void berth_reply_header(struct berth_exchange *request, const char *name, const char *value)
{
	if (request->response && MHD_add_response_header(request->response, name, value) != MHD_YES) {
		MHD_destroy_response(request->response);
		request->response = NULL;
	}
}
