#ifndef BERTH_CLI_REQUEST_H
#define BERTH_CLI_REQUEST_H
/* What a job asks, from options to the JSON of docs/api.md.
 *
 * Three places can say it, and the earlier one wins: the command line, the variables BERTH_SUBMIT_*
 * (BERTH_SUBMIT_GPU_MEM for
 * --gpu-mem), the #BERTH lines of a script. What none of them says is left out: the daemon's configuration decides.
 */
#include <jansson.h>
#include <stdint.h>
#include "cli/cli.h"

extern const struct berth_option berth_request_options[]; /* also of `berth alter` */
extern const struct berth_option berth_change_options[];  /* only of `berth alter` */
extern const struct berth_option berth_launch_options[];  /* only where a job is submitted */

enum berth_source { BERTH_SOURCE_LINE = 0, BERTH_SOURCE_VARIABLES, BERTH_SOURCE_SCRIPT, BERTH_SOURCES };

struct berth_request {
	const struct berth_given *given[BERTH_SOURCES]; /* borrowed; NULL = says nothing */
};

/* The value that holds for an option, NULL when none was given; *ret_given (may be NULL) is where it stood. */
const char *berth_request_value(const struct berth_request *request, const char *name,
                                const struct berth_given **ret_given);

/* Read BERTH_SUBMIT_* into given, which knows the request and launch options. A variable of that form that names no
 * option is warned about. 0, or an exit code after a complaint. */
BERTH_MUST_USE int berth_request_variables(struct berth_cli *cli, char *const *environment, struct berth_given *ret);

/* The fields that alter may change, as told: a new object. 0, or an exit code after a complaint. now_ms: for --begin.
 */
BERTH_MUST_USE int berth_request_fields(struct berth_cli *cli, const struct berth_request *request, uint64_t now_ms,
                                        json_t **ret);
/* The whole job without argv and script: the fields, and "spec" with cwd, env, output, signals. Without --gpus,
 * --gpu-index asks for all the cards it names. environment: whose variables the job gets, see cli/export.h. */
BERTH_MUST_USE int berth_request_job(struct berth_cli *cli, const struct berth_request *request,
                                     char *const *environment, uint64_t now_ms, json_t **ret);

/* A duration where a bare number is no good, since it would mean minutes: 30s, 5m. As berth_duration_parse. */
BERTH_MUST_USE int berth_timeout_parse(const char *value, uint64_t *ret_ms, struct berth_error *err);
/* "USR1", "SIGUSR1" or "10": its number; -EINVAL when there is no such signal. */
BERTH_MUST_USE int berth_signal_parse(const char *name, int *ret);
#endif
