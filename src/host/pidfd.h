#ifndef BERTH_HOST_PIDFD_H
#define BERTH_HOST_PIDFD_H
/* The exit status of a process that is not our child, from a pidfd that was opened while it lived: the second witness
 * of exit codes. Linux 6.15 and later (PIDFD_GET_INFO with PIDFD_INFO_EXIT, include/uapi/linux/pidfd.h). */
#include "base/cleanup.h"

/* 0 and the wait status, as waitpid gives it; -EAGAIN it lives, or its parent has not reaped it yet; -EOPNOTSUPP this
 * kernel does not tell; another -errno. */
BERTH_MUST_USE int berth_pidfd_status(int pidfd, int *ret_status);
#endif
