#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "daemon/options.h"

#define PARSE(ret, err, ...) parse((char *[]){"berthd", __VA_ARGS__, NULL}, ret, err)

static int parse(char *argv[], struct berth_options *ret, struct berth_error *err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return berth_options_parse(argc, argv, ret, err);
}

static void test_every_option(void **state)
{
	struct berth_options options;

	assert_int_equal(PARSE(&options, NULL, "--config", "a", "--state=b", "--socket", "c", "--listen=d=e",
	                       "--devices", "f", "--log-level=g", "--check-config", "--help", "--demo", "--version",
	                       "--help"),
	                 0);
	assert_string_equal(options.config, "a");
	assert_string_equal(options.state, "b");
	assert_string_equal(options.socket, "c");
	assert_string_equal(options.listen, "d=e");
	assert_string_equal(options.devices, "f");
	assert_string_equal(options.log_level, "g");
	assert_string_equal(options.check_config, "--help"); /* a value is a value, whatever it looks like */
	assert_true(options.is_demo && options.wants_version && options.wants_help);
	assert_int_equal(berth_options_parse(1, (char *[]){"berthd", NULL}, &options, NULL), 0);
	assert_null(options.config);
	assert_false(options.is_demo || options.wants_version || options.wants_help);
}

static void test_refusals_say_what_to_write(void **state)
{
	static const struct {
		char *argv[4];
		const char *words;
	} bad[] = {
		{{"berthd", "--stat", "x"}, "did you mean --state?"},
		{{"berthd", "--log_level=info"}, "did you mean --log-level?"},
		{{"berthd", "--frobnicate"}, "berthd --help"},
		{{"berthd", "-v"}, "berthd --help"},
		{{"berthd", "--"}, "berthd --help"},
		{{"berthd", "word"}, "\"word\" is no option"},
		{{"berthd", "--state"}, "--state DIR"},
		{{"berthd", "--state="}, "--state DIR"},
		{{"berthd", "--state", ""}, "--state DIR"},
		{{"berthd", "--demo=yes"}, "takes no value"},
		{{"berthd", "--demo", "--demo"}, "given twice"},
		{{"berthd", "--state=a", "--state=b"}, "given twice"},
		{{"berthd", "--system"}, "later version"},
		{{"berthd", "--observe"}, "later version"},
		{{"berthd", "--sim-speed=10"}, "later version"},
		{{"berthd", "--sim-speed", "10"}, "later version"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct berth_options options = {.config = "untouched"};
		struct berth_error err = {0};
		char *argv[5] = {0};

		memcpy(argv, bad[i].argv, sizeof(bad[i].argv));
		if (parse(argv, &options, &err) != -EINVAL || !strstr(err.text, bad[i].words))
			fail_msg("%s: \"%s\" lacks \"%s\"", bad[i].argv[1], err.text, bad[i].words);
		assert_string_equal(options.config, "untouched");
	}
}

static void test_help_names_every_option(void **state)
{
	static const char *const names[] = {"--config",    "--state", "--socket",       "--listen",  "--devices",
	                                    "--log-level", "--demo",  "--check-config", "--version", "--help"};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	berth_options_help(out);
	assert_int_equal(fclose(out), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(strstr(text, names[i]));
	for (char *line = text; *line; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line <= 130);
	assert_null(strstr(text, "--system"));
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_option),
		cmocka_unit_test(test_refusals_say_what_to_write),
		cmocka_unit_test(test_help_names_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
