#ifndef BERTH_DEVICE_ANSWER_H
#define BERTH_DEVICE_ANSWER_H
/* Taking a probe's answers: packets are put together, and nothing in them is believed before it was looked at. */
#include "device/probe_wire.h"

/* One question's answer, as far as it has come. Prepared by berth_answer_begin. */
struct berth_answer {
	uint32_t kind, number; /* of the question */
	uint32_t n;            /* items taken */
	int result;            /* < 0: refused, why in err */
	struct berth_error err;
	/* by kind */
	struct berth_device_facts device[BERTH_DEVICES_MAX];
	struct berth_link link[BERTH_LINKS_MAX];
	struct berth_sample sample;
};

void berth_answer_begin(struct berth_answer *answer, uint32_t kind, uint32_t number);
/* A packet of len bytes arrived. 1: the answer is whole (refused ones too); 0: more comes; -EPROTO: this is no answer
 * to the question, or says what cannot be; err tells what. A sample's value outside its range (a driver's slip) makes
 * that one value unknown. */
BERTH_MUST_USE int berth_answer_take(struct berth_answer *answer, const struct berth_probe_answer *packet, size_t len,
                                     struct berth_error *err);
#endif
