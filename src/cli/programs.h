#ifndef BERTH_CLI_PROGRAMS_H
#define BERTH_CLI_PROGRAMS_H
/* Other programs that verbs use: berthd for checking a configuration, a browser. */
#include "base/arena.h"
#include "base/text.h"

/* Where a program of berth lies: beside ours as it was called (argv[0]), or as it really lies, there also in ../daemon
 * (a build tree) and ../libexec/berth, else in PATH. In arena; NULL when nowhere. */
const char *berth_program_find(const char *called, const char *name, struct berth_arena *arena);

/* Run it, take all it prints on stdout and stderr, wait for its end. argv ends with NULL. *ret_status: its exit code,
 * 128 + signal. 0 or -errno. */
BERTH_MUST_USE int berth_program_capture(const char *program, char *const *argv, struct berth_text *ret,
                                         int *ret_status);
/* Start it, from PATH, with nothing to read and nowhere to write, and leave it alone. 0, or -errno when it could not be
 * started. */
BERTH_MUST_USE int berth_program_start(const char *name, char *const *argv);
#endif
