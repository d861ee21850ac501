#ifndef BERTH_CLI_SSE_H
#define BERTH_CLI_SSE_H
/* Server-sent events out of the bytes of a stream (HTML Living Standard, section 9.2.6, with lines ended by LF or
 * CRLF). */
#include <stdbool.h>
#include "base/text.h"

struct berth_sse {
	char name[16]; /* "message" when none was given; cut to fit */
	char *data;    /* owned; its lines joined with newlines */
};

/* Take the first complete event off the front of text. True when there was one; the caller owns ret->data then (free).
 * Comments and events without data are taken off and skipped. False: more bytes are needed, or memory is out. */
bool berth_sse_take(struct berth_text *text, struct berth_sse *ret);
#endif
