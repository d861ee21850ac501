#include "api/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "api/post.h"
#include "base/text.h"
#include "base/units.h"

#define NAME_MAX_BYTES 128u
#define MODEL_MAX_BYTES 64u
#define GPUS_MAX 1000000u
#define REQUEUE_MAX 1000u
/* A number of milliseconds that a client may name: 100 years. */
#define MS_MAX (UINT64_C(100) * 365 * 86400 * 1000)

/* One value on its way in. */
struct place {
	struct berth_ask *ask;
	json_t *value;
	const char *where, *name;
	uint64_t now_ms;
	struct berth_error *err;
};

static int refuse(const struct place *at, const char *expected)
{
	return berth_error_set(at->err, -EINVAL, "%s%s must be %s", at->where, at->name, expected);
}

static int take_number(const struct place *at, uint64_t min, uint64_t max, const char *expected, uint64_t *ret)
{
	const json_int_t value = json_integer_value(at->value);

	if (!json_is_integer(at->value) || value < 0 || (uint64_t)value < min || (uint64_t)value > max)
		return refuse(at, expected);
	*ret = (uint64_t)value;
	return 0;
}

/* What is shown of a name must be what it is: no control characters, nothing that turns text around. */
static int take_name(const struct place *at)
{
	const char *name = json_string_value(at->value);
	BERTH_AUTO_FREE char *shown = name ? berth_utf8_printable(name, 0) : NULL;

	if (!name || name[0] == '\0' || strlen(name) > NAME_MAX_BYTES)
		return refuse(at, "a string of 1 to 128 bytes");
	if (!shown || strcmp(shown, name) != 0)
		return refuse(at, "a string without control characters");
	at->ask->name = name;
	return 0;
}

static int take_gpus(const struct place *at)
{
	uint64_t n;
	const int r = take_number(at, 0, GPUS_MAX,
	                          "a whole number of cards, 0 or more (parts of a card cannot be asked for)", &n);

	if (r == 0)
		at->ask->request.gpus = (uint32_t)n;
	return r;
}

static int take_model(const struct place *at)
{
	const char *model = json_is_null(at->value) ? "" : json_string_value(at->value);

	if (!model || strlen(model) > MODEL_MAX_BYTES)
		return refuse(at, "a string like \"A100-80GB\", or null for any");
	at->ask->request.gpu_model = model;
	return 0;
}

static int take_memory(const struct place *at)
{
	if (json_is_null(at->value)) {
		at->ask->request.gpu_mem_bytes = 0;
		return 0;
	}
	return take_number(at, 1, INT64_MAX, "a number of bytes, or null for any", &at->ask->request.gpu_mem_bytes);
}

static int take_index(const struct place *at)
{
	static const char expected[] = "an array of card indexes from 0 to 63, each once, or null for any";
	uint64_t mask = 0;
	json_t *item;
	size_t i;

	if (!json_is_null(at->value) && (!json_is_array(at->value) || json_array_size(at->value) == 0))
		return refuse(at, expected);
	json_array_foreach(at->value, i, item)
	{
		const json_int_t index = json_integer_value(item);

		if (!json_is_integer(item) || index < 0 || index > 63 || mask >> index & 1)
			return refuse(at, expected);
		mask |= UINT64_C(1) << index;
	}
	at->ask->request.index_mask = mask;
	return 0;
}

static int take_limit(const struct place *at)
{
	if (json_is_null(at->value)) {
		at->ask->request.limit_ms = BERTH_UNLIMITED_MS;
		return 0;
	}
	return take_number(at, 1, MS_MAX, "milliseconds from 1 on, or null for no limit", &at->ask->request.limit_ms);
}

static int take_tier(const struct place *at)
{
	static const char *const names[BERTH_TIER_COUNT] = {"P0", "P1", "P2"};
	const char *tier = json_string_value(at->value);

	for (unsigned i = 0; tier && i < BERTH_TIER_COUNT; i++)
		if (strcasecmp(tier, names[i]) == 0) {
			at->ask->tier = (enum berth_tier)i;
			return 0;
		}
	return refuse(at, "\"P0\" (urgent), \"P1\" (important) or \"P2\" (ordinary)");
}

static int take_hold(const struct place *at)
{
	if (!json_is_boolean(at->value))
		return refuse(at, "true or false");
	at->ask->is_held = json_is_true(at->value);
	return 0;
}

static int take_begin(const struct place *at)
{
	static const char expected[] = "a moment like \"2026-12-01T08:00:00+08:00\", or null for at once";
	const char *s = json_string_value(at->value);
	uint64_t begin_ms = 0;

	if (!json_is_null(at->value) && (!s || berth_moment_parse(s, at->now_ms, &begin_ms, NULL) < 0))
		return refuse(at, expected);
	at->ask->begin_ms = begin_ms;
	return 0;
}

static int take_grace(const struct place *at)
{
	return take_number(at, 0, MS_MAX, "milliseconds, 0 or more", &at->ask->grace_ms);
}

static int take_requeue(const struct place *at)
{
	uint64_t n;
	const int r = take_number(at, 0, REQUEUE_MAX, "a number from 0 to 1000", &n);

	if (r == 0)
		at->ask->requeue_max = (uint32_t)n;
	return r;
}

static const struct field {
	const char *name;
	uint32_t bit; /* 0 = cannot be altered */
	int (*take)(const struct place *at);
} fields[] = {
	{"name", BERTH_ALTER_NAME, take_name},
	{"gpus", BERTH_ALTER_GPUS, take_gpus},
	{"gpu_model", BERTH_ALTER_MODEL, take_model},
	{"gpu_mem_bytes", BERTH_ALTER_GPU_MEM, take_memory},
	{"gpu_index", BERTH_ALTER_INDEX, take_index},
	{"limit_ms", BERTH_ALTER_LIMIT, take_limit},
	{"tier", BERTH_ALTER_TIER, take_tier},
	{"begin", BERTH_ALTER_BEGIN, take_begin},
	{"grace_ms", BERTH_ALTER_GRACE, take_grace},
	{"requeue", BERTH_ALTER_REQUEUE, take_requeue},
	{"hold", 0, take_hold},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

struct berth_ask berth_ask_default(const struct berth_api_host *host)
{
	return (struct berth_ask){
		.name = "",
		.tier = BERTH_TIER_P2,
		.grace_ms = host->default_grace_ms,
		.requeue_max = host->default_requeue,
		.request = {.gpus = host->default_gpus, .limit_ms = host->default_limit_ms, .gpu_model = ""}};
}

static int check_names(json_t *object, bool is_alter, const char *where, struct berth_error *err)
{
	const char *known[N_FIELDS + 2];
	size_t n = 0;

	for (size_t i = 0; i < N_FIELDS; i++)
		if (!is_alter || fields[i].bit)
			known[n++] = fields[i].name;
	if (!is_alter)
		known[n++] = "spec";
	known[n] = NULL;
	return berth_api_check_names(object, known, where, err);
}

int berth_ask_parse(json_t *object, bool is_alter, const char *where, uint64_t now_ms, struct berth_ask *ask,
                    struct berth_error *err)
{
	int r = check_names(object, is_alter, where, err);

	for (size_t i = 0; r == 0 && i < N_FIELDS; i++) {
		json_t *value = json_object_get(object, fields[i].name);
		const struct place at = {ask, value, where, fields[i].name, now_ms, err};

		if (!value)
			continue;
		r = fields[i].take(&at);
		ask->fields |= fields[i].bit;
	}
	return r;
}

bool berth_ask_is_within(const struct berth_ask *ask, uint64_t max_ms, struct berth_error *err)
{
	char asked[BERTH_FORMAT_MAX];
	char most[BERTH_FORMAT_MAX];

	if (max_ms == 0 || ask->request.limit_ms <= max_ms)
		return true;
	(void)berth_error_set(err, -ERANGE, "the time limit asked for is %s; this site allows at most %s",
	                      berth_duration_format(ask->request.limit_ms, asked), berth_duration_format(max_ms, most));
	return false;
}
