#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>
#include "api/json.h"

static json_t *parse(const struct berth_text *text)
{
	json_t *root = json_loadb(text->at, text->len, JSON_DECODE_ANY, NULL);

	if (!root)
		print_message("no JSON: %s\n", text->at);
	assert_non_null(root);
	return root;
}

static void test_commas_come_by_themselves(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	berth_json_open(&json, NULL, '{');
	berth_json_u64(&json, "a", UINT64_MAX);
	berth_json_open(&json, "b", '[');
	berth_json_str(&json, NULL, "[");
	berth_json_str(&json, NULL, "{");
	berth_json_i64(&json, NULL, -3);
	berth_json_open(&json, NULL, '{');
	berth_json_close(&json, '}');
	berth_json_open(&json, NULL, '[');
	berth_json_close(&json, ']');
	berth_json_close(&json, ']');
	berth_json_bool(&json, "c", true);
	berth_json_null(&json, "d");
	berth_json_raw(&json, "e", "{}", 2);
	berth_json_u64_or_null(&json, "f", 7, 7);
	berth_json_u64_or_null(&json, "g", 0, 7);
	berth_json_close(&json, '}');
	assert_string_equal(text.at,
	                    "{\"a\":18446744073709551615,\"b\":[\"[\",\"{\",-3,{},[]],\"c\":true,\"d\":null,\"e\":{},"
	                    "\"f\":null,\"g\":0}");
}

static void test_a_writer_starts_behind_what_is_there(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json;

	berth_text_add(&text, "data: ");
	json = berth_json_at(&text);
	berth_json_open(&json, NULL, '{');
	berth_json_close(&json, '}');
	assert_string_equal(text.at, "data: {}");
}

/* Every byte but NUL goes in and comes out; text that is no UTF-8 still makes JSON. */
static void test_strings_survive(void **state)
{
	static const char *const good[] = {"",
	                                   "plain",
	                                   "quote \" and \\",
	                                   "line\nfeed\ttab\rreturn",
	                                   "\x01\x1f\x7f",
	                                   "中文 \xf0\x9f\x9a\xa2",
	                                   "</script><script>alert(1)</script>"};
	static const char *const bad[] = {"\xff", "a\xc0\x80z", "\xed\xa0\x80", "cut \xe4\xb8"};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		BERTH_AUTO_TEXT struct berth_text text = {0};
		struct berth_json json = berth_json_at(&text);
		json_t *root;

		berth_json_str(&json, NULL, good[i]);
		root = parse(&text);
		assert_string_equal(json_string_value(root), good[i]);
		assert_null(strchr(text.at, '<'));
		json_decref(root);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		BERTH_AUTO_TEXT struct berth_text text = {0};
		struct berth_json json = berth_json_at(&text);
		json_t *root;

		berth_json_str(&json, NULL, bad[i]);
		root = parse(&text);
		assert_non_null(strchr(json_string_value(root), '?'));
		json_decref(root);
	}
}

static void write_time(uint64_t at_ms, char *ret, size_t cap)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	berth_json_time(&json, NULL, at_ms);
	(void)snprintf(ret, cap, "%s", text.at);
}

static void test_times(void **state)
{
	char text[64];

	assert_int_equal(setenv("TZ", "Asia/Shanghai", 1), 0);
	tzset();
	write_time(UINT64_C(1796041014123), text, sizeof(text));
	assert_string_equal(text, "\"2026-11-30T20:16:54.123+08:00\"");
	write_time(UINT64_C(1796041014003), text, sizeof(text));
	assert_string_equal(text, "\"2026-11-30T20:16:54.003+08:00\"");
	assert_int_equal(setenv("TZ", "America/St_Johns", 1), 0);
	tzset();
	write_time(UINT64_C(1796041014123), text, sizeof(text));
	assert_string_equal(text, "\"2026-11-30T08:46:54.123-03:30\"");
	write_time(0, text, sizeof(text));
	assert_string_equal(text, "null");
	write_time(UINT64_MAX, text, sizeof(text));
	assert_string_equal(text, "null");
	write_time(UINT64_MAX - 1, text, sizeof(text));
	assert_string_equal(text, "null");
	assert_int_equal(unsetenv("TZ"), 0);
	tzset();
}

/* The minute kept from the row before must not leak into another minute. */
static void test_times_in_a_row(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);

	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	tzset();
	berth_json_open(&json, NULL, '[');
	berth_json_time(&json, NULL, UINT64_C(1796041014123));
	berth_json_time(&json, NULL, UINT64_C(1796041014124));
	berth_json_time(&json, NULL, UINT64_C(1796041074124));
	berth_json_time(&json, NULL, UINT64_C(1796041014125));
	berth_json_close(&json, ']');
	assert_string_equal(text.at, "[\"2026-11-30T12:16:54.123+00:00\",\"2026-11-30T12:16:54.124+00:00\",\"2026-11-"
	                             "30T12:17:54.124+00:00\","
	                             "\"2026-11-30T12:16:54.125+00:00\"]");
}

static void test_a_failed_text_stays_failed(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {.is_failed = true};
	struct berth_json json = berth_json_at(&text);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "a", "b");
	berth_json_time(&json, "c", 1);
	berth_json_close(&json, '}');
	assert_true(text.is_failed);
	assert_null(text.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commas_come_by_themselves),
		cmocka_unit_test(test_a_writer_starts_behind_what_is_there),
		cmocka_unit_test(test_strings_survive),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_times_in_a_row),
		cmocka_unit_test(test_a_failed_text_stays_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
