#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/file.h"

static uint64_t read_ms(clockid_t clock)
{
	struct timespec now = {0};

	(void)clock_gettime(clock, &now); /* both clocks exist since Linux 2.6.39 and cannot fail */
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

uint64_t berth_clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

uint64_t berth_clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int berth_clock_boot_id(char ret[static 37])
{
	char buf[64];
	int r = berth_file_read_proc("/proc/sys/kernel/random/boot_id", buf, sizeof(buf));

	ret[0] = '\0';
	if (r < 0)
		return r;
	if (strcspn(buf, "\n") != 36)
		return -EBADMSG;
	memcpy(ret, buf, 36);
	ret[36] = '\0';
	return 0;
}
