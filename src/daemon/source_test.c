#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "daemon/source.h"

static void test_good_ones(void **state)
{
	struct berth_source source;

	assert_int_equal(berth_source_parse("auto", &source, NULL), 0);
	assert_string_equal(source.spec, BERTH_SOURCE_AUTO);
	assert_string_equal(source.driver, "sim");
	assert_string_equal(source.arg, "8xA100-80GB");
	assert_true(source.is_auto && source.is_simulated);
	assert_int_equal(berth_source_check(&source, NULL), 0);

	assert_int_equal(berth_source_parse("sim:/etc/a:b.yaml", &source, NULL), 0);
	assert_string_equal(source.arg, "/etc/a:b.yaml");
	assert_false(source.is_auto);
	assert_true(source.is_simulated);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *spec, *words;
	} rows[] = {
		{"nvml", "later version"},
		{"nvml:/usr/lib/x.so", "later version"},
		{"amd", "later version"},
		{"ascend", "later version"},
		{"replay:day.json", "later version"},
		{"sim:1xL40S,sim:1xL40S", "with commas"},
		{"", "unknown"},
		{"A100", "unknown"},
		{"a-very-long-kind-of-device:1", "unknown"},
		{":1", "unknown"},
		{"sim", "names no cards"},
		{"sim:", "names no cards"},
	};
	struct berth_source source = {.arg = "untouched"};
	char longest[BERTH_SOURCE_MAX + 8] = "sim:";
	struct berth_error err;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct berth_error){0};
		if (berth_source_parse(rows[i].spec, &source, &err) != -EINVAL || !strstr(err.text, rows[i].words))
			fail_msg("%s: \"%s\" lacks \"%s\"", rows[i].spec, err.text, rows[i].words);
	}
	memset(longest + 4, 'a', BERTH_SOURCE_MAX - 4);
	assert_int_equal(berth_source_parse(longest, &source, &err), -EINVAL);
	assert_string_equal(source.arg, "untouched");
	longest[BERTH_SOURCE_MAX - 1] = '\0';
	assert_int_equal(berth_source_parse(longest, &source, &err), 0);
}

/* What only the driver knows is found before the daemon says that it is ready. */
static void test_the_driver_is_asked(void **state)
{
	struct berth_source source;
	struct berth_error err = {0};

	assert_int_equal(berth_source_parse("sim:2xNOSUCH", &source, NULL), 0);
	assert_true(berth_source_check(&source, &err) < 0);
	assert_non_null(strstr(err.text, "NOSUCH"));
	assert_int_equal(berth_source_parse("sim:/nonexistent.yaml", &source, NULL), 0);
	assert_true(berth_source_check(&source, &err) < 0);
	assert_non_null(strstr(err.text, "/nonexistent.yaml"));
	memcpy(source.driver, "none", sizeof("none"));
	assert_int_equal(berth_source_check(&source, &err), -ENODEV);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good_ones),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_the_driver_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
