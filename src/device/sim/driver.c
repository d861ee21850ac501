#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "device/sim/fleet.h"
#include "device/sim/profile.h"

#define HOLDERS_MAX 8 /* of one card at once: one, and for a moment the next */
#define HOLDER_TEXT_MAX 48

struct holder {
	char name[HOLDER_TEXT_MAX]; /* "" = free slot */
	uint64_t since_ms;
	struct berth_sim_profile profile;
};

struct card {
	struct berth_device_facts facts;
	struct holder holder[HOLDERS_MAX];
	bool is_util_set, is_mem_set, is_lost;
	uint32_t util_permille; /* when is_util_set */
	uint64_t mem_bytes;     /* when is_mem_set */
	uint64_t hang_until_ms; /* CLOCK_BOOTTIME; 0 = none */
};

struct berth_driver {
	struct berth_sim_fleet fleet;
	struct card card[BERTH_SIM_CARDS_MAX];
};

/* Version and variant bits as RFC 9562 has them for a version 8 UUID: content of one's own. */
static void make_uuid(const char *identity, size_t index, char ret[BERTH_DEVICE_UUID_MAX])
{
	const uint64_t h = berth_hash_u64(berth_hash_bytes(BERTH_HASH_SEED, identity, strlen(identity)) + index);
	const uint64_t low = berth_hash_u64(h ^ berth_hash_bytes(h, identity, strlen(identity)));

	(void)snprintf(ret, BERTH_DEVICE_UUID_MAX, "SIM-%08x-%04x-8%03x-%04x-%012llx", (unsigned)(h >> 32),
	               (unsigned)(h >> 16) & 0xffffu, (unsigned)h & 0xfffu, 0x8000u | ((unsigned)(low >> 48) & 0x3fffu),
	               (unsigned long long)(low & 0xffffffffffffull));
}

static void make_card(const struct berth_sim_fleet *fleet, size_t index, const char *identity, struct card *ret)
{
	const struct berth_sim_model *model = fleet->model[index];
	struct berth_device_facts *facts = &ret->facts;

	make_uuid(identity, index, facts->uuid);
	(void)snprintf(facts->kind, sizeof(facts->kind), "gpu");
	(void)snprintf(facts->model, sizeof(facts->model), "%s", model->name);
	(void)snprintf(facts->bdf, sizeof(facts->bdf), "0000:%02x:00.0", (unsigned)(0x10 + 8 * index) & 0xffu);
	facts->index = (uint32_t)index;
	facts->sm_count = model->sm_count;
	facts->mem_bytes = model->mem_bytes;
	facts->numa_node = index < (fleet->n + 1) / 2 ? 0 : 1;
}

static int sim_open(const char *arg, const char *identity, struct berth_driver **ret, struct berth_error *err)
{
	BERTH_AUTO_FREE struct berth_driver *driver = calloc(1, sizeof(*driver));
	int r;

	if (!driver)
		return berth_error_set(err, -ENOMEM, "simulated cards: memory is out");
	r = berth_sim_fleet_parse(arg, &driver->fleet, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < driver->fleet.n; i++)
		make_card(&driver->fleet, i, identity, &driver->card[i]);
	*ret = BERTH_TAKE(driver);
	return 0;
}

static void sim_close(struct berth_driver *driver)
{
	free(driver);
}

static int sim_scan(struct berth_driver *driver, struct berth_device_facts *ret, size_t cap, size_t *ret_n,
                    struct berth_error *err)
{
	for (size_t i = 0; i < driver->fleet.n && i < cap; i++)
		ret[i] = driver->card[i].facts;
	*ret_n = driver->fleet.n;
	return 0;
}

static int sim_links(struct berth_driver *driver, struct berth_link *ret, size_t cap, size_t *ret_n,
                     struct berth_error *err)
{
	size_t n = 0;

	for (size_t a = 0; a < driver->fleet.n; a++) {
		for (size_t b = a + 1; b < driver->fleet.n; b++, n++)
			if (n < cap)
				ret[n] = berth_sim_fleet_link(&driver->fleet, a, b);
	}
	*ret_n = n;
	return 0;
}

/* NULL with err set (-ENOENT) when there is none. */
static struct card *find_card(struct berth_driver *driver, const char *uuid, struct berth_error *err)
{
	for (size_t i = 0; i < driver->fleet.n; i++)
		if (strcmp(driver->card[i].facts.uuid, uuid) == 0)
			return &driver->card[i];
	(void)berth_error_set(err, -ENOENT, "there is no simulated card %s", uuid);
	return NULL;
}

/* -20..20, a triangle of 8 s whose phase differs by card: looks alive, is the same in every run. */
static int32_t wobble_permille(const struct card *card, uint64_t now_ms)
{
	const int32_t at = (int32_t)((now_ms + 1300u * card->facts.index) % 8000u);

	return at < 4000 ? at / 100 - 20 : 60 - at / 100;
}

/* What the holders make of the card together. */
static void sum_loads(const struct card *card, uint64_t now_ms, struct berth_sample *sample)
{
	for (size_t i = 0; i < HOLDERS_MAX; i++) {
		const struct holder *holder = &card->holder[i];
		const struct berth_sim_phase *phase;

		if (holder->name[0] == '\0')
			continue;
		phase = berth_sim_profile_at(&holder->profile,
		                             now_ms > holder->since_ms ? now_ms - holder->since_ms : 0);
		sample->util_permille += phase->util_permille;
		if (phase->mem_bytes > card->facts.mem_bytes - sample->mem_used_bytes)
			sample->mem_used_bytes = card->facts.mem_bytes;
		else
			sample->mem_used_bytes += phase->mem_bytes;
	}
	if (sample->util_permille > 0) {
		const int32_t util = (int32_t)sample->util_permille + wobble_permille(card, now_ms);

		sample->util_permille = util < 0 ? 0 : (uint32_t)util;
	}
	if (sample->util_permille > 1000)
		sample->util_permille = 1000;
}

/* Sleep as a driver does whose card has stopped answering: nothing but the end of the process ends it early. */
static void hang_until(uint64_t until_ms)
{
	struct timespec at = {.tv_sec = (time_t)(until_ms / 1000), .tv_nsec = (long)(until_ms % 1000) * 1000000};

	while (clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
		continue;
}

static int sim_sample(struct berth_driver *driver, const char *uuid, uint64_t now_ms, struct berth_sample *ret,
                      struct berth_error *err)
{
	struct berth_sample sample = {.at_ms = now_ms, .valid = BERTH_SAMPLE_HEALTH};
	struct card *card = find_card(driver, uuid, err);

	if (!card)
		return -ENOENT;
	if (card->hang_until_ms > now_ms) {
		hang_until(card->hang_until_ms);
		sample.at_ms = berth_clock_boot_ms();
	}
	card->hang_until_ms = 0;
	if (card->is_lost) {
		sample.health = BERTH_DEVICE_HEALTH_LOST;
		*ret = sample;
		return 0;
	}
	sum_loads(card, sample.at_ms, &sample);
	if (card->is_util_set)
		sample.util_permille = card->util_permille;
	if (card->is_mem_set)
		sample.mem_used_bytes = card->mem_bytes;
	sample.valid |= BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM;
	sample.health = BERTH_DEVICE_HEALTH_OK;
	*ret = sample;
	return 0;
}

/* The slot of this holder, or a free one for name ""; NULL when there is none. */
static struct holder *find_holder(struct card *card, const char *name)
{
	for (size_t i = 0; i < HOLDERS_MAX; i++)
		if (strcmp(card->holder[i].name, name) == 0)
			return &card->holder[i];
	return NULL;
}

static int sim_load(struct berth_driver *driver, const char *uuid, const char *name, const char *profile,
                    uint64_t since_ms, struct berth_error *err)
{
	struct holder come = {.since_ms = since_ms};
	struct holder *holder;
	struct card *card = find_card(driver, uuid, err);
	int r;

	if (!card)
		return -ENOENT;
	if (name[0] == '\0' || strlen(name) >= sizeof(come.name))
		return berth_error_set(err, -EINVAL, "'%s' cannot hold a simulated card: the name is empty or too long",
		                       name);
	holder = find_holder(card, name);
	if (!profile) {
		if (holder)
			*holder = (struct holder){0};
		return 0;
	}
	r = berth_sim_profile_parse(profile, card->facts.mem_bytes, &come.profile, err);
	if (r < 0)
		return r;
	if (!holder)
		holder = find_holder(card, "");
	if (!holder)
		return berth_error_set(err, -ENOSPC, "simulated card %s has %d holders already", uuid, HOLDERS_MAX);
	(void)snprintf(come.name, sizeof(come.name), "%s", name);
	*holder = come;
	return 0;
}

static int sim_inject(struct berth_driver *driver, const char *uuid, const char *what, uint64_t since_ms,
                      struct berth_error *err)
{
	struct berth_sim_injection injection;
	struct card *card = find_card(driver, uuid, err);
	int r;

	if (!card)
		return -ENOENT;
	r = berth_sim_inject_parse(what, &injection, err);
	if (r < 0)
		return r;
	switch (injection.kind) {
	case BERTH_SIM_INJECT_UTIL:
		card->is_util_set = !injection.is_auto;
		card->util_permille = (uint32_t)injection.value;
		break;
	case BERTH_SIM_INJECT_MEM:
		if (injection.value > card->facts.mem_bytes)
			return berth_error_set(err, -EINVAL, "mem: %s has only %llu bytes", card->facts.model,
			                       (unsigned long long)card->facts.mem_bytes);
		card->is_mem_set = !injection.is_auto;
		card->mem_bytes = injection.value;
		break;
	case BERTH_SIM_INJECT_LOST:
		card->is_lost = true;
		break;
	case BERTH_SIM_INJECT_RECOVER:
		card->is_lost = false;
		card->hang_until_ms = 0;
		break;
	case BERTH_SIM_INJECT_HANG:
		card->hang_until_ms = since_ms + injection.value;
		break;
	case BERTH_SIM_INJECT_UNKNOWN:
		break;
	}
	return 0;
}

const struct berth_driver_ops berth_driver_sim = {
	.abi = BERTH_DEVICE_ABI,
	.name = "sim",
	.open = sim_open,
	.close = sim_close,
	.scan = sim_scan,
	.sample = sim_sample,
	.links = sim_links,
	.load = sim_load,
	.inject = sim_inject,
};
