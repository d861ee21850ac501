#include "device/answer.h"

#include <errno.h>
#include <string.h>

void berth_answer_begin(struct berth_answer *answer, uint32_t kind, uint32_t number)
{
	answer->kind = kind;
	answer->number = number;
	answer->n = 0;
	answer->result = 0;
	answer->err = (struct berth_error){0};
}

static bool is_text(const char *s, size_t size)
{
	return memchr(s, '\0', size) != NULL;
}

static bool is_sound_device(const struct berth_device_facts *device)
{
	return device->uuid[0] != '\0' && is_text(device->uuid, sizeof(device->uuid)) &&
	       is_text(device->kind, sizeof(device->kind)) && is_text(device->model, sizeof(device->model)) &&
	       is_text(device->bdf, sizeof(device->bdf));
}

static int take_devices(struct berth_answer *answer, const struct berth_probe_answer *packet, struct berth_error *err)
{
	for (uint32_t i = 0; i < packet->n; i++) {
		const struct berth_device_facts *device = &packet->u.device[i];

		if (!is_sound_device(device))
			return berth_error_set(err, -EPROTO,
			                       "it describes a device without a UUID or with an endless text");
		for (uint32_t k = 0; k < answer->n; k++)
			if (strcmp(answer->device[k].uuid, device->uuid) == 0)
				return berth_error_set(err, -EPROTO, "it tells of two devices %s", device->uuid);
		answer->device[answer->n++] = *device;
	}
	return 0;
}

static int take_links(struct berth_answer *answer, const struct berth_probe_answer *packet, struct berth_error *err)
{
	for (uint32_t i = 0; i < packet->n; i++) {
		const struct berth_link *link = &packet->u.link[i];

		if (link->a >= link->b || link->b >= BERTH_DEVICES_MAX || link->kind > BERTH_LINK_NVSWITCH)
			return berth_error_set(err, -EPROTO, "it tells of a link between devices %u and %u of kind %u",
			                       link->a, link->b, (unsigned)link->kind);
		answer->link[answer->n++] = *link;
	}
	return 0;
}

static int take_sample(struct berth_answer *answer, const struct berth_probe_answer *packet)
{
	answer->sample = packet->u.sample;
	answer->n = 1;
	if (answer->sample.util_permille > 1000)
		answer->sample.valid &= ~(uint32_t)BERTH_SAMPLE_UTIL;
	if (answer->sample.health > BERTH_DEVICE_HEALTH_LOST)
		answer->sample.valid &= ~(uint32_t)BERTH_SAMPLE_HEALTH;
	return 0;
}

static int take_items(struct berth_answer *answer, const struct berth_probe_answer *packet, struct berth_error *err)
{
	switch (answer->kind) {
	case BERTH_PROBE_SCAN:
		return take_devices(answer, packet, err);
	case BERTH_PROBE_LINKS:
		return take_links(answer, packet, err);
	case BERTH_PROBE_SAMPLE:
		return take_sample(answer, packet);
	default:
		return 0;
	}
}

/* How many items an answer to this kind may have in all, and in one packet. */
static void limits(uint32_t kind, uint32_t *ret_all, uint32_t *ret_packet)
{
	*ret_all = kind == BERTH_PROBE_SCAN ? BERTH_DEVICES_MAX : kind == BERTH_PROBE_LINKS ? BERTH_LINKS_MAX : 0;
	*ret_packet = kind == BERTH_PROBE_SCAN ? BERTH_PROBE_DEVICES_PER_PACKET : BERTH_PROBE_LINKS_PER_PACKET;
	if (kind == BERTH_PROBE_SAMPLE)
		*ret_all = *ret_packet = 1;
}

static bool is_sound_count(const struct berth_answer *answer, const struct berth_probe_answer *packet)
{
	uint32_t all;
	uint32_t per_packet;

	limits(answer->kind, &all, &per_packet);
	return packet->n_all <= all && packet->n <= per_packet && packet->first == answer->n &&
	       packet->first <= packet->n_all &&
	       packet->n <= packet->n_all - packet->first && (packet->n > 0 || packet->n_all == 0) &&
	       (answer->kind != BERTH_PROBE_SAMPLE || packet->n == 1);
}

int berth_answer_take(struct berth_answer *answer, const struct berth_probe_answer *packet, size_t len,
                      struct berth_error *err)
{
	int r;

	if (len != sizeof(*packet) || packet->magic != BERTH_PROBE_MAGIC || packet->version != BERTH_PROBE_VERSION)
		return berth_error_set(err, -EPROTO, "it is of another version of berth; install both from one build");
	if (packet->kind != answer->kind || packet->number != answer->number)
		return berth_error_set(err, -EPROTO, "it answers what was not asked");
	if (packet->result < 0) {
		if (!is_text(packet->u.text, sizeof(packet->u.text)) || packet->n_all != 0)
			return berth_error_set(err, -EPROTO, "it refuses with an endless text");
		answer->result = packet->result;
		answer->n = 0;
		(void)berth_error_set(&answer->err, packet->result, "%s", packet->u.text);
		return 1;
	}
	if (!is_sound_count(answer, packet))
		return berth_error_set(err, -EPROTO, "it counts wrongly");
	r = take_items(answer, packet, err);
	if (r < 0)
		return r;
	return answer->n == packet->n_all;
}
