#ifndef BERTH_CLI_EXPORT_H
#define BERTH_CLI_EXPORT_H
/* Which variables a job gets: --export ALL (the default), NONE, or names and NAME=VALUE pairs with commas, to which ALL
 * may belong.
 *
 * Without ALL a job still gets what every login has, HOME, LOGNAME, SHELL, USER from the account and a plain PATH:
 * without these hardly anything can be run. JSON carries UTF-8 only: a variable that is none is left behind, with a
 * warning that names it.
 */
#include <jansson.h>
#include "base/error.h"

/* A new array of "NAME=VALUE". choice: as above, NULL = ALL. environment: NULL-terminated, borrowed. NULL with err on a
 * choice that makes no sense. */
json_t *berth_export(const char *choice, char *const *environment, struct berth_error *err);
#endif
