#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/fake_test.h"
#include "cli/script.h"

static void assert_words(const char *line, int n, const char *const *expected)
{
	struct berth_arena arena = {0};
	char **words = NULL;
	int count = berth_words_split(line, strlen(line), &arena, &words);

	assert_int_equal(count, n);
	for (int i = 0; i < n; i++)
		assert_string_equal(words[1 + i], expected[i]);
	assert_null(words[1 + n]);
	berth_arena_fini(&arena);
}

static void test_words_as_a_shell_splits_them(void **state)
{
	static const char *const plain[] = {"--gpus", "2"};
	static const char *const quoted[] = {"-J", "two words", "a'b", "x\"y", "", "\\n", "tab\there"};

	assert_words("", 0, NULL);
	assert_words("  # only a comment", 0, NULL);
	assert_words("--gpus 2", 2, plain);
	assert_words(" \t--gpus\t2  # why 2", 2, plain);
	assert_words("-J 'two words' a\\'b 'x\"y' '' \"\\n\" tab\"\t\"here", 7, quoted);
}

static void test_open_quotes_are_seen(void **state)
{
	static const char *const bad[] = {"'", "a \"b", "a\\", "'a\"b"};
	struct berth_arena arena = {0};
	char **words;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(berth_words_split(bad[i], strlen(bad[i]), &arena, &words), -EINVAL);
	berth_arena_fini(&arena);
}

/* Parse a script; *ret_said is what was printed to stderr. */
static int parse(struct berth_cli *cli, const char *text, struct berth_script *ret, char **ret_said)
{
	static char *const none[] = {NULL};
	struct fake_capture capture;
	int r;

	fake_cli(cli, NULL, "submit", none);
	fake_capture_begin(&capture, 2);
	r = berth_script_parse(cli, "train.sh", text, strlen(text), ret);
	*ret_said = fake_capture_end(&capture);
	return r;
}

static void test_option_lines(void **state)
{
	static const char text[] = "#!/bin/bash\n"
				   "# a comment\n"
				   "\n"
				   "#BERTH --gpus 2 --gpu-mem=40G # two of them\n"
				   "##BERTH --time 1h\n"
				   "#BERTHA --time 2h\n"
				   "#BERTH\t-J 'my job' --hold\n"
				   "echo hello\n";
	struct berth_script script = {0};
	struct berth_cli cli;
	char *said;

	assert_int_equal(parse(&cli, text, &script, &said), 0);
	assert_string_equal(said, "");
	assert_string_equal(script.text, text);
	assert_string_equal(berth_given_value(&script.given, "gpus"), "2");
	assert_string_equal(berth_given_value(&script.given, "gpu-mem"), "40G");
	assert_string_equal(berth_given_value(&script.given, "name"), "my job");
	assert_true(berth_given_has(&script.given, "hold"));
	assert_false(berth_given_has(&script.given, "time"));
	assert_string_equal(berth_given_name(&script.given, "name", &cli.arena), "--name (train.sh line 7)");
	free(said);
	fake_cli_end(&cli);
}

static void test_what_is_not_carried_out_is_said(void **state)
{
	struct berth_script script = {0};
	struct berth_cli cli;
	char *said;

	assert_int_equal(parse(&cli, "#!/bin/sh\n#SBATCH --gres=gpu:2\n#BERTH -G 1\ntrue\n#BERTH -t 1h\n#SBATCH -t 5\n",
	                       &script, &said),
	                 0);
	assert_string_equal(said, "warning: train.sh line 2: \"#SBATCH --gres=gpu:2\" is not carried out: this version "
	                          "reads #BERTH lines "
	                          "only, #SBATCH comes with a later one\n"
	                          "warning: train.sh line 5: #BERTH below the first command is not read; move it up\n");
	assert_string_equal(berth_given_value(&script.given, "gpus"), "1");
	assert_false(berth_given_has(&script.given, "time"));
	free(said);
	fake_cli_end(&cli);
}

static void test_lines_and_files_that_are_refused(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{"#!/bin/sh\n#BERTH --tiem 1h\n",
	         "error: train.sh line 2: there is no option --tiem\n  Did you mean --time?\n"},
		{"#!/bin/sh\n#BERTH --dry-run\n", "error: train.sh line 2: there is no option --dry-run\n"},
		{"#!/bin/sh\n\n#BERTH -t 1h\n#BERTH --time 2h\n",
	         "error: --time is given twice, on train.sh line 3 and on train.sh line 4; only one can hold\n"},
		{"#!/bin/sh\n#BERTH -t\n", "error: train.sh line 2: --time needs a value: TIME\n"},
		{"#!/bin/sh\n#BERTH 2 -t 1h\n",
	         "error: train.sh line 2: \"2\" is no option\n  Only options stand on #BERTH lines.\n"},
		{"#!/bin/sh\n#BERTH -J 'open\n", "error: train.sh line 2: a quote is not closed\n"},
		{"echo hello\n",
	         "error: train.sh does not start with #!\n  Its first line must name the program that runs it, as in  "
	         "#!/bin/bash\n  A command is submitted with -- before it:  berth submit -- COMMAND\n"},
		{"",
	         "error: train.sh does not start with #!\n  Its first line must name the program that runs it, as in  "
	         "#!/bin/bash\n  A command is submitted with -- before it:  berth submit -- COMMAND\n"},
		{"#!/bin/sh\r\ntrue\r\n",
	         "error: train.sh has DOS line ends\n  Take them out:  sed -i 's/\\r$//' FILE\n"},
		{"#!/bin/sh\necho \xc4\xe3\n",
	         "error: train.sh is not UTF-8 text\n  Convert it:  iconv -f GB18030 -t UTF-8 OLD > NEW\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct berth_script script = {0};
		struct berth_cli cli;
		char *said;

		assert_int_equal(parse(&cli, cases[i].text, &script, &said), BERTH_EXIT_USAGE);
		assert_string_equal(said, cases[i].said);
		free(said);
		fake_cli_end(&cli);
	}
}

static void test_files_are_read_and_named(void **state)
{
	static char *const none[] = {NULL};
	struct berth_script script = {0};
	struct berth_cli cli;
	struct fake fake;
	struct fake_capture capture;
	static const struct fake_step no_steps[] = {{0}};
	FILE *file;
	char *said;

	fake_start(&fake, no_steps);
	file = fopen(fake_path(&fake, "job.sh"), "we");
	assert_non_null(file);
	fputs("#!/bin/sh\n#BERTH -G 3\n", file);
	assert_int_equal(fclose(file), 0);
	fake_cli(&cli, &fake, "submit", none);
	assert_int_equal(berth_script_read(&cli, fake_path(&fake, "job.sh"), &script), 0);
	assert_string_equal(script.name, "job.sh");
	assert_string_equal(berth_given_value(&script.given, "gpus"), "3");
	fake_capture_begin(&capture, 2);
	assert_int_equal(berth_script_read(&cli, "no-such-script", &script), BERTH_EXIT_USAGE);
	assert_int_equal(berth_script_read(&cli, fake.dir, &script), BERTH_EXIT_USAGE);
	assert_int_equal(berth_script_read(&cli, "/proc/self/exe", &script), BERTH_EXIT_USAGE);
	said = fake_capture_end(&capture);
	assert_non_null(strstr(
		said,
		"cannot read the script no-such-script: No such file or directory\n  A command is submitted with --"));
	assert_non_null(strstr(said, ": Is a directory"));
	free(said);
	fake_cli_end(&cli);
	fake_stop(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_as_a_shell_splits_them),
		cmocka_unit_test(test_open_quotes_are_seen),
		cmocka_unit_test(test_option_lines),
		cmocka_unit_test(test_what_is_not_carried_out_is_said),
		cmocka_unit_test(test_lines_and_files_that_are_refused),
		cmocka_unit_test(test_files_are_read_and_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
