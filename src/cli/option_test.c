#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "cli/option.h"

static const struct berth_option first[] = {
	{"time", 't', "TIME", "limit", NULL},
	{"hold", 'H', NULL, "wait", NULL},
	{"watch", 0, "[S]", "again", NULL},
	{0},
};
static const struct berth_option second[] = {
	{"json", 0, NULL, "JSON", NULL},
	{"plain", 0, NULL, "no JSON", "json"},
	{0},
};
static const struct berth_option *const tables[] = {first, second, NULL};

struct parsed {
	struct berth_given given;
	struct berth_arena arena;
	struct berth_error err;
	const char *help;
	char *argv[16];
	int argc, operand, r;
	bool has_dashes;
};

/* words: separated by one blank each; the text must outlive the result. */
static void parse(struct parsed *p, char *words, bool stop_early)
{
	memset(p, 0, sizeof(*p));
	p->argv[p->argc++] = (char *)"verb";
	while (words)
		p->argv[p->argc++] = strsep(&words, " ");
	berth_given_init(&p->given, tables);
	p->r = berth_given_parse(&p->given, p->argc, p->argv, "", stop_early, &p->arena, &p->operand, &p->has_dashes,
	                         &p->help, &p->err);
}

static void test_every_form_of_an_option(void **state)
{
	static const char *const forms[] = {"-t 2h",      "-t2h", "--time 2h", "--time=2h", "-Ht2h", "--hold --time=2h",
	                                    "-t 2h -t 2h"};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char words[64];
		struct parsed p;

		(void)snprintf(words, sizeof(words), "%s", forms[i]);
		parse(&p, words, false);
		assert_int_equal(p.r, 0);
		assert_string_equal(berth_given_value(&p.given, "time"), "2h");
		assert_int_equal(berth_given_has(&p.given, "hold"), strchr(forms[i], 'H') || strstr(forms[i], "hold"));
		assert_false(berth_given_has(&p.given, "json"));
		assert_int_equal(p.operand, p.argc);
		berth_arena_fini(&p.arena);
	}
}

static void test_an_optional_value_stands_behind_an_equals_sign(void **state)
{
	char with[] = "--watch=5 12";
	char without[] = "--watch 12";
	struct parsed p;

	parse(&p, with, false);
	assert_string_equal(berth_given_value(&p.given, "watch"), "5");
	parse(&p, without, false);
	assert_string_equal(berth_given_value(&p.given, "watch"), "");
	assert_string_equal(p.argv[p.operand], "12");
}

static void test_operands_mix_with_options_unless_a_command_begins(void **state)
{
	char mixed[] = "12 --json 13";
	char command[] = "--json python --time 3";
	char dashes[] = "--json -- --time 3";
	char value[] = "-t -- python";
	struct parsed p;

	parse(&p, mixed, false);
	assert_true(berth_given_has(&p.given, "json"));
	assert_int_equal(p.argc - p.operand, 2);
	assert_string_equal(p.argv[p.operand], "12");
	parse(&p, command, true);
	assert_int_equal(p.r, 0);
	assert_false(berth_given_has(&p.given, "time"));
	assert_false(p.has_dashes);
	assert_string_equal(p.argv[p.operand], "python");
	parse(&p, dashes, true);
	assert_true(p.has_dashes);
	assert_string_equal(p.argv[p.operand], "--time");
	parse(&p, value, true); /* here -- is the value of -t */
	assert_string_equal(berth_given_value(&p.given, "time"), "--");
	assert_false(p.has_dashes);
}

static void test_what_is_refused_and_what_would_help(void **state)
{
	static const struct {
		const char *words, *text, *help;
	} cases[] = {
		{"--tiem 2h", "there is no option --tiem", "Did you mean --time?"},
		{"--tim=2h", "there is no option --tim=2h", "Did you mean --time?"},
		{"--tim", "there is no option --tim", "Did you mean --time?"},
		{"--ho", "there is no option --ho", NULL},
		{"--nonsense", "there is no option --nonsense", NULL},
		{"-x", "there is no option -x", NULL},
		{"-Hx", "there is no option -x", NULL},
		{"-t", "--time needs a value: TIME", NULL},
		{"--time", "--time needs a value: TIME", NULL},
		{"--hold=yes", "--hold takes no value", NULL},
		{"-t 1h -t 2h", "--time is given twice on the command line; only one can hold", NULL},
		{"-t 1h --time=2h", "--time is given twice on the command line; only one can hold", NULL},
		{"--plain --json", "--plain and --json contradict each other", NULL},
		{"--json --plain", "--plain and --json contradict each other", NULL},
		{"--\xff\x1b[2J", "there is no option --?\?[2J", NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char words[64];
		struct parsed p;

		(void)snprintf(words, sizeof(words), "%s", cases[i].words);
		parse(&p, words, false);
		assert_int_equal(p.r, -EINVAL);
		assert_string_equal(p.err.text, cases[i].text);
		if (cases[i].help)
			assert_string_equal(p.help, cases[i].help);
		else
			assert_null(p.help);
		berth_arena_fini(&p.arena);
	}
}

static void test_where_it_stood(void **state)
{
	struct berth_given given;
	struct berth_error err = {0};
	struct berth_arena arena = {0};

	berth_given_init(&given, tables);
	assert_int_equal(berth_given_set(&given, "time", "2h", "a.sh line 3", &err), 0);
	assert_int_equal(berth_given_set(&given, "tiem", "2h", "a.sh line 3", &err), -ENOENT);
	assert_int_equal(berth_given_set(&given, "time", "2h", "a.sh line 4", &err),
	                 0); /* the same again is no contradiction */
	assert_int_equal(berth_given_set(&given, "time", "3h", "a.sh line 5", &err), -EINVAL);
	assert_string_equal(err.text, "--time is given twice, on a.sh line 4 and on a.sh line 5; only one can hold");
	assert_string_equal(berth_given_name(&given, "time", &arena), "--time (a.sh line 4)");
	assert_string_equal(berth_given_name(&given, "hold", &arena), "--hold");
	berth_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_of_an_option),
		cmocka_unit_test(test_an_optional_value_stands_behind_an_equals_sign),
		cmocka_unit_test(test_operands_mix_with_options_unless_a_command_begins),
		cmocka_unit_test(test_what_is_refused_and_what_would_help),
		cmocka_unit_test(test_where_it_stood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
