#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/units.h"
#include "daemon/config.h"

struct scratch {
	char dir[64];
	char file[80];
};

static int set_up(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	(void)snprintf(scratch->dir, sizeof(scratch->dir), "/tmp/berth-config-XXXXXX");
	assert_non_null(mkdtemp(scratch->dir));
	(void)snprintf(scratch->file, sizeof(scratch->file), "%s/b.yaml", scratch->dir);
	*state = scratch;
	return 0;
}

static int tear_down(void **state)
{
	struct scratch *scratch = *state;
	int r = berth_dir_remove(scratch->dir);

	free(scratch);
	return r;
}

static void put(const struct scratch *scratch, const char *text)
{
	assert_int_equal(berth_file_replace_at(AT_FDCWD, scratch->file, text, strlen(text), 0600), 0);
}

/* Load a text over defaults; it must be good. */
static struct berth_config loaded(const struct scratch *scratch, const char *text)
{
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_config config;

	put(scratch, text);
	berth_config_init(&config);
	if (berth_config_load(&config, scratch->file, &complaints) != 0)
		fail_msg("%s refused:\n%s", text, berth_text_str(&complaints));
	assert_int_equal(complaints.len, 0);
	return config;
}

/* Load a text that must be refused; every complaint, without the file's name, joined by "|". */
static char *refused(const struct scratch *scratch, const char *text, char *buf, size_t cap)
{
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_config config, before;
	size_t n = strlen(scratch->file) + 1;
	char *save = NULL;

	put(scratch, text);
	berth_config_init(&config);
	before = config;
	buf[0] = '\0';
	if (berth_config_load(&config, scratch->file, &complaints) != -EINVAL)
		fail_msg("%s was taken", text);
	assert_memory_equal(&config, &before, sizeof(config));
	assert_non_null(complaints.at);
	for (char *line = strtok_r(complaints.at, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_memory_equal(line, scratch->file, n - 1);
		(void)snprintf(buf + strlen(buf), cap - strlen(buf), "%s%s", buf[0] ? "|" : "", line + n);
	}
	return buf;
}

static void test_defaults(void **state)
{
	struct berth_config config;

	berth_config_init(&config);
	assert_true(config.listen.is_on);
	assert_string_equal(config.listen.addr, "127.0.0.1");
	assert_int_equal(config.listen.port, 8477);
	assert_string_equal(config.devices.spec, "sim:8xA100-80GB");
	assert_true(config.devices.is_auto && config.devices.is_simulated);
	assert_true(config.cards.is_all);
	assert_int_equal(config.default_gpus, 1);
	assert_int_equal(config.default_limit_ms, 24 * 3600 * 1000);
	assert_int_equal(config.default_grace_ms, 30000);
	assert_int_equal(config.default_requeue, 0);
	assert_int_equal(config.max_limit_ms, BERTH_UNLIMITED_MS);
	assert_int_equal(config.backoff_first_ms, 10000);
	assert_int_equal(config.backoff_max_ms, 600000);
	assert_int_equal(config.retain_ms, 3600000);
	assert_int_equal(config.log_level, BERTH_LOG_INFO);
}

/* Every key of the table: one other value is written, exactly that value changes, and only its origin becomes the file.
 */
static void test_every_key_has_an_effect(void **state)
{
	static const struct {
		const char *path, *text, *value;
	} rows[] = {
		{"listen", "listen: '[::1]:9000'", "[::1]:9000"},
		{"devices", "devices: sim:2xL40S", "sim:2xL40S"},
		{"cards", "cards: [0-2, 5, GPU-abc]", "0-2,5,GPU-abc"},
		{"defaults.gpus", "defaults: {gpus: 0}", "0"},
		{"defaults.time", "defaults: {time: 90}", "1:30:00"},
		{"defaults.grace", "defaults: {grace: 2m}", "2:00"},
		{"defaults.requeue", "defaults: {requeue: 3}", "3"},
		{"limits.max_time", "limits: {max_time: 7-00:00}", "7-00:00:00"},
		{"backoff.first", "backoff: {first: 20s}", "0:20"},
		{"backoff.max", "backoff: {max: 1h}", "1:00:00"},
		{"retention", "retention: 1s", "0:01"},
		{"log_level", "log_level: debug", "debug"},
	};
	struct berth_config preset;
	unsigned tried = 0;

	berth_config_init(&preset);
	assert_int_equal(sizeof(rows) / sizeof(rows[0]), BERTH_CONFIG_KEYS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct berth_config config = loaded(*state, rows[i].text);

		for (int key = 0; key < BERTH_CONFIG_KEYS; key++) {
			char value[BERTH_CONFIG_VALUE_MAX], before[BERTH_CONFIG_VALUE_MAX];
			bool is_it = strcmp(berth_config_keys[key].path, rows[i].path) == 0;

			(void)berth_config_value(&config, key, value, sizeof(value));
			(void)berth_config_value(&preset, key, before, sizeof(before));
			assert_string_equal(value, is_it ? rows[i].value : before);
			assert_string_not_equal(before, is_it ? rows[i].value : "");
			assert_int_equal(config.origin[key].kind, is_it ? BERTH_ORIGIN_FILE : BERTH_ORIGIN_DEFAULT);
			assert_int_equal(config.origin[key].line, is_it ? 1 : 0);
			tried += is_it;
		}
	}
	assert_int_equal(tried, BERTH_CONFIG_KEYS);
}

/* What the table calls FIELD reaches the field that the daemon reads. */
static void test_fields(void **state)
{
	struct berth_config config = loaded(*state, "# a whole site\n"
	                                            "listen: none\n"
	                                            "devices: sim:4xA100-80GB+2xL40S\n"
	                                            "cards: [1]\n"
	                                            "defaults:\n  gpus: 2\n  time: 12h\n  grace: 0s\n  requeue: 1\n"
	                                            "limits:\n  max_time: 3d\n"
	                                            "backoff:\n  first: 1s\n  max: 1s\n"
	                                            "retention: 10m\nlog_level: \"error\"\n");

	assert_false(config.listen.is_on);
	assert_string_equal(config.devices.driver, "sim");
	assert_string_equal(config.devices.arg, "4xA100-80GB+2xL40S");
	assert_false(config.devices.is_auto);
	assert_int_equal(config.cards.index_mask, 2);
	assert_int_equal(config.default_gpus, 2);
	assert_int_equal(config.default_limit_ms, 12 * 3600 * 1000);
	assert_int_equal(config.default_grace_ms, 0);
	assert_int_equal(config.default_requeue, 1);
	assert_int_equal(config.max_limit_ms, 3 * 24 * 3600 * 1000);
	assert_int_equal(config.backoff_first_ms, 1000);
	assert_int_equal(config.backoff_max_ms, 1000);
	assert_int_equal(config.retain_ms, 600000);
	assert_int_equal(config.log_level, BERTH_LOG_ERROR);
	assert_int_equal(config.origin[BERTH_KEY_MAX_TIME].line, 11);
	assert_int_equal(config.origin[BERTH_KEY_MAX_TIME].column, 13);
}

static void test_empty_files_and_sections_are_good(void **state)
{
	static const char *const good[] = {"",
	                                   "# nothing\n",
	                                   "---\n",
	                                   "---\n...\n",
	                                   "{}",
	                                   "~",
	                                   "defaults:\n",
	                                   "defaults: {}\nlimits: ~\n",
	                                   "\n\nretention: 1h\n"};
	struct berth_config config, preset;

	berth_config_init(&preset);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		config = loaded(*state, good[i]);
		assert_int_equal(config.retain_ms, preset.retain_ms);
	}
	config = loaded(*state, "defaults: {gpus: &n 3, requeue: *n}"); /* what YAML allows, is allowed */
	assert_int_equal(config.default_requeue, 3);
	assert_int_equal(config.origin[BERTH_KEY_DEFAULT_GPUS].line, 1);
}

static void test_every_fault_has_its_place(void **state)
{
	static const struct {
		const char *text, *place, *words;
	} rows[] = {
		/* unknown keys */
		{"max_tme: 1h", "1:1: error: ", "unknown key \"max_tme\"; did you mean \"limits.max_time\"?"},
		{"limits:\n  max_tme: 1h",
	         "2:3: error: ", "unknown key \"limits.max_tme\"; did you mean \"limits.max_time\"?"},
		{"defualts: {gpus: 1}", "1:1: error: ", "did you mean \"defaults\"?"},
		{"limits: {gpus: 1}", "1:10: error: ", "did you mean \"defaults.gpus\"?"},
		{"wrong_altogether: 1",
	         "1:1: error: ", "known here: listen, devices, cards, defaults, limits, backoff, retention, log_level"},
		{"backoff: {nothing_like_it: 1}", "1:11: error: ", "known here: first, max"},
		{"\"a\\nb\": 1", "1:1: error: ", "unknown key \"a?b\""},
		/* wrong types */
		{"defaults: 3", "1:11: error: ", "section"},
		{"defaults: [1]", "1:11: error: ", "section"},
		{"retention: {a: 1}", "1:12: error: ", "retention must be a plain word or number"},
		{"retention: [1h]", "1:12: error: ", "retention must be a plain word or number"},
		{"retention:\nlog_level: info", "1:11: error: ", "retention has no value"},
		{"retention: ~", "1:12: error: ", "retention has no value"},
		{"retention: \"\"", "1:12: error: ", "retention: "},
		{"? [a]\n: 1", "1:3: error: ", "a key must be a plain word or number"},
		{"defaults: {gpus: many}", "1:18: error: ", "many"},
		{"defaults: {gpus: 1.5}", "1:18: error: ", "1.5"},
		{"log_level: loud", "1:12: error: ", "error, warning, info and debug"},
		{"log_level: \"info\\0x\"", "1:12: error: ", "plain word"},
		{"- a", "1:1: error: ", "name: value"},
		{"word", "1:1: error: ", "name: value"},
		/* out of range */
		{"defaults: {gpus: 17}", "1:18: error: ", "defaults.gpus"},
		{"defaults: {gpus: -1}", "1:18: error: ", "-1"},
		{"defaults: {requeue: 1001}", "1:21: error: ", "1001"},
		{"defaults: {time: 0}",
	         "1:18: error: ", "no time at all; the least is 0:01, and leaving the key out gives 24h"},
		{"defaults: {time: 0s}", "1:18: error: ", "no time at all"},
		{"defaults: {time: 2-25}", "1:18: error: ", "2-25"},
		{"defaults: {grace: 2d}", "1:19: error: ", "out of range: 0:00 to 1-00:00:00"},
		{"defaults: {grace: 30}", "1:19: error: ", "write 30s or 30m"},
		{"limits: {max_time: 0}", "1:20: error: ", "no time at all"},
		{"backoff: {first: 0s}", "1:18: error: ", "no time at all"},
		{"backoff: {max: 2d}", "1:16: error: ", "out of range"},
		{"retention: UNLIMITED", "1:12: error: ", "out of range"},
		{"retention: 31d", "1:12: error: ", "out of range"},
		/* addresses */
		{"listen: 8477", "1:9: error: ", "no ADDRESS:PORT"},
		{"listen: :8477", "1:9: error: ", "no ADDRESS:PORT"},
		{"listen: '127.0.0.1:'", "1:9: error: ", "port"},
		{"listen: 127.0.0.1:65536", "1:9: error: ", "port"},
		{"listen: 0.0.0.0:80", "1:9: error: ", "ssh tunnel"},
		{"listen: 192.168.1.4:80", "1:9: error: ", "ssh tunnel"},
		{"listen: '[::]:80'", "1:9: error: ", "ssh tunnel"},
		{"listen: example.org:80", "1:9: error: ", "not a loopback address"},
		/* devices and cards */
		{"devices: nvml", "1:10: error: ", "later version"},
		{"devices: sim", "1:10: error: ", "names no cards"},
		{"devices: simulated:8", "1:10: error: ", "unknown"},
		{"cards: []", "1:8: error: ", "lists no card"},
		{"cards: [0, [1]]", "1:12: error: ", "an item of cards"},
		{"cards: [0, 64]", "1:12: error: ", "64"},
		{"cards: [0-3, 2]", "1:14: error: ", "twice"},
		/* twice */
		{"retention: 1h\nretention: 2h", "2:1: error: ", "\"retention\" stands already in line 1"},
		{"defaults:\n  gpus: 1\n  gpus: 1", "3:3: error: ", "\"defaults.gpus\" stands already in line 2"},
		{"defaults: {gpus: 1}\ndefaults: {time: 1}", "2:1: error: ", "\"defaults\" stands already in line 1"},
		/* no YAML */
		{"retention: [1h", "2:1: error: ", "not YAML"},
		{"\tretention: 1h", "1:1: error: ", "not YAML"},
		{"a: b: c", "1:5: error: ", "not YAML"},
		{"log_level: info\n  x: \xff\n", "2:6: error: ", "not YAML"},
		{"retention: 1h\n---\nretention: 2h\n", "3:1: error: ", "second document"},
		{"retention: *nowhere", "1:12: error: ", "not YAML"},
		/* together */
		{"limits: {max_time: 1h}\ndefaults: {time: 2h}", "2:18: error: ", "longer than limits.max_time"},
		{"backoff: {first: 2m, max: 1m}", "1:18: error: ", "longer than backoff.max"},
		{"backoff: {max: 5s}", "1:16: error: ", "longer than backoff.max"},
	};
	char buf[2048];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)refused(*state, rows[i].text, buf, sizeof(buf));
		if (strncmp(buf, rows[i].place, strlen(rows[i].place)) != 0 || !strstr(buf, rows[i].words) ||
		    strchr(buf, '|'))
			fail_msg("%s\ngave    %s\nwants   %s… %s …", rows[i].text, buf, rows[i].place, rows[i].words);
	}
}

static void test_all_faults_are_told_at_once(void **state)
{
	char buf[2048];

	(void)refused(*state, "retntion: 1h\ndefaults:\n  time: 0\n  gpus: x\nlog_level: loud\n", buf, sizeof(buf));
	assert_non_null(strstr(buf, "1:1: error: "));
	assert_non_null(strstr(buf, "|3:9: error: "));
	assert_non_null(strstr(buf, "|4:9: error: "));
	assert_non_null(strstr(buf, "|5:12: error: "));
}

static void test_files_that_cannot_be_read(void **state)
{
	const struct scratch *scratch = *state;
	struct berth_config config;
	char other[128];
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	BERTH_AUTO_FREE char *big = calloc(1, (1 << 20) + 10);

	berth_config_init(&config);
	(void)snprintf(other, sizeof(other), "%s/absent.yaml", scratch->dir);
	assert_int_equal(berth_config_load(&config, other, &complaints), -ENOENT);
	assert_non_null(strstr(complaints.at, "absent.yaml: error: cannot be read"));
	assert_int_equal(berth_config_load(&config, scratch->dir, &complaints), -EISDIR);
	(void)snprintf(other, sizeof(other), "%s/pipe", scratch->dir);
	assert_int_equal(mkfifo(other, 0600), 0);
	assert_int_equal(berth_config_load(&config, other, &complaints), -EINVAL); /* and does not wait for a writer */
	memset(big, '#', (1 << 20) + 1);
	put(scratch, big);
	assert_int_equal(berth_config_load(&config, scratch->file, &complaints), -EFBIG);
	big[1 << 20] = '\0';
	put(scratch, big);
	assert_int_equal(berth_config_load(&config, scratch->file, &complaints), 0);
	(void)snprintf(other, sizeof(other), "%s/link.yaml", scratch->dir);
	put(scratch, "retention: 5m");
	assert_int_equal(symlink(scratch->file, other), 0);
	assert_int_equal(berth_config_load(&config, other, &complaints), 0);
	assert_int_equal(config.retain_ms, 300000);
	assert_string_equal(config.file, other);
}

static void test_the_command_line_wins(void **state)
{
	const struct scratch *scratch = *state;
	const struct berth_origin by_hand = {.kind = BERTH_ORIGIN_COMMAND_LINE};
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_error err = {0};
	struct berth_config config;
	char buf[128];

	berth_config_init(&config);
	assert_int_equal(berth_config_set(&config, BERTH_KEY_LOG_LEVEL, "error", by_hand, &err), 0);
	assert_int_equal(berth_config_set(&config, BERTH_KEY_LISTEN, "nowhere", by_hand, &err), -EINVAL);
	assert_int_equal(config.origin[BERTH_KEY_LISTEN].kind, BERTH_ORIGIN_DEFAULT);
	put(scratch, "log_level: debug\nretention: 2h\n");
	assert_int_equal(berth_config_load(&config, scratch->file, &complaints), 0);
	assert_int_equal(config.log_level, BERTH_LOG_ERROR);
	assert_string_equal(berth_config_origin(&config, BERTH_KEY_LOG_LEVEL, buf, sizeof(buf)), "command line");
	assert_string_equal(berth_config_origin(&config, BERTH_KEY_LISTEN, buf, sizeof(buf)), "default");
	assert_non_null(strstr(berth_config_origin(&config, BERTH_KEY_RETENTION, buf, sizeof(buf)), "/b.yaml:2"));
	put(scratch, "log_level: loud\n"); /* still checked */
	assert_int_equal(berth_config_load(&config, scratch->file, &complaints), -EINVAL);
}

static void test_as_json(void **state)
{
	struct berth_config config = loaded(*state, "\nlimits: {max_time: 2d}\n");
	BERTH_AUTO_FREE char *text = berth_config_json(&config);
	json_t *root = json_loads(text, 0, NULL), *row, *values;
	size_t i;

	assert_non_null(root);
	values = json_object_get(root, "values");
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "berth.config/1");
	assert_string_equal(json_string_value(json_object_get(root, "file")), config.file);
	assert_int_equal(json_array_size(values), BERTH_CONFIG_KEYS);
	json_array_foreach(values, i, row)
	{
		assert_string_equal(json_string_value(json_object_get(row, "key")), berth_config_keys[i].path);
		assert_true(strlen(json_string_value(json_object_get(row, "doc"))) > 10);
	}
	row = json_array_get(values, BERTH_KEY_MAX_TIME);
	assert_string_equal(json_string_value(json_object_get(row, "value")), "2-00:00:00");
	assert_non_null(strstr(json_string_value(json_object_get(row, "origin")), "b.yaml:2"));
	row = json_array_get(values, BERTH_KEY_CARDS);
	assert_string_equal(json_string_value(json_object_get(row, "value")), "all");
	assert_string_equal(json_string_value(json_object_get(row, "origin")), "default");
	json_decref(root);
}

/* The values that config shows can be written into a file and mean the same. */
static void test_values_can_be_written_back(void **state)
{
	for (int key = 0; key < BERTH_CONFIG_KEYS; key++) {
		struct berth_config config, again;
		char value[BERTH_CONFIG_VALUE_MAX], second[BERTH_CONFIG_VALUE_MAX];

		berth_config_init(&config);
		berth_config_init(&again);
		(void)berth_config_value(&config, key, value, sizeof(value));
		assert_int_equal(berth_config_set(&again, key, value, (struct berth_origin){0}, NULL), 0);
		assert_string_equal(berth_config_value(&again, key, second, sizeof(second)), value);
	}
}

static void test_a_running_daemon_takes_what_it_can(void **state)
{
	struct berth_config config = loaded(*state, "retention: 2h\nlisten: 127.0.0.1:9001\n");
	struct berth_config next = loaded(*state,
	                                  "\nretention: 3h\nlog_level: debug\nlisten: 127.0.0.1:9002\ncards: [0]\n");
	uint32_t needs_restart = berth_config_apply_live(&config, &next);

	assert_int_equal(needs_restart, 1u << BERTH_KEY_LISTEN | 1u << BERTH_KEY_CARDS);
	assert_int_equal(config.retain_ms, 3 * 3600 * 1000);
	assert_int_equal(config.log_level, BERTH_LOG_DEBUG);
	assert_int_equal(config.origin[BERTH_KEY_RETENTION].line, 2);
	assert_int_equal(config.listen.port, 9001);
	assert_int_equal(config.origin[BERTH_KEY_LISTEN].line, 2);
	assert_true(config.cards.is_all);
	/* a key that left the file goes back to its default */
	next = loaded(*state, "listen: 127.0.0.1:9001\n");
	assert_int_equal(berth_config_apply_live(&config, &next), 0);
	assert_int_equal(config.retain_ms, 3600000);
	assert_int_equal(config.log_level, BERTH_LOG_INFO);
}

static void test_the_default_limit_respects_the_maximum(void **state)
{
	struct berth_config config = loaded(*state, "limits: {max_time: 2h}");

	assert_int_equal(berth_config_limit_ms(&config), 2 * 3600 * 1000);
	config = loaded(*state, "defaults: {time: 1h}\nlimits: {max_time: 2h}");
	assert_int_equal(berth_config_limit_ms(&config), 3600 * 1000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_key_has_an_effect),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_empty_files_and_sections_are_good),
		cmocka_unit_test(test_every_fault_has_its_place),
		cmocka_unit_test(test_all_faults_are_told_at_once),
		cmocka_unit_test(test_files_that_cannot_be_read),
		cmocka_unit_test(test_the_command_line_wins),
		cmocka_unit_test(test_as_json),
		cmocka_unit_test(test_values_can_be_written_back),
		cmocka_unit_test(test_a_running_daemon_takes_what_it_can),
		cmocka_unit_test(test_the_default_limit_respects_the_maximum),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
