#ifndef BERTH_CORE_REQUEST_H
#define BERTH_CORE_REQUEST_H
/* What a job asks of the machine. Requests are interned: jobs that ask the same share one shape, and every pass of the
 * scheduler costs per shape, not per job. */
#include <stdint.h>

/* A node has at most this many devices: the widest servers sold hold 16 cards. */
#define BERTH_NODE_DEVICES_MAX 16
#define BERTH_NO_DEVICE UINT32_MAX

/* Devices given to one attempt, ascending by device id. A share of a device will gain fields here (milli-GPU, memory,
 * partition); today a share is a whole device. */
struct berth_share {
	uint32_t device; /* device id, see berth_fact_device */
};

struct berth_share_set {
	uint32_t n;
	struct berth_share share[BERTH_NODE_DEVICES_MAX];
};

struct berth_request {
	uint32_t gpus;          /* whole devices; 0 = none */
	uint64_t gpu_mem_bytes; /* least memory of each; 0 = any */
	uint64_t index_mask;    /* bit i: the device with index i may be used; 0 = any. Exactly these when gpus equals
	                           the bits */
	uint64_t limit_ms;      /* run time limit, UINT64_MAX = unlimited; never 0 */
	const char *gpu_model;  /* vendor-neutral model as the device reports it, compared without case; "" = any */
};
#endif
