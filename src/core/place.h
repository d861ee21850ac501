#ifndef BERTH_CORE_PLACE_H
#define BERTH_CORE_PLACE_H
/* On which devices a job starts now, and which it could have when.
 *
 * Whole devices of one node. Best fit: the set with the least memory that suffices, so that large cards stay for those
 * who need them; then the node with fewest free devices left, so that whole nodes stay free; then the lowest ids.
 * Taking the smallest suiting devices of each node gives exactly the best set under this order, so nothing more is
 * searched; once links count, sets inside a node will be compared one by one.
 */
#include <stdbool.h>
#include "core/timeline.h"

/* The set for a job of this shape that starts now. A device kept for a job in front serves only if the new job ends by
 * its limit and grace before that one can start. Returns false when there is none (ret untouched). Shapes that ask no
 * device always get the empty set. */
bool berth_place_now(const struct berth_timeline *timeline, const struct berth_shape *shape,
                     struct berth_share_set *ret);

/* The set that it could have earliest, and when, if all who have devices run to their limit and grace: UINT64_MAX when
 * that cannot be told. Of equally early sets the one whose devices come free last: what is free sooner stays for jobs
 * behind. Returns false when no node has enough suiting devices in service (outputs untouched). */
bool berth_place_earliest(const struct berth_timeline *timeline, const struct berth_shape *shape,
                          struct berth_share_set *ret_set, uint64_t *ret_start_ms);
#endif
