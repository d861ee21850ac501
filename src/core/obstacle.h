#ifndef BERTH_CORE_OBSTACLE_H
#define BERTH_CORE_OBSTACLE_H
/* What keeps a job from starting, as a reason. */
#include "core/timeline.h"

/* On the devices, as they are in the picture: NO_DEVICES, PRIORITY, RESOURCES; NONE when it would start. */
struct berth_reason berth_obstacle_of_shape(const struct berth_timeline *timeline, const struct berth_shape *shape);

/* On the job itself: held, begin time, back-off, cancelled; NONE when it stands in line. The first that binds. */
struct berth_reason berth_obstacle_of_job(const struct berth_job *job, uint64_t now_ms);

/* Why the device at this position does not serve the shape, DEVICE_FREE when it does. */
struct berth_reason berth_obstacle_of_device(const struct berth_timeline *timeline, const struct berth_shape *shape,
                                             size_t position);
#endif
