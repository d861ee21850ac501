#ifndef BERTH_DEVICE_PROBE_WIRE_H
#define BERTH_DEVICE_PROBE_WIRE_H
/* What berthd and berth-probe say to each other: fixed-size structs, one a packet of a SEQPACKET socketpair, in the
 * machine's byte order (both ends are one installation on one machine; magic and version are compared first).
 *
 * The daemon asks one question at a time. Each is answered in order, under its number, by one packet; by several for
 * SCAN and LINKS when not everything fits: each tells how many items there are in all, which is its first and how many
 * it holds. A refusal (result < 0) is one packet without items. Numbers outside what is written here end the
 * connection.
 */
#include "device/device.h"

#define BERTH_PROBE_MAGIC 0x62727072u /* "brpr" */
#define BERTH_PROBE_VERSION 1u
#define BERTH_PROBE_FD 3 /* the probe's end of the socketpair */

#define BERTH_PROBE_HOLDER_MAX 48
#define BERTH_PROBE_TEXT_MAX 1024

enum berth_probe_kind {
	BERTH_PROBE_UNKNOWN = 0,
	BERTH_PROBE_SCAN,   /* answer: devices */
	BERTH_PROBE_LINKS,  /* answer: links; -EOPNOTSUPP when the driver has none */
	BERTH_PROBE_SAMPLE, /* of uuid; answer: sample */
	BERTH_PROBE_LOAD,   /* holder uses uuid since at_ms with the profile text; answer: result alone */
	BERTH_PROBE_LEAVE,  /* holder left uuid; answer: result alone */
	BERTH_PROBE_INJECT, /* text into uuid; answer: result alone */
	BERTH_PROBE_KIND_COUNT
};

struct berth_probe_question {
	uint32_t magic, version;
	uint32_t kind; /* enum berth_probe_kind */
	uint32_t number;
	uint64_t at_ms; /* LOAD, INJECT: CLOCK_BOOTTIME at which it began, also when told again later; else not read */
	char uuid[BERTH_DEVICE_UUID_MAX];
	char holder[BERTH_PROBE_HOLDER_MAX];
	char text[BERTH_PROBE_TEXT_MAX];
};

#define BERTH_PROBE_DEVICES_PER_PACKET 4u
#define BERTH_PROBE_LINKS_PER_PACKET 64u

struct berth_probe_answer {
	uint32_t magic, version;
	uint32_t kind, number; /* of the question */
	int32_t result;        /* 0 or negative errno, then text says what */
	uint32_t n_all;        /* items in all packets of this answer */
	uint32_t first, n;     /* those in this packet; n = 0 only when n_all is 0 */
	union {
		struct berth_device_facts device[BERTH_PROBE_DEVICES_PER_PACKET];
		struct berth_link link[BERTH_PROBE_LINKS_PER_PACKET];
		struct berth_sample sample;
		char text[sizeof(((struct berth_error *)0)->text)];
	} u;
};
#endif
