#ifndef BERTH_HOST_GROUP_H
#define BERTH_HOST_GROUP_H
/* Holding all processes of an attempt together by a control group, however they fork, so that none is left behind.
 *
 * Where a cgroup v2 directory can be made (v2 alone, or v2 beside v1): a fresh group per attempt. A group that was ever
 * written to cgroup.kill kills what clone3 puts into it later (seen on Linux 6.18), so none is used again.
 * cgroup.kill ends all of it at once, forks under way included; cgroup.events says when it is empty.
 * Where none can be made: host/kin.h. `berth doctor` says which of the two holds on this machine.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

#define BERTH_GROUP_PATH_MAX 256

/* The directory under which groups can be made here (own group of this process in the v2 hierarchy, writable), as
 * DIR/berth-UID-TAG; made if missing. tag: keeps two state directories apart.
 * -EOPNOTSUPP with the reason in err when there is none. ret at least BERTH_GROUP_PATH_MAX bytes. */
BERTH_MUST_USE int berth_group_root(const char *tag, char *ret, size_t cap, struct berth_error *err);
/* Make a fresh group, and its root when that has gone; -EEXIST is an error: groups are never used again. */
BERTH_MUST_USE int berth_group_make(const char *root, const char *name, char *ret_path, size_t cap);
/* fork(), the child born inside: 0 in the child, its pid, or -errno (-ENOSYS, -EPERM: not allowed here, as by some
 * seccomp filters; fork and attach instead). Moving a process makes the kernel wait until every CPU has taken note,
 * some 10 ms; a birth does not. The child may do what is allowed after fork() in a program of one thread. */
BERTH_MUST_USE pid_t berth_group_fork(const char *path);
/* Move a process in; what it forks from then on is born inside. */
BERTH_MUST_USE int berth_group_attach(const char *path, pid_t pid);
/* SIGKILL to all inside. 0 also when the group is gone. */
BERTH_MUST_USE int berth_group_kill(const char *path);
/* 1 processes inside (zombies do not count), 0 empty (or the group is gone), -errno unknown. */
BERTH_MUST_USE int berth_group_is_populated(const char *path);
/* Did the kernel kill in this group for memory (memory.events oom_kill > 0)? false when it cannot be told: where v1 has
 * the memory controller, for one. */
bool berth_group_had_oom(const char *path);
/* Remove the (empty) group and groups that jobs made below it. 0 also when it is gone; -EBUSY processes are inside. */
BERTH_MUST_USE int berth_group_remove(const char *path);
/* Remove all empty groups directly below root, with what is below them; the others stay. */
void berth_group_sweep(const char *root);
#endif
