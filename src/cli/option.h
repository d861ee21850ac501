#ifndef BERTH_CLI_OPTION_H
#define BERTH_CLI_OPTION_H
/* Options of a verb: one constant table that getopt_long, help, completion and the nearest-word hint are made from. */
#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"
#include "base/error.h"

#define BERTH_OPTIONS_MAX 40 /* of one verb, all its tables together */
#define BERTH_TABLES_MAX 4

struct berth_option {
	const char *name;  /* long name, without dashes; NULL ends a table */
	char letter;       /* short name; 0 = none */
	const char *value; /* what help calls its value; NULL = a switch; in brackets: optional, only as --name=VALUE */
	const char *help;  /* half a sentence */
	const char *conflicts; /* long name of an option that contradicts it; NULL = none */
};

/* What was given: for each option of the tables, in their order. {0} plus berth_given_init. Borrows tables and values.
 */
struct berth_given {
	const struct berth_option *option[BERTH_OPTIONS_MAX];
	const char *value[BERTH_OPTIONS_MAX]; /* NULL = not given; "" = a switch, or an optional value left out */
	const char *where[BERTH_OPTIONS_MAX]; /* set with value: where it stood, "" = on the command line */
	size_t n;
};

/* tables: NULL-terminated list of tables, borrowed for as long as given is used. */
void berth_given_init(struct berth_given *given, const struct berth_option *const *tables);

/* Read options from argv[1..argc) into given. Long names must be written out.
 *
 * where        "" for the command line, else what stands before messages ("train.sh line 3"); borrowed as long as
 * given. stop_early   true: the first word that is no option ends the options (what follows is a command line of its
 * own); false: operands and options mix, and argv is sorted so that operands stand last. ret_operand  index of the
 * first operand in argv; argc when there is none. ret_dashes   whether a "--" stood before the operands.
 *
 * The same option again with another value, and two that contradict each other, are refused: which one was meant?
 * 0 or -EINVAL with err (what) and *ret_help (what would help, allocated in arena; NULL = nothing to add). */
BERTH_MUST_USE int berth_given_parse(struct berth_given *given, int argc, char **argv, const char *where,
                                     bool stop_early, struct berth_arena *arena, int *ret_operand, bool *ret_dashes,
                                     const char **ret_help, struct berth_error *err);

/* Set one option as if it had been read; checks as above. NULL option name: -ENOENT when the tables have no such
 * option. */
BERTH_MUST_USE int berth_given_set(struct berth_given *given, const char *name, const char *value, const char *where,
                                   struct berth_error *err);

/* The value of an option, NULL when it was not given. The name must be in the tables. */
const char *berth_given_value(const struct berth_given *given, const char *name);
bool berth_given_has(const struct berth_given *given, const char *name);
/* How messages call the option: "--time", or "--time (train.sh line 3)". In arena. */
const char *berth_given_name(const struct berth_given *given, const char *name, struct berth_arena *arena);
#endif
