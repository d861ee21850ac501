#ifndef BERTH_CLI_JOB_H
#define BERTH_CLI_JOB_H
/* Reading a job, as docs/api.md shows it. All pointers are borrowed from the JSON; what is missing or null is told
 * apart from 0. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/text.h"
#include "cli/field.h"

uint64_t berth_job_id(const json_t *job);
bool berth_state_is_final(const char *state);
bool berth_job_is_final(const json_t *job);
/* Has an attempt of it run a command, or does one now? Or tried to: then its output says what was wrong. */
bool berth_job_has_started(const json_t *job);

/* What `run`, `wait` and `submit --wait` end with for a finished job: its own code; 128 + the signal that ended it;
 * TIMEOUT 124, CANCELLED 130; 125 when its device was lost or nobody knows the code. As a shell, 127 for a command that
 * was not found and 126 for one that could not be run. */
int berth_job_exit_code(const json_t *job);
/* "1:0", "0:9" (exit code : signal, as Slurm's tools write it); "-" while it has none. Returns buf. */
char *berth_job_exit_text(const json_t *job, char buf[static BERTH_FORMAT_MAX]);
/* "completed", "was ended by its time limit": what became of a finished job, behind "job 12 ". Added to text. */
void berth_job_outcome(const json_t *job, struct berth_text *text);

/* "0,1" from the device numbers; "" when it has none. Added to text. */
void berth_job_devices(const json_t *job, struct berth_text *text);
/* How long it ran, or has run until now_ms; false when it never did. */
bool berth_job_ran(const json_t *job, uint64_t now_ms, uint64_t *ret_ms);
#endif
