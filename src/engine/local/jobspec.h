#ifndef BERTH_ENGINE_LOCAL_JOBSPEC_H
#define BERTH_ENGINE_LOCAL_JOBSPEC_H
/* The stored specification of a job: one JSON object under its SHA-256 in the store; jobs of one batch that differ in
 * nothing share it. The environment is a blob of its own (users submit hundreds of jobs from one shell).
 *
 *   {"argv":["python","train.py"],"script":null|"#!/bin/sh\n…","cwd":"/home/lin",
 *    "output":"berth-%j.out","error":null|"…","env":"<sha-256 of a blob: a JSON array of NAME=VALUE>",
 *    "stop_signal":15,"warn_signal":10,"warn_ms":120000,"sim_load":null|"0:10:2G,30:95:40G"}
 */
#include <jansson.h>
#include "base/error.h"
#include "store/store.h"

struct berth_jobspec {
	json_t *root; /* owned */
	json_t *env;  /* owned: array of strings; NULL until loaded */
};

/* Check a specification that a client sent: types, lengths, absolute cwd, argv or script not empty, no NUL, output
 * patterns known
 * (%j %A %a %x %u %N %%, %5j zero-padded; an unknown one is refused by name). -EINVAL with the field in err. */
BERTH_MUST_USE int berth_jobspec_check(json_t *spec, struct berth_error *err);
/* Load a job's specification (and environment) from the store. */
BERTH_MUST_USE int berth_jobspec_load(struct berth_store *store, const char *key, struct berth_jobspec *ret,
                                      struct berth_error *err);
void berth_jobspec_fini(struct berth_jobspec *spec);

/* Expand an output pattern; relative ones stand in cwd. Allocated; NULL with err (unknown %, too long). */
char *berth_jobspec_path(const char *pattern, const char *cwd, const struct berth_job *job, const char *node,
                         struct berth_error *err);
#endif
