#ifndef BERTH_API_JSON_H
#define BERTH_API_JSON_H
/* JSON written straight into a text: a list of 10,000 jobs is one buffer, no tree of objects. Parsing is jansson's.
 *
 * Commas come by themselves: a value is preceded by one unless it is the first after '{', '[' or at the start. key =
 * NULL inside arrays and at the top. Keys are program constants and are not escaped. A failed allocation sticks in the
 * text; whoever sends it checks once.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "base/text.h"

struct berth_json {
	struct berth_text *text; /* borrowed, written at its end */
	size_t start;            /* where the writer began: no comma there */
	/* The minute last formatted: rows of a list share it, and local time is dear. */
	time_t minute;
	char minute_text[24]; /* "2026-11-30T19:16:" */
	char zone_text[8];    /* "+08:00" */
};

/* A writer at the end of text; what stands there already is left alone and counts for nothing. Lives as long as text.
 */
struct berth_json berth_json_at(struct berth_text *text);

/* kind: '{' or '[' opens, '}' or ']' closes. */
void berth_json_open(struct berth_json *json, const char *key, char kind);
void berth_json_close(struct berth_json *json, char kind);

void berth_json_u64(struct berth_json *json, const char *key, uint64_t value);
void berth_json_i64(struct berth_json *json, const char *key, int64_t value);
void berth_json_bool(struct berth_json *json, const char *key, bool value);
void berth_json_null(struct berth_json *json, const char *key);
/* s NULL = null. Bytes that are not valid UTF-8 become '?', so that the answer always is JSON. */
void berth_json_str(struct berth_json *json, const char *key, const char *s);
/* Already JSON: a stored row, "[]". Not checked. */
void berth_json_raw(struct berth_json *json, const char *key, const char *value, size_t n);
/* ISO 8601 with zone and milliseconds; 0 and UINT64_MAX (never, not known) = null. */
void berth_json_time(struct berth_json *json, const char *key, uint64_t at_ms);
/* value, or null when it is nothing. */
void berth_json_u64_or_null(struct berth_json *json, const char *key, uint64_t value, uint64_t nothing);
#endif
