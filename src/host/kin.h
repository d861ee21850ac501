#ifndef BERTH_HOST_KIN_H
#define BERTH_HOST_KIN_H
/* Processes by descent, by their environment, by their start: how an attempt is held together where there are no
 * control groups, and told apart from strangers where there are.
 *
 * The shim and berth-exec are sub-reapers: whatever descends from them (setsid and double fork included) stays their
 * descendant. Signals go by pidfd to a process whose start time was checked, so never to a later one with the same pid.
 * Zombies do not count as alive.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

/* Signal all descendants of the calling process; sig 0 = only count. skip: n pids that are left out with all that
 * descends from them. Returns how many were alive, or -errno when /proc could not be read. */
BERTH_MUST_USE int berth_kin_signal(int sig, const pid_t *skip, size_t n);
/* The same, but only to those that have a handler for sig: a signal that asks for a checkpoint must not kill a shell
 * that does not know it. Returns how many got it, or -errno. */
BERTH_MUST_USE int berth_kin_warn(int sig);
/* Processes anywhere that were started with NAME=VALUE in their environment and belong to this user (the caller itself
 * left out): the last net for an attempt whose shim was killed. Returns how many were alive, or -errno. */
BERTH_MUST_USE int berth_kin_signal_marked(const char *name, const char *value, int sig);

/* Start time of a process (field 22 of /proc/PID/stat, clock ticks since boot), 0 when there is none. */
uint64_t berth_kin_start(pid_t pid);
#endif
