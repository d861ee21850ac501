#ifndef BERTH_ENGINE_LOCAL_PATTERN_H
#define BERTH_ENGINE_LOCAL_PATTERN_H
/* Names of output files as people write them: %j job id, %A the same (the array's id once there are arrays), %a index
 * in the array (0 without one), %x job name, %u user, %N node, %% a percent sign; %5j pads a number with zeros. The
 * letters are those of Slurm's sbatch.
 */
#include <stdint.h>
#include "base/error.h"
#include "base/text.h"

struct berth_pattern_values {
	uint64_t job;
	const char *name, *user, *node; /* a '/' in them becomes '_' */
};

/* Are all its letters known? 0, or -EINVAL naming the unknown one. */
BERTH_MUST_USE int berth_pattern_check(const char *pattern, struct berth_error *err);
/* Expand a checked pattern behind what ret holds. */
void berth_pattern_expand(const char *pattern, const struct berth_pattern_values *values, struct berth_text *ret);
#endif
