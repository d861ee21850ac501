#ifndef BERTH_API_REFUSE_H
#define BERTH_API_REFUSE_H
/* The core's "no" as an answer that helps. */
#include "api/server.h"

/* code, reason: as berth_core_check gave them for fact. where: which job of a batch ("jobs[3]"), NULL = the only one.
 * 404 no such job, 409 not in this state, 422 can never be met (with what would fit), 400 nonsense. */
void berth_refuse_check(const struct berth_api *api, struct berth_exchange *request, int code,
                        const struct berth_reason *reason, const struct berth_fact *fact, const char *where);
#endif
