#ifndef BERTH_CLI_SHOW_H
#define BERTH_CLI_SHOW_H
/* One job for people: all that is known (show), and why it waits (why). */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include "base/text.h"

/* job: as `GET /api/v1/jobs/ID` gives it, borrowed. now_ms: wall clock. */
void berth_show_print(const json_t *job, uint64_t now_ms, FILE *out);
/* answer: of `GET /api/v1/jobs/ID/why`, borrowed. */
void berth_why_print(const json_t *answer, FILE *out);
/* An array of words as a shell would take it, quoted where it has to be. Added to text. */
void berth_words_join(const json_t *words, struct berth_text *text);
#endif
