#ifndef BERTH_CLI_GPUS_H
#define BERTH_CLI_GPUS_H
/* The cards as people see them. */
#include <jansson.h>
#include <stdio.h>

/* A table, a line that sums it up, and why cards are drained. gpus: the array of the answer, borrowed. BERTH_EXIT_OK,
 * or BERTH_EXIT_FAILED when memory is out. */
int berth_gpus_print(const json_t *gpus, FILE *out);
#endif
