#ifndef BERTH_CORE_SUGGEST_H
#define BERTH_CORE_SUGGEST_H
/* What would help a waiting job: changes of its request, each tried before it is told. */
#include "core/forecast.h"

/* For each kind of change (fewer devices, less memory, shorter limit, any model, any index) the smallest that starts
 * the job at once, or else the smallest that lets it start earlier than start_ms (its latest start as it is). Soonest
 * first.
 * rec      stands in line at the view's place.
 * ret      room for BERTH_WHY_SUGGESTIONS_MAX; strings interned, valid until the next fold.
 * Returns how many. */
size_t berth_suggest(const struct berth_forecast_view *view, const struct berth_job_rec *rec, uint64_t start_ms,
                     struct berth_suggestion *ret);
#endif
