#ifndef BERTH_DAEMON_FACT_TEXT_H
#define BERTH_DAEMON_FACT_TEXT_H
/* Facts as lines of the daemon's log. */
#include "base/text.h"
#include "core/core.h"
#include "daemon/log.h"

/* One sentence about a fact that was just folded into core, added to ret; nothing for facts that nobody needs to read.
 * Returns how important it is. */
enum berth_log_level berth_fact_text(const struct berth_core *core, const struct berth_fact *fact,
                                     struct berth_text *ret);
#endif
