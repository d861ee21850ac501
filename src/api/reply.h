#ifndef BERTH_API_REPLY_H
#define BERTH_API_REPLY_H
/* Answers. Every one carries the headers that keep a browser from guessing types, caching, framing or running what is
 * not ours. */
#include "api/http.h"
#include "api/json.h"

/* What is wrong with a request, as docs/api.md shows it. The message comes from the call that answers; all strings here
 * are borrowed for that call. */
struct berth_refusal {
	unsigned status;
	const char *code;   /* "NoSuchJob"; a program constant */
	const char *params; /* a JSON object; NULL = {} */
	const char *help;   /* what would help; NULL = none */
};

/* text is taken whole and emptied, also on failure. When it failed for memory, 503 is answered. */
void berth_reply_json(struct berth_exchange *request, unsigned status, struct berth_text *text);
void berth_reply_text(struct berth_exchange *request, unsigned status, const char *type, struct berth_text *text);
/* Bytes that live as long as the program. */
void berth_reply_static(struct berth_exchange *request, unsigned status, const char *type, const void *data, size_t n);
/* fmt: one sentence for people. */
void berth_reply_error(struct berth_exchange *request, const struct berth_refusal *refusal, const char *fmt, ...)
	BERTH_PRINTF(3, 4);
/* The object that an error is. */
void berth_refusal_write(struct berth_text *ret, const struct berth_refusal *refusal, const char *message);
/* Errors that any handler may meet: disk full, stopping, no memory, in the words of a negative errno. */
void berth_reply_errno(struct berth_exchange *request, int code, const char *doing);

/* A header of the answer that was given just now. */
void berth_reply_header(struct berth_exchange *request, const char *name, const char *value);
/* A response with the standing headers, for those who make their own. Takes response; NULL when it is. */
struct MHD_Response *berth_reply_dress(struct MHD_Response *response, const char *type);
#endif
