#ifndef BERTH_DEVICE_DEVICE_H
#define BERTH_DEVICE_DEVICE_H
/* Device back ends: one table of functions per vendor, compiled in, run inside berth-probe only (vendor calls hang when
 * a card dies, so they hang in another process). Devices are known by UUID; every value carries a validity bit: absent
 * is not zero. Texts that a back end hands out are NUL-terminated inside their arrays.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define BERTH_DEVICE_ABI 1u
#define BERTH_DEVICE_UUID_MAX 64
#define BERTH_DEVICES_MAX 64 /* of one probe */
#define BERTH_LINKS_MAX (BERTH_DEVICES_MAX * (BERTH_DEVICES_MAX - 1) / 2)

enum berth_device_health { BERTH_DEVICE_HEALTH_UNKNOWN = 0, BERTH_DEVICE_HEALTH_OK, BERTH_DEVICE_HEALTH_LOST };

/* What holds until the next scan. */
struct berth_device_facts {
	char uuid[BERTH_DEVICE_UUID_MAX]; /* the key: stable over restarts and re-numbering */
	char kind[8];                     /* "gpu", "npu" */
	char model[64];
	char bdf[16]; /* PCI address, "" unknown */
	uint32_t index;
	uint32_t sm_count; /* multiprocessors; 0 unknown */
	uint64_t mem_bytes;
	int32_t numa_node; /* -1 unknown */
};

enum berth_sample_field {
	BERTH_SAMPLE_UTIL = 1u << 0,
	BERTH_SAMPLE_MEM = 1u << 1,
	BERTH_SAMPLE_HEALTH = 1u << 2,
};
struct berth_sample {
	uint64_t at_ms; /* CLOCK_BOOTTIME */
	uint32_t valid; /* enum berth_sample_field: a field not set here is unknown */
	uint32_t util_permille;
	uint64_t mem_used_bytes;
	enum berth_device_health health;
};

enum berth_link_kind { BERTH_LINK_UNKNOWN = 0, BERTH_LINK_PCIE, BERTH_LINK_NVLINK, BERTH_LINK_NVSWITCH };
/* Between two devices, each pair at most once: a < b, both are positions in the scan. */
struct berth_link {
	uint16_t a, b;
	uint32_t mbyte_per_s; /* one direction, 10^6 bytes */
	enum berth_link_kind kind;
};

struct berth_driver; /* instance state, defined by each back end */

struct berth_driver_ops {
	uint32_t abi;     /* BERTH_DEVICE_ABI, compared before anything else is read */
	const char *name; /* "sim"; later "nvml", "amd", "ascend", "replay" */

	/* --- required --- */

	/* arg: what stands behind "name:" in --devices, "" when nothing does. identity: makes the UUIDs of devices that
	 * have none of their own (simulated ones) unique and stable; real drivers do not read it. Both borrowed for the
	 * call. 0; -ENODEV this vendor's stack is absent; -EINVAL bad arg; another -errno. */
	int (*open)(const char *arg, const char *identity, struct berth_driver **ret, struct berth_error *err);
	void (*close)(struct berth_driver *driver);
	/* At most cap entries; *ret_n is how many there are. */
	int (*scan)(struct berth_driver *driver, struct berth_device_facts *ret, size_t cap, size_t *ret_n,
	            struct berth_error *err);
	/* now_ms: CLOCK_BOOTTIME. -ENOENT no such device. A lost device is a sample with health LOST, not an error. */
	int (*sample)(struct berth_driver *driver, const char *uuid, uint64_t now_ms, struct berth_sample *ret,
	              struct berth_error *err);

	/* --- optional: NULL = not supported --- */

	/* At most cap entries; *ret_n is how many there are. */
	int (*links)(struct berth_driver *driver, struct berth_link *ret, size_t cap, size_t *ret_n,
	             struct berth_error *err);
	/* Simulated devices: since since_ms the holder ("JOB.ATTEMPT") has used this device as the profile says ("" =
	 * the default one); NULL profile = it left. Telling the same again changes nothing. -ENOENT no such device,
	 * -EINVAL. */
	int (*load)(struct berth_driver *driver, const char *uuid, const char *holder, const char *profile,
	            uint64_t since_ms, struct berth_error *err);
	/* Simulated devices: a fault or a reading, in force since since_ms; see device/sim/sim.h for the words.
	 * -ENOENT, -EINVAL. */
	int (*inject)(struct berth_driver *driver, const char *uuid, const char *what, uint64_t since_ms,
	              struct berth_error *err);
};

/* The compiled-in drivers, NULL-terminated. */
extern const struct berth_driver_ops *const berth_drivers[];
/* By name; NULL when there is none (or one of another ABI). */
const struct berth_driver_ops *berth_driver_find(const char *name);
#endif
