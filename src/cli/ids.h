#ifndef BERTH_CLI_IDS_H
#define BERTH_CLI_IDS_H
/* Job ids as people give them: "12", several words, commas. */
#include <stdint.h>
#include "cli/cli.h"
#include "cli/client.h"

struct berth_ids {
	uint64_t *id; /* in cli's arena, each once, in the order given */
	size_t n;
};

/* All operands from cli->argv[from] on. BERTH_EXIT_OK, or an exit code after a complaint about a word that is no id. */
BERTH_MUST_USE int berth_ids_parse(struct berth_cli *cli, int from, struct berth_ids *ret);

/* Do the same to each job: METHOD /api/v1/jobs/ID plus `action`, with how's other fields. done says what was done to
 * one, as "Cancelled job 12"; its argument is the job of the answer. With --json: the answer itself for one job, else
 * as cli/several.h, schema berth.jobs/1. Exit code as there. */
BERTH_MUST_USE int berth_ids_do(struct berth_cli *cli, const struct berth_ids *ids, const struct berth_call *how,
                                const char *action, void (*done)(const json_t *job));
#endif
