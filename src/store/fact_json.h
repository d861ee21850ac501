#ifndef BERTH_STORE_FACT_JSON_H
#define BERTH_STORE_FACT_JSON_H
/* The body of a journal row, written without a copy. See berth_fact_to_json in store/store.h for the form.
 *
 * Numbers beyond the signed 64 bits of common JSON readers (an unlimited time limit is one) stand as strings of digits.
 * In a job image, which has many fields that most jobs do not use, what is zero, false or "" is left out; everywhere
 * else every field is written, so that a row can be read without this program.
 */
#include "base/text.h"
#include "core/fact.h"

/* Add the JSON of fact to text; the caller checks text->is_failed. */
void berth_fact_json_write(const struct berth_fact *fact, struct berth_text *text);
#endif
