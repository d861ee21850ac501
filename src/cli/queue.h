#ifndef BERTH_CLI_QUEUE_H
#define BERTH_CLI_QUEUE_H
/* The queue as people see it. */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* A table of jobs and a line that sums them up. jobs, gpus: the arrays of the answers, borrowed; gpus may be NULL.
 * now_ms: wall clock. BERTH_EXIT_OK, or BERTH_EXIT_FAILED when memory is out. */
int berth_queue_print(const json_t *jobs, const json_t *gpus, uint64_t now_ms, FILE *out);
#endif
