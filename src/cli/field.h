#ifndef BERTH_CLI_FIELD_H
#define BERTH_CLI_FIELD_H
/* Fields of the daemon's answers. What is null or missing is told apart from 0. Pointers are borrowed from the JSON. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/units.h"

/* The words of a field, "" when it is null or missing. */
const char *berth_json_text(const json_t *object, const char *key);
/* A whole number; false, and *ret untouched, when it is null, missing or negative. */
bool berth_json_number(const json_t *object, const char *key, uint64_t *ret);
/* A moment of the API, "2026-11-30T19:16:54.123+08:00", in milliseconds since 1970; false as above. */
bool berth_json_moment(const json_t *object, const char *key, uint64_t *ret_ms);
bool berth_moment_read(const char *iso, uint64_t *ret_ms);
/* A moment as the API takes it: whole seconds, with zone. Returns buf. */
char *berth_moment_send(uint64_t at_ms, char buf[static BERTH_FORMAT_MAX]);
/* Text for people: a fresh copy without control characters, at most width columns (0 = any); "-" when there is none.
 * The caller frees it; NULL on -ENOMEM. */
char *berth_json_printable(const json_t *object, const char *key, size_t width);
#endif
