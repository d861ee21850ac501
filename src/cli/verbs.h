#ifndef BERTH_CLI_VERBS_H
#define BERTH_CLI_VERBS_H
/* The verbs, a file per family. Each reads cli->given and its operands and returns an exit code; what goes wrong was
 * said by then. The number of operands was checked against the table in verb_table.c. */
#include "cli/cli.h"

extern const struct berth_verb berth_verbs[]; /* ends with a NULL name */
/* By its whole name: "queue", "config show". NULL = there is none. */
const struct berth_verb *berth_verb_find(const char *name);

/* submit.c */
extern const struct berth_option berth_submit_options[];
extern const struct berth_option berth_run_options[];
int berth_verb_submit(struct berth_cli *cli);
int berth_verb_run(struct berth_cli *cli);

/* queue.c */
extern const struct berth_option berth_queue_options[];
int berth_verb_queue(struct berth_cli *cli);

/* history.c */
extern const struct berth_option berth_history_options[];
int berth_verb_history(struct berth_cli *cli);

/* show.c, why.c */
int berth_verb_show(struct berth_cli *cli);
int berth_verb_why(struct berth_cli *cli);

/* logs.c */
extern const struct berth_option berth_logs_options[];
int berth_verb_logs(struct berth_cli *cli);

/* jobs.c: what is done to jobs */
int berth_verb_cancel(struct berth_cli *cli);
int berth_verb_hold(struct berth_cli *cli);
int berth_verb_release(struct berth_cli *cli);
int berth_verb_requeue(struct berth_cli *cli);
int berth_verb_alter(struct berth_cli *cli);

/* wait.c */
extern const struct berth_option berth_wait_options[];
int berth_verb_wait(struct berth_cli *cli);

/* gpus.c */
extern const struct berth_option berth_drain_options[];
int berth_verb_gpus(struct berth_cli *cli);
int berth_verb_drain(struct berth_cli *cli);
int berth_verb_undrain(struct berth_cli *cli);

/* upkeep.c */
int berth_verb_doctor(struct berth_cli *cli);
int berth_verb_config_check(struct berth_cli *cli);
int berth_verb_config_show(struct berth_cli *cli);
int berth_verb_admin_sim(struct berth_cli *cli);
int berth_verb_web(struct berth_cli *cli);

/* help.c */
int berth_verb_help(struct berth_cli *cli);
/* For shells that complete what is typed: "verbs", "options VERB", "jobs", "gpus", one answer a line. */
int berth_verb_complete(struct berth_cli *cli);
/* What `berth help VERB` prints. */
void berth_help_print(const struct berth_verb *verb, FILE *out);
/* What `berth help` prints. */
void berth_help_overview(FILE *out);
#endif
