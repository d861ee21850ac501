#include "cli/http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include "base/units.h"

static void clear(struct berth_text *text)
{
	text->len = 0;
	if (text->at)
		text->at[0] = '\0';
}

/* Adds bytes up to and with the next newline to http->line; how many were used. *ret_complete: the newline was there.
 */
static size_t take_line(struct berth_http *http, const char *data, size_t n, bool *ret_complete)
{
	const char *newline = memchr(data, '\n', n);
	const size_t used = newline ? (size_t)(newline - data) + 1 : n;

	berth_text_add_n(&http->line, data, used);
	*ret_complete = newline != NULL;
	return used;
}

/* The line without its line end, NUL-terminated in place. */
static char *trimmed(char *line)
{
	size_t n = strlen(line);

	while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
		line[--n] = '\0';
	return line;
}

/* "HTTP/1.1 200 OK" */
static int read_status(const char *line, int *ret, struct berth_error *err)
{
	int status = 0;

	if (strncmp(line, "HTTP/1.1 ", 9) != 0 && strncmp(line, "HTTP/1.0 ", 9) != 0)
		return berth_error_set(err, -EPROTO, "what answers there does not speak HTTP");
	for (int i = 9; i < 12; i++) {
		if (line[i] < '0' || line[i] > '9')
			return berth_error_set(err, -EPROTO, "an answer without a status");
		status = status * 10 + (line[i] - '0');
	}
	if (status < 100 || (line[12] != ' ' && line[12] != '\0'))
		return berth_error_set(err, -EPROTO, "an answer without a status");
	*ret = status;
	return 0;
}

static int read_length(struct berth_http *http, const char *value, struct berth_error *err)
{
	uint64_t length;
	int r = berth_number_parse(value, "Content-Length", 0, INT64_MAX, &length, err);

	if (r < 0 || (http->has_length && http->left_bytes != length))
		return berth_error_set(err, -EPROTO, "an answer whose Content-Length makes no sense");
	http->has_length = true;
	http->left_bytes = length;
	return 0;
}

static int read_field(struct berth_http *http, char *line, struct berth_error *err)
{
	char *colon = strchr(line, ':');
	char *value;
	uint64_t size;

	if (!colon || colon == line)
		return berth_error_set(err, -EPROTO, "an answer with a broken header");
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	value[strcspn(value, " \t")] = '\0';
	if (strcasecmp(line, "Content-Length") == 0)
		return read_length(http, value, err);
	if (strcasecmp(line, "Transfer-Encoding") == 0) {
		if (strcasecmp(value, "chunked") != 0)
			return berth_error_set(err, -EPROTO, "an answer in an unknown encoding");
		http->is_chunked = true;
	} else if (strcasecmp(line, "Berth-Log-Size") == 0) {
		if (berth_number_parse(value, "Berth-Log-Size", 0, INT64_MAX, &size, err) == 0)
			http->log_size_bytes = (int64_t)size;
	}
	return 0;
}

/* The head is complete: what kind of body follows? */
static int end_head(struct berth_http *http, struct berth_error *err)
{
	if (http->status < 200) { /* something before the answer: forget it */
		http->status = 0;
		http->is_chunked = false;
		http->has_length = false;
	} else if (http->is_chunked && http->has_length) {
		return berth_error_set(err, -EPROTO, "an answer with both a length and chunks");
	} else if (http->is_chunked) {
		http->stage = BERTH_HTTP_CHUNK_SIZE;
	} else if (http->has_length) {
		http->stage = http->left_bytes > 0 ? BERTH_HTTP_LENGTH : BERTH_HTTP_DONE;
	} else if (http->status == 204 || http->status == 304) {
		http->stage = BERTH_HTTP_DONE;
	} else {
		return berth_error_set(err, -EPROTO, "an answer without a length");
	}
	return 0;
}

static int read_head(struct berth_http *http, struct berth_error *err)
{
	char *rest;
	char *line;
	int r;

	http->log_size_bytes = -1;
	if (memchr(http->line.at, '\0', http->line.len))
		return berth_error_set(err, -EPROTO, "an answer with a broken header");
	rest = http->line.at;
	r = read_status(trimmed(strsep(&rest, "\n")), &http->status, err);
	while (r == 0 && rest && *(line = trimmed(strsep(&rest, "\n"))))
		r = read_field(http, line, err);
	clear(&http->line);
	return r < 0 ? r : end_head(http, err);
}

/* Does the head end with an empty line? */
static bool has_head_ended(const struct berth_text *head)
{
	const char *at = head->at;
	const size_t n = head->len;

	return (n >= 2 && memcmp(at + n - 2, "\n\n", 2) == 0) || (n >= 3 && memcmp(at + n - 3, "\n\r\n", 3) == 0);
}

static int feed_head(struct berth_http *http, const char *data, size_t n, size_t *ret_used, struct berth_error *err)
{
	bool is_complete;

	*ret_used = take_line(http, data, n, &is_complete);
	if (http->line.is_failed)
		return -ENOMEM;
	if (http->line.len > BERTH_HTTP_HEAD_MAX)
		return berth_error_set(err, -EFBIG, "an answer with more than %u bytes of headers",
		                       BERTH_HTTP_HEAD_MAX);
	if (strncmp(http->line.at, "HTTP/1.", http->line.len < 7 ? http->line.len : 7) != 0)
		return berth_error_set(err, -EPROTO, "what answers there does not speak HTTP");
	return is_complete && has_head_ended(&http->line) ? read_head(http, err) : 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int read_chunk_size(struct berth_http *http, struct berth_error *err)
{
	const char *at = http->line.at;
	uint64_t size = 0;

	if (hex_digit(*at) < 0)
		return berth_error_set(err, -EPROTO, "an answer with a broken chunk");
	for (; hex_digit(*at) >= 0; at++) {
		if (size >> 58)
			return berth_error_set(err, -EPROTO, "an answer with a broken chunk");
		size = size * 16 + (uint64_t)hex_digit(*at);
	}
	at += strspn(at, " \t");
	if (*at != ';' && *at != '\r' && *at != '\n')
		return berth_error_set(err, -EPROTO, "an answer with a broken chunk");
	http->left_bytes = size;
	http->stage = size > 0 ? BERTH_HTTP_CHUNK : BERTH_HTTP_TRAILER;
	return 0;
}

/* Lines between chunks: their sizes, their ends, what follows the last one. */
static int feed_chunk_line(struct berth_http *http, const char *data, size_t n, size_t *ret_used,
                           struct berth_error *err)
{
	bool is_complete;
	bool is_empty;
	int r = 0;

	*ret_used = take_line(http, data, n, &is_complete);
	if (http->line.is_failed)
		return -ENOMEM;
	if (http->line.len > 1024)
		return berth_error_set(err, -EPROTO, "an answer with a broken chunk");
	if (!is_complete)
		return 0;
	is_empty = http->line.at[0] == '\n' || memcmp(http->line.at, "\r\n", 2) == 0;
	if (http->stage == BERTH_HTTP_CHUNK_SIZE)
		r = read_chunk_size(http, err);
	else if (http->stage == BERTH_HTTP_CHUNK_END && !is_empty)
		r = berth_error_set(err, -EPROTO, "an answer with a broken chunk");
	else if (http->stage == BERTH_HTTP_CHUNK_END)
		http->stage = BERTH_HTTP_CHUNK_SIZE;
	else if (is_empty)
		http->stage = BERTH_HTTP_DONE;
	clear(&http->line);
	return r;
}

static int feed_body(struct berth_http *http, const char *data, size_t n, size_t *ret_used, struct berth_error *err)
{
	const size_t used = n < http->left_bytes ? n : (size_t)http->left_bytes;

	if (used > BERTH_HTTP_BODY_MAX - http->body.len)
		return berth_error_set(err, -EFBIG, "an answer of more than %u bytes", BERTH_HTTP_BODY_MAX);
	berth_text_add_n(&http->body, data, used);
	if (http->body.is_failed)
		return -ENOMEM;
	http->left_bytes -= used;
	if (http->left_bytes == 0)
		http->stage = http->is_chunked ? BERTH_HTTP_CHUNK_END : BERTH_HTTP_DONE;
	*ret_used = used;
	return 0;
}

int berth_http_feed(struct berth_http *http, const char *data, size_t n, struct berth_error *err)
{
	while (n > 0) {
		size_t used = 0;
		int r;

		if (http->stage == BERTH_HTTP_DONE)
			return berth_error_set(err, -EPROTO, "more than one answer");
		if (http->stage == BERTH_HTTP_HEAD)
			r = feed_head(http, data, n, &used, err);
		else if (http->stage == BERTH_HTTP_LENGTH || http->stage == BERTH_HTTP_CHUNK)
			r = feed_body(http, data, n, &used, err);
		else
			r = feed_chunk_line(http, data, n, &used, err);
		if (r == -ENOMEM)
			return berth_error_set(err, r, "out of memory");
		if (r < 0)
			return r;
		data += used;
		n -= used;
	}
	return 0;
}

int berth_http_end(const struct berth_http *http, struct berth_error *err)
{
	if (http->stage == BERTH_HTTP_DONE)
		return 0;
	return berth_error_set(err, -ECONNRESET, "the daemon closed the connection before its answer was complete");
}

void berth_http_fini(struct berth_http *http)
{
	berth_text_fini(&http->line);
	berth_text_fini(&http->body);
}
