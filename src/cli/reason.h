#ifndef BERTH_CLI_REASON_H
#define BERTH_CLI_REASON_H
/* English for reason codes. A code that this version does not know is shown as it is, with its parameters: never
 * nothing. */
#include <jansson.h>
#include <stdint.h>
#include "base/text.h"

/* {"code":"Resources","params":{"asked":4,"free":1}} as "needs 4 GPUs, 1 free", short enough for a table. Nothing for
 * None. now_ms: how moments are shown. Added to text. */
void berth_reason_words(const json_t *reason, uint64_t now_ms, struct berth_text *text);
#endif
