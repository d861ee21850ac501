#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "telemetry/exposition.h"

static void test_family_and_samples(void **state)
{
	static const struct berth_exposition_label labels[] = {{"node", "gpu01"}, {"gpu", "0"}};
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_exposition_family(&text, "berth_x", "gauge", "What x is.");
	berth_exposition_sample(&text, "berth_x", labels, 2, 85899345920);
	berth_exposition_sample(&text, "berth_x", labels, 1, 0);
	berth_exposition_sample_milli(&text, "berth_x", NULL, 0, 1764523200007);
	berth_exposition_sample_milli(&text, "berth_x", NULL, 0, 970);
	assert_string_equal(berth_text_str(&text), "# HELP berth_x What x is.\n"
	                                           "# TYPE berth_x gauge\n"
	                                           "berth_x{node=\"gpu01\",gpu=\"0\"} 85899345920\n"
	                                           "berth_x{node=\"gpu01\"} 0\n"
	                                           "berth_x 1764523200.007\n"
	                                           "berth_x 0.970\n");
}

static void escaped(const char *value, const char *expected)
{
	const struct berth_exposition_label label = {"l", value};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_TEXT struct berth_text line = {0};

	berth_exposition_sample(&text, "x", &label, 1, 1);
	berth_text_addf(&line, "x{l=\"%s\"} 1\n", expected);
	assert_string_equal(berth_text_str(&text), berth_text_str(&line));
}

static void test_label_values_are_escaped(void **state)
{
	escaped("", "");
	escaped("a\"b", "a\\\"b");
	escaped("a\\b", "a\\\\b");
	escaped("a\nb", "a?b");
	escaped("视觉组", "视觉组");
	escaped("a\xff", "a?");
	escaped("{},=# ", "{},=# ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_family_and_samples),
		cmocka_unit_test(test_label_values_are_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
