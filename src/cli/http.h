#ifndef BERTH_CLI_HTTP_H
#define BERTH_CLI_HTTP_H
/* HTTP/1.1 for answers of our own daemon: bytes in, one answer out. No socket here, so that any bytes can be tried.
 *
 * Understood: a length (Content-Length) or chunks (RFC 9112 section 7.1); 1xx answers are skipped. Everything else is
 * refused by name, not guessed at: no length at all, two lengths, broken chunks, a head above BERTH_HTTP_HEAD_MAX.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "base/text.h"

#define BERTH_HTTP_HEAD_MAX 65536u
#define BERTH_HTTP_BODY_MAX (256u << 20) /* held at once; a stream's reader takes bytes out as they come */

enum berth_http_stage {
	BERTH_HTTP_HEAD = 0,
	BERTH_HTTP_LENGTH, /* within a body of known length */
	BERTH_HTTP_CHUNK_SIZE,
	BERTH_HTTP_CHUNK,
	BERTH_HTTP_CHUNK_END,
	BERTH_HTTP_TRAILER,
	BERTH_HTTP_DONE,
};

/* {0} is ready for an answer. */
struct berth_http {
	enum berth_http_stage stage;
	int status; /* 0 until the head is complete */
	bool is_chunked;
	bool has_length;
	uint64_t left_bytes;    /* of the body, or of this chunk */
	int64_t log_size_bytes; /* header Berth-Log-Size; -1 = not sent. Valid with status */
	struct berth_text line; /* owned: the head, or a chunk's line, as far as it has come */
	struct berth_text body; /* owned: what has come of the body and was not taken out */
};

/* Take the next n bytes of the connection. 0, also when the answer is not complete yet (stage tells); -EPROTO what came
 * is no answer of ours; -EFBIG too large; -ENOMEM. Bytes beyond the answer are -EPROTO: nothing was asked after it. */
BERTH_MUST_USE int berth_http_feed(struct berth_http *http, const char *data, size_t n, struct berth_error *err);
/* The connection has ended: 0 when the answer was complete, -ECONNRESET when it was cut off. */
BERTH_MUST_USE int berth_http_end(const struct berth_http *http, struct berth_error *err);
void berth_http_fini(struct berth_http *http);
#define BERTH_AUTO_HTTP __attribute__((cleanup(berth_http_fini)))
#endif
