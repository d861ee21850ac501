#ifndef BERTH_CLI_FOLLOW_H
#define BERTH_CLI_FOLLOW_H
/* Following one job to its end: its output as it comes, and on stderr what becomes of it. */
#include <jansson.h>
#include <stdint.h>
#include "cli/cli.h"

struct berth_follow_mode {
	bool is_ours; /* `run`: Ctrl-C and a vanished reader cancel the job; less is said. Else `logs -f`: they leave it
	                 alone */
	bool is_silent; /* no output is shown: for `submit --wait` */
	bool is_json;   /* the output goes to stdout as objects, see cli/tail.h */
	int out;        /* where the output goes */
};

/* Until the job is finished and all its output is written. BERTH_EXIT_OK with the finished job (the caller owns the
 * reference), else an exit code: after a complaint; 130 after a second Ctrl-C; 141 (128 + SIGPIPE) when nobody reads
 * out any more. */
BERTH_MUST_USE int berth_follow(struct berth_cli *cli, uint64_t id, const struct berth_follow_mode *mode,
                                json_t **ret_job);
#endif
