#ifndef BERTH_CORE_FORECAST_H
#define BERTH_CORE_FORECAST_H
/* When would a job start, if all who have devices and all ahead run to their limit and grace and nothing new comes
 * ahead?
 *
 * The jobs ahead are laid on the devices one after the other, each as early as it goes, none into a gap before another:
 * what backfill wins comes on top. So this is a latest start, not a likely one.
 */
#include "core/pass.h"

/* Beyond so many waiting jobs ahead no start is foretold: by then other things happen than limits. */
#define BERTH_FORECAST_JOBS_MAX 1000

/* A place in line. */
struct berth_forecast_place {
	enum berth_tier tier;
	uint64_t job; /* UINT64_MAX = behind all of the tier */
};

/* What lies ahead of one place in line. */
struct berth_forecast_view {
	struct berth_pass pass;         /* what starts and what is kept by those ahead */
	struct berth_timeline timeline; /* on which those ahead are laid to the last */
	bool is_too_far;                /* more than BERTH_FORECAST_JOBS_MAX wait ahead */
};

/* Lay out all that stands ahead of a place. A job that stands there itself is not laid. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_forecast_open(struct berth_forecast_view *view, struct berth_core *core, uint64_t now_ms,
                                       struct berth_forecast_place place);
/* The latest start of a job of this shape there; now when it starts at once, UINT64_MAX when it cannot be told. ret_set
 * (may be NULL): the devices it gets at once, n = 0 when it waits. */
uint64_t berth_forecast_start(const struct berth_forecast_view *view, const struct berth_shape *shape,
                              struct berth_share_set *ret_set);

/* Where a waiting job stands now: one whose time has not come, or that is held, behind the others of its tier. */
struct berth_forecast_place berth_forecast_place_of(const struct berth_job *job, uint64_t now_ms);
/* The same as berth_forecast_start with what the job itself forbids: held, begin time, back-off. */
struct berth_forecast berth_forecast_of(const struct berth_job *job, uint64_t start_ms, uint64_t now_ms);
#endif
