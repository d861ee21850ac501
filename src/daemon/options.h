#ifndef BERTH_DAEMON_OPTIONS_H
#define BERTH_DAEMON_OPTIONS_H
/* The daemon's command line. */
#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"

/* Strings point into argv; NULL = not given. */
struct berth_options {
	const char *config;       /* --config FILE */
	const char *state;        /* --state DIR */
	const char *socket;       /* --socket PATH */
	const char *listen;       /* --listen ADDR:PORT|none */
	const char *devices;      /* --devices SPEC */
	const char *log_level;    /* --log-level LEVEL */
	const char *check_config; /* --check-config FILE: check it and end */
	bool is_demo;             /* --demo */
	bool wants_help, wants_version;
};

/* "--name VALUE" and "--name=VALUE". -EINVAL with what to write instead: an unknown option (with the nearest one), one
 * of a later version, a missing or empty value, a value where none belongs, an option given twice, a stray word. */
BERTH_MUST_USE int berth_options_parse(int argc, char *const argv[], struct berth_options *ret,
                                       struct berth_error *err);
void berth_options_help(FILE *out);
#endif
