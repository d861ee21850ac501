#ifndef BERTH_API_ASK_H
#define BERTH_API_ASK_H
/* What people ask of a job, read from JSON: one table of fields for submitting and altering. */
#include <jansson.h>
#include "api/api.h"

/* Fields as read. Strings are borrowed from the JSON value. What was not given keeps what it was set to before. */
struct berth_ask {
	uint32_t fields; /* enum berth_alter_field: what was given */
	const char *name;
	enum berth_tier tier;
	bool is_held;
	uint64_t begin_ms, grace_ms;
	uint32_t requeue_max;
	struct berth_request request;
};

/* A request that says nothing, by the site's defaults. */
struct berth_ask berth_ask_default(const struct berth_api_host *host);

/* Read object's fields into ask. is_alter: "hold" and "spec" are unknown then. where: path for messages, "jobs[3]." or
 * "". now_ms: core clock, for begin. Types and ranges are checked here, sense by berth_core_check. 0, or -EINVAL with
 * err: which field, what was expected. */
BERTH_MUST_USE int berth_ask_parse(json_t *object, bool is_alter, const char *where, uint64_t now_ms,
                                   struct berth_ask *ask, struct berth_error *err);
/* Longer than the site allows? Then false and err says what is allowed. max_ms 0 or UINT64_MAX = no maximum. */
bool berth_ask_is_within(const struct berth_ask *ask, uint64_t max_ms, struct berth_error *err);
#endif
