#ifndef BERTH_BASE_CLOCK_H
#define BERTH_BASE_CLOCK_H
/* The two clocks. The core has none: its hosts pass time in. */
#include <stdint.h>

/* CLOCK_BOOTTIME in milliseconds: runs through suspend, never steps. For limits, grace, back-off. */
uint64_t berth_clock_boot_ms(void);
/* CLOCK_REALTIME in milliseconds since 1970 UTC: for records that people read; may step. */
uint64_t berth_clock_wall_ms(void);
/* This boot's id (/proc/sys/kernel/random/boot_id), 36 characters and NUL. 0, or -errno and "" in ret. */
int berth_clock_boot_id(char ret[static 37]);
#endif
