#ifndef BERTH_CLI_SEVERAL_H
#define BERTH_CLI_SEVERAL_H
/* The same thing done to several objects, and what came of each.
 *
 * With --json the answer is one object, {"schema":SCHEMA,LIST:[what was done],"errors":[{"id":…,"error":{…}}]}; else
 * complaints are printed as they come, and what was done is the caller's to say.
 */
#include <jansson.h>
#include "cli/cli.h"

struct berth_several {
	struct berth_cli *cli; /* borrowed; its complaints are collected here meanwhile */
	json_t *done, *errors; /* owned */
	int first;             /* exit code of the first failure */
};

void berth_several_begin(struct berth_several *several, struct berth_cli *cli);
/* One was done; object is borrowed, NULL counts too. */
void berth_several_did(struct berth_several *several, json_t *object);
/* One failed with this exit code, after a complaint. which: its id or name, taken over. */
void berth_several_failed(struct berth_several *several, int code, json_t *which);
/* Print, with --json, and forget. BERTH_EXIT_OK when all were done, BERTH_EXIT_PARTLY when some were, else the exit
 * code of the first failure. */
int berth_several_end(struct berth_several *several, const char *schema, const char *list);
#endif
