#include "host/pidfd.h"

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>

/* Older headers do not have it; the size is part of the call's number and says which version is meant. */
struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};
#define GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define INFO_EXIT (1u << 3)

int berth_pidfd_status(int pidfd, int *ret_status)
{
	struct pidfd_info info = {.mask = INFO_EXIT};

	if (ioctl(pidfd, GET_INFO, &info) < 0)
		return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
	if (!(info.mask & INFO_EXIT))
		return -EAGAIN;
	*ret_status = info.exit_code;
	return 0;
}
