#ifndef BERTH_API_REASON_H
#define BERTH_API_REASON_H
/* A reason as JSON. Its words are berth_reason_text, see api/api.h. */
#include "api/json.h"
#include "core/core.h"

/* {"code":"Resources","params":{"asked":4,…}} as the value of key. Moments become ISO strings named …_at, masks arrays
 * of indexes, a device's id its UUID and index. core is borrowed for looking devices up. */
void berth_reason_write(struct berth_json *json, const char *key, const struct berth_core *core,
                        const struct berth_reason *reason);
/* "code" and "params" inside an object that is open. */
void berth_reason_write_members(struct berth_json *json, const struct berth_core *core,
                                const struct berth_reason *reason);
/* Only the object of params: for errors. */
void berth_reason_write_params(struct berth_json *json, const char *key, const struct berth_core *core,
                               const struct berth_reason *reason);
#endif
