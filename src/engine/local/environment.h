#ifndef BERTH_ENGINE_LOCAL_ENVIRONMENT_H
#define BERTH_ENGINE_LOCAL_ENVIRONMENT_H
/* The environment of an attempt: as it was at submission, with what berth says about the attempt put over it. */
#include <jansson.h>
#include "base/arena.h"
#include "core/core.h"
#include "host/attempt.h"

struct berth_environment {
	const struct berth_core *core;
	const struct berth_job *job; /* its attempt is the one to start, its set the devices */
	const char *attempts_dir;    /* DIR/attempts, absolute: the job's own files are named there */
	const char *socket_path;     /* BERTH_SOCKET */
	const char *node;
	const char *cwd;
};

/* submitted: array of NAME=VALUE. Returns a NULL-terminated array in arena; NULL when memory is out. A job without
 * cards gets CUDA_VISIBLE_DEVICES=-1 (CUDA takes an unknown first entry as the end of the list), one with cards their
 * UUIDs. What an enclosing berth or Slurm job said about itself is not handed on. */
char **berth_environment_make(const struct berth_environment *of, json_t *submitted, struct berth_arena *arena);
#endif
