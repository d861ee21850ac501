#ifndef BERTH_API_POST_H
#define BERTH_API_POST_H
/* A handler's facts on their way to the ledger: posted, waited for, answered. */
#include "api/server.h"

/* Called when the facts are durable (0), void (-ESTALE) or refused; request is NULL when nobody waits any more. */
typedef void berth_posted(struct berth_api *api, struct berth_exchange *request, int result,
                          const struct berth_fact *facts, size_t n);

/* Post, and answer later through posted. Everything in post is copied; its done fields are set here. On failure the
 * request is answered at once. */
void berth_api_post(struct berth_api *api, struct berth_exchange *request, struct berth_post *post,
                    berth_posted *posted);
/* The body as a JSON object, strictly: no duplicate keys, no NUL, nothing behind it. An empty body is {}. NULL: the
 * request was answered 400. New reference. */
struct json_t *berth_api_body(struct berth_exchange *request);
/* Refuse members of object that are not in known (NULL-terminated), by name with the nearest known one. where: path
 * before the member ("jobs[3].", ""). 0, or -EINVAL with err. */
BERTH_MUST_USE int berth_api_check_names(struct json_t *object, const char *const *known, const char *where,
                                         struct berth_error *err);
#endif
