#ifndef BERTH_API_GPU_JSON_H
#define BERTH_API_GPU_JSON_H
/* A device as JSON, as docs/api.md shows it: what the core knows of it (who holds it, since when, health, drain), the
 * newest sample that telemetry has, and the links that the daemon lends. */
#include "api/server.h"

/* device: borrowed. What no fresh sample (BERTH_TELEMETRY_FRESH_MS) says is null. */
void berth_gpu_write(struct berth_api *api, struct berth_json *json, const char *key,
                     const struct berth_device *device);
/* By UUID, or by its index on the node; NULL when there is none. */
const struct berth_device *berth_gpu_find(const struct berth_core *core, const char *name);
/* Answer with {"schema":"berth.gpu/1","seq":…,"gpu":{…}}. */
void berth_reply_gpu(struct berth_api *api, struct berth_exchange *request, const struct berth_device *device);
#endif
