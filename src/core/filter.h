#ifndef BERTH_CORE_FILTER_H
#define BERTH_CORE_FILTER_H
/* Which devices may serve a request at all: the first of the three stages filter, score, place. */
#include <stdbool.h>
#include "core/model.h"

/* Does the device meet what the shape asks (model, memory, index)? Whether it is free or in service does not matter.
 * ret (may be NULL): why not; untouched when it suits. */
bool berth_filter_suits(const struct berth_shape *shape, const struct berth_device_rec *rec, struct berth_reason *ret);

/* Is the device given to new jobs: it answers, and nobody drains it? */
bool berth_filter_is_in_service(const struct berth_device *device);

/* Bit of a device index in a request's mask; 0 for an index that no mask can name. */
uint64_t berth_filter_index_bit(uint32_t index);
#endif
