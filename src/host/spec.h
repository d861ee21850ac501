#ifndef BERTH_HOST_SPEC_H
#define BERTH_HOST_SPEC_H
/* The specification of one attempt: what to run, where, with which environment. It travels as a sealed memfd from the
 * engine through berth-exec to the shim's child, which parses it only after it has dropped its privileges; nothing
 * privileged ever reads it.
 *
 * Layout: struct berth_spec_header, then n_argv + n_env + BERTH_SPEC_PATHS NUL-terminated strings. argv[0] is looked up
 * in the job's own PATH.
 */
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define BERTH_SPEC_MAGIC 0x62727370u /* "brsp" */
#define BERTH_SPEC_VERSION 1u
#define BERTH_SPEC_BYTES_MAX (16u << 20)

enum berth_spec_path {
	BERTH_SPEC_CWD,
	BERTH_SPEC_STDOUT, /* absolute, pattern already expanded; missing parents are made */
	BERTH_SPEC_STDERR, /* "" = joined with stdout */
	BERTH_SPEC_SCRIPT, /* "" = none; else the text of a script: written to a memfd, run by its #! line; argv[1] and
	                      following are its arguments (argv[0] is replaced by the interpreter's) */
	BERTH_SPEC_PATHS
};

struct berth_spec_header {
	uint32_t magic, version;
	uint32_t n_argv, n_env; /* n_argv at least 1 */
	uint32_t is_append;     /* output is appended to (later attempts), else truncated */
	uint32_t reserved;
	uint64_t len; /* of all that follows */
};

struct berth_spec {
	char **argv; /* NULL-terminated; the strings may be changed in place */
	char **env;  /* NULL-terminated */
	const char *path[BERTH_SPEC_PATHS];
	int is_append;
	void *memory; /* owned: what the pointers point into */
};

/* A sealed memfd (write, shrink, grow, seal) holding the specification. Everything is copied; a NULL path is "".
 * Returns the fd, close-on-exec, or -errno (-E2BIG beyond the maximum). */
BERTH_MUST_USE int berth_spec_seal(char *const argv[], char *const env[], const char *const path[BERTH_SPEC_PATHS],
                                   int is_append);
/* Read one; fd stays the caller's. Refuses (-EBADMSG) an unsealed fd, wrong magic, counts or lengths that do not add
 * up, strings not terminated. ret is untouched then. */
BERTH_MUST_USE int berth_spec_read(int fd, struct berth_spec *ret, struct berth_error *err);
void berth_spec_fini(struct berth_spec *spec);
#endif
