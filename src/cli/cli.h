#ifndef BERTH_CLI_CLI_H
#define BERTH_CLI_CLI_H
/* What every verb gets, and the codes it gives back. One process runs one verb: what is allocated in the arena lives to
 * its end. */
#include <jansson.h>
#include "base/arena.h"
#include "cli/option.h"

/* Exit codes, a promise to scripts. `run`, `wait` and `submit --wait` end with the job's own code instead. */
enum berth_exit {
	BERTH_EXIT_OK = 0,
	BERTH_EXIT_FAILED = 1,
	BERTH_EXIT_USAGE = 2,
	BERTH_EXIT_NO_SUCH = 3,
	BERTH_EXIT_DENIED = 4,
	BERTH_EXIT_REFUSED = 5, /* by policy, quota, or because it can never be met */
	BERTH_EXIT_UNREACHABLE = 6,
	BERTH_EXIT_TIMED_OUT = 7, /* wait --timeout */
	BERTH_EXIT_PARTLY = 8,    /* several objects, some done */
	BERTH_EXIT_JOB_TIMEOUT = 124,
	BERTH_EXIT_JOB_UNKNOWN = 125, /* device lost, or nobody knows the code */
	BERTH_EXIT_JOB_CANCELLED = 130,
};

struct berth_cli;

struct berth_verb {
	const char *name;                  /* "config show" has two words; NULL ends a table */
	const char *args;                  /* operands as help shows them */
	const char *summary;               /* one line; NULL = not for people */
	int (*run)(struct berth_cli *cli); /* an exit code */
	int min_operands;
	int max_operands;                                    /* -1 = any number */
	const struct berth_option *tables[BERTH_TABLES_MAX]; /* ends with NULL when not full; common ones are added */
	bool has_command; /* the first operand begins a command line that is not ours */
	const char *more; /* paragraphs below the options in help; NULL = none */
};

struct berth_cli {
	const struct berth_verb *verb; /* NULL until known */
	const char *program;           /* argv[0] as it was called, for finding programs beside it */
	struct berth_given given;
	int argc;        /* operands */
	char **argv;     /* borrowed; argv[argc] is NULL */
	bool has_dashes; /* a "--" stood before the operands */
	bool is_json;
	json_t *errors;     /* borrowed array: with --json, complaints go here instead of to stdout; NULL = to stdout */
	const char *socket; /* that a daemon answered on in this run; NULL = none yet. In arena */
	struct berth_arena arena;
};

extern const struct berth_option berth_common_options[]; /* --json --socket --help */

/* Say that the verb failed, and return `code` for it to return: "error: MESSAGE" and below it the lines of help,
 * indented, on stderr; with --json the error object on stdout instead.
 *
 * word   the error's code in JSON, as docs/api.md: "Usage", "NoSuchJob" …
 * help   NULL = nothing to add; may have several lines. */
int berth_complain(const struct berth_cli *cli, enum berth_exit code, const char *word, const char *help,
                   const char *fmt, ...) BERTH_PRINTF(5, 6);
/* The same when memory is out: BERTH_EXIT_FAILED. */
int berth_complain_memory(const struct berth_cli *cli);
/* The same for an error object of the daemon: its "error" member, or anything else, which is called an answer not
 * understood. */
int berth_complain_answer(const struct berth_cli *cli, enum berth_exit code, const json_t *error);
/* "warning: …" on stderr, also with --json. */
void berth_warn(const char *fmt, ...) BERTH_PRINTF(1, 2);
/* "berth: …" on stderr: what goes on, for people. */
void berth_say(const char *fmt, ...) BERTH_PRINTF(1, 2);

/* One JSON object and a newline to stdout. BERTH_EXIT_OK, or BERTH_EXIT_FAILED when stdout cannot take it. */
int berth_print_json(const json_t *object);
/* The exit code that stands for an HTTP status: 2xx 0; 400 usage; 404; 401 and 403; 413, 422 and 429 refused; others
 * failed. */
enum berth_exit berth_exit_of_status(int status);
#endif
