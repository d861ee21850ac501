#ifndef BERTH_CORE_CHECK_H
#define BERTH_CORE_CHECK_H
/* Can a request ever be met? */
#include "core/model.h"

/* By the devices that were ever seen, in service or not, since a drained or lost one may come back.
 * 0, or -ERANGE and ret: why not, and what would fit. */
BERTH_MUST_USE int berth_check_request(const struct berth_core *core, const struct berth_request *request,
                                       struct berth_reason *ret);
#endif
