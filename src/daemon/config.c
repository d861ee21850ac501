#include "daemon/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"

#define SECOND_MS UINT64_C(1000)
#define HOUR_MS (3600 * SECOND_MS)
#define DAY_MS (24 * HOUR_MS)

#define FIELD(name) offsetof(struct berth_config, name)
#define MAX_MS BERTH_UNLIMITED_MS
/* key: path, type, field, least, most, bare number is minutes, taken over by SIGHUP, default, meaning */
const struct berth_config_entry berth_config_keys[BERTH_CONFIG_KEYS] = {
	[BERTH_KEY_LISTEN] = {"listen", BERTH_TYPE_LISTEN, FIELD(listen),
		0, 0, false, false, "127.0.0.1:8477",
		"where the page is served: a loopback address with port, or none"},
	[BERTH_KEY_DEVICES] = {"devices", BERTH_TYPE_DEVICES, FIELD(devices),
		0, 0, false, false, "auto",
		"where the cards come from: auto, sim:MODELS or sim:FILE.yaml"},
	[BERTH_KEY_CARDS] = {"cards", BERTH_TYPE_CARDS, FIELD(cards),
		0, 0, false, false, "all",
		"cards that jobs may get: a list of indexes, ranges and UUIDs; others are shown, never given"},
	[BERTH_KEY_DEFAULT_GPUS] = {"defaults.gpus", BERTH_TYPE_COUNT, FIELD(default_gpus),
		0, 16, false, true, "1",
		"cards of a job that asks for none in particular"},
	[BERTH_KEY_DEFAULT_TIME] = {"defaults.time", BERTH_TYPE_DURATION, FIELD(default_limit_ms),
		SECOND_MS, MAX_MS, true, true, "24h",
		"time limit of a job that names none"},
	[BERTH_KEY_DEFAULT_GRACE] = {"defaults.grace", BERTH_TYPE_DURATION, FIELD(default_grace_ms),
		0, DAY_MS, false, true, "30s",
		"time between asking a job to stop and killing it, for a job that names none"},
	[BERTH_KEY_DEFAULT_REQUEUE] = {"defaults.requeue", BERTH_TYPE_COUNT, FIELD(default_requeue),
		0, 1000, false, true, "0",
		"times that a failed job runs again, for a job that says nothing"},
	[BERTH_KEY_MAX_TIME] = {"limits.max_time", BERTH_TYPE_DURATION, FIELD(max_limit_ms),
		SECOND_MS, MAX_MS, true, true, "UNLIMITED",
		"longest time limit that a job may ask for"},
	[BERTH_KEY_BACKOFF_FIRST] = {"backoff.first", BERTH_TYPE_DURATION, FIELD(backoff_first_ms),
		SECOND_MS, HOUR_MS, false, true, "10s",
		"wait before a job runs again after a failure; doubles with each failure in a row"},
	[BERTH_KEY_BACKOFF_MAX] = {"backoff.max", BERTH_TYPE_DURATION, FIELD(backoff_max_ms),
		SECOND_MS, DAY_MS, false, true, "10m",
		"longest such wait"},
	[BERTH_KEY_RETENTION] = {"retention", BERTH_TYPE_DURATION, FIELD(retain_ms),
		SECOND_MS, 30 * DAY_MS, false, true, "1h",
		"how long a finished job stays in the queue's list; the history keeps it for good"},
	[BERTH_KEY_LOG_LEVEL] = {"log_level", BERTH_TYPE_LEVEL, FIELD(log_level),
		0, 0, false, true, "info",
		"least important lines that are logged: error, warning, info or debug"},
};
#undef MAX_MS
#undef FIELD

/* --- types: text to value and back ------------------------------------------------------------- */

static int parse_address(const char *text, size_t addr_len, struct berth_listen *listen)
{
	bool has_brackets = addr_len >= 2 && text[0] == '[' && text[addr_len - 1] == ']';
	const char *addr = has_brackets ? text + 1 : text;
	size_t len = has_brackets ? addr_len - 2 : addr_len;

	if (len == 0 || len >= sizeof(listen->addr))
		return -EINVAL;
	memcpy(listen->addr, addr, len);
	listen->addr[len] = '\0';
	if (strcmp(listen->addr, "localhost") == 0)
		(void)snprintf(listen->addr, sizeof(listen->addr), "127.0.0.1");
	return 0;
}

static bool is_loopback(const char *addr)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, addr, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, addr, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static int listen_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	struct berth_listen listen = {.is_on = true};
	const char *colon = strrchr(text, ':');
	uint64_t port = 0;

	if (strcmp(text, "none") == 0) {
		*(struct berth_listen *)ret = (struct berth_listen){0};
		return 0;
	}
	if (!colon || parse_address(text, (size_t)(colon - text), &listen) < 0)
		return berth_error_set(err, -EINVAL,
		                       "\"%.80s\" is no ADDRESS:PORT such as 127.0.0.1:8477, and not none", text);
	if (berth_number_parse(colon + 1, "port", 0, 65535, &port, err) < 0)
		return -EINVAL;
	if (!is_loopback(listen.addr))
		return berth_error_set(
			err, -EINVAL,
			"%s is not a loopback address; serving the page to other machines needs encryption and "
			"comes with a later version: use an ssh tunnel to 127.0.0.1",
			listen.addr);
	listen.port = (uint16_t)port;
	*(struct berth_listen *)ret = listen;
	return 0;
}

static void listen_format(const void *value, char *buf, size_t cap)
{
	const struct berth_listen *listen = value;

	if (!listen->is_on)
		(void)snprintf(buf, cap, "none");
	else
		(void)snprintf(buf, cap, strchr(listen->addr, ':') ? "[%s]:%u" : "%s:%u", listen->addr, listen->port);
}

static int devices_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	return berth_source_parse(text, ret, err);
}

static void devices_format(const void *value, char *buf, size_t cap)
{
	const struct berth_source *source = value;

	(void)snprintf(buf, cap, "%s", source->is_auto ? "auto" : source->spec);
}

/* One word only; the list form is a YAML sequence, whose items are added one by one. */
static int cards_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	struct berth_cards cards = {0};
	int r;

	if (strcmp(text, "all") == 0) {
		*(struct berth_cards *)ret = berth_cards_all();
		return 0;
	}
	r = berth_cards_add(&cards, text, err);
	if (r == 0)
		*(struct berth_cards *)ret = cards;
	return r;
}

static void cards_format(const void *value, char *buf, size_t cap)
{
	(void)berth_cards_format(value, buf, cap);
}

static int count_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	uint64_t n = 0;

	if (berth_number_parse(text, key->path, key->min, key->max, &n, err) < 0)
		return -EINVAL;
	*(uint32_t *)ret = (uint32_t)n;
	return 0;
}

static void count_format(const void *value, char *buf, size_t cap)
{
	(void)snprintf(buf, cap, "%u", *(const uint32_t *)value);
}

static int duration_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	char least[BERTH_FORMAT_MAX], most[BERTH_FORMAT_MAX];
	uint64_t ms = 0;

	if (berth_duration_parse(text, &ms, err) < 0)
		return -EINVAL;
	if (!key->has_bare_minutes && ms != 0 && strspn(text, "0123456789") == strlen(text))
		return berth_error_set(err, -EINVAL, "\"%s\" has no unit: write %ss or %sm", text, text, text);
	if (ms == 0 && key->min > 0)
		return berth_error_set(err, -EINVAL,
		                       "\"%s\" is no time at all; the least is %s, and leaving the key out gives %s",
		                       text, berth_duration_format(key->min, least), key->preset);
	if (ms < key->min || ms > key->max)
		return berth_error_set(err, -EINVAL, "\"%s\" is out of range: %s to %s (days-hours:minutes:seconds)",
		                       text, berth_duration_format(key->min, least),
		                       berth_duration_format(key->max, most));
	*(uint64_t *)ret = ms;
	return 0;
}

static void duration_format(const void *value, char *buf, size_t cap)
{
	char text[BERTH_FORMAT_MAX];
	uint64_t ms = *(const uint64_t *)value;

	(void)snprintf(buf, cap, "%s", ms == BERTH_UNLIMITED_MS ? "UNLIMITED" : berth_duration_format(ms, text));
}

static int level_parse(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err)
{
	for (int i = 0; i < BERTH_LOG_LEVELS; i++) {
		if (strcmp(text, berth_log_level_names[i]) == 0) {
			*(enum berth_log_level *)ret = (enum berth_log_level)i;
			return 0;
		}
	}
	return berth_error_set(err, -EINVAL, "\"%.40s\" is no log level; they are error, warning, info and debug",
	                       text);
}

static void level_format(const void *value, char *buf, size_t cap)
{
	(void)snprintf(buf, cap, "%s", berth_log_level_names[*(const enum berth_log_level *)value]);
}

static const struct {
	int (*parse)(const struct berth_config_entry *key, const char *text, void *ret, struct berth_error *err);
	void (*format)(const void *value, char *buf, size_t cap);
} types[BERTH_TYPES] = {
	[BERTH_TYPE_LISTEN] = {listen_parse, listen_format},
	[BERTH_TYPE_DEVICES] = {devices_parse, devices_format},
	[BERTH_TYPE_CARDS] = {cards_parse, cards_format},
	[BERTH_TYPE_COUNT] = {count_parse, count_format},
	[BERTH_TYPE_DURATION] = {duration_parse, duration_format},
	[BERTH_TYPE_LEVEL] = {level_parse, level_format},
};

/* --- values ------------------------------------------------------------------------------------ */

static void *field(struct berth_config *config, enum berth_config_key key)
{
	return (char *)config + berth_config_keys[key].offset;
}

int berth_config_set(struct berth_config *config, enum berth_config_key key, const char *text,
                     struct berth_origin origin, struct berth_error *err)
{
	const struct berth_config_entry *entry = &berth_config_keys[key];
	int r = types[entry->type].parse(entry, text, field(config, key), err);

	if (r < 0)
		return -EINVAL;
	config->origin[key] = origin;
	return 0;
}

void berth_config_init(struct berth_config *config)
{
	*config = (struct berth_config){0};
	for (int key = 0; key < BERTH_CONFIG_KEYS; key++)
		if (berth_config_set(config, key, berth_config_keys[key].preset, (struct berth_origin){0}, NULL) < 0)
			abort(); /* a preset that its own type refuses is a mistake in the table above */
}

uint64_t berth_config_limit_ms(const struct berth_config *config)
{
	return config->default_limit_ms < config->max_limit_ms ? config->default_limit_ms : config->max_limit_ms;
}

char *berth_config_value(const struct berth_config *config, enum berth_config_key key, char *buf, size_t cap)
{
	const struct berth_config_entry *entry = &berth_config_keys[key];

	types[entry->type].format((const char *)config + entry->offset, buf, cap);
	return buf;
}

char *berth_config_origin(const struct berth_config *config, enum berth_config_key key, char *buf, size_t cap)
{
	const struct berth_origin *origin = &config->origin[key];

	if (origin->kind == BERTH_ORIGIN_FILE)
		(void)snprintf(buf, cap, "%s:%u", config->file, origin->line);
	else
		(void)snprintf(buf, cap, "%s", origin->kind == BERTH_ORIGIN_DEFAULT ? "default" : "command line");
	return buf;
}

char *berth_config_json(const struct berth_config *config)
{
	json_t *values = json_array();
	json_t *root = json_pack("{s:s, s:s?, s:o}", "schema", "berth.config/1", "file",
	                         config->file[0] ? config->file : NULL, "values", values);
	char *text = NULL;

	for (int key = 0; root && key < BERTH_CONFIG_KEYS; key++) {
		char value[BERTH_CONFIG_VALUE_MAX], origin[BERTH_CONFIG_FILE_MAX + 16];
		json_t *row = json_pack("{s:s, s:s, s:s, s:s, s:s}", "key", berth_config_keys[key].path, "value",
		                        berth_config_value(config, key, value, sizeof(value)), "origin",
		                        berth_config_origin(config, key, origin, sizeof(origin)), "default",
		                        berth_config_keys[key].preset, "doc", berth_config_keys[key].doc);

		if (json_array_append_new(values, row) < 0) {
			json_decref(root);
			return NULL;
		}
	}
	if (root)
		text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}

static bool is_same_value(const struct berth_config *a, const struct berth_config *b, enum berth_config_key key)
{
	char text_a[BERTH_CONFIG_VALUE_MAX], text_b[BERTH_CONFIG_VALUE_MAX];

	return strcmp(berth_config_value(a, key, text_a, sizeof(text_a)),
	              berth_config_value(b, key, text_b, sizeof(text_b))) == 0;
}

uint32_t berth_config_apply_live(struct berth_config *config, const struct berth_config *next)
{
	struct berth_config applied = *next;
	uint32_t needs_restart = 0;

	for (int key = 0; key < BERTH_CONFIG_KEYS; key++) {
		if (berth_config_keys[key].is_live || is_same_value(config, next, key))
			continue;
		needs_restart |= 1u << key;
		applied.origin[key] = config->origin[key];
	}
	applied.listen = config->listen;
	applied.devices = config->devices;
	applied.cards = config->cards;
	*config = applied;
	return needs_restart;
}
