#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/fake_test.h"
#include "cli/verbs.h"

/* The program as it is built, and its manual page: argv[1] and argv[2] of the test. */
static const char *program;
static const char *manual;

static char *contents(int fd)
{
	struct stat st;
	char *text;

	assert_int_equal(fstat(fd, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)st.st_size, 0), st.st_size);
	(void)close(fd);
	return text;
}

/* Run the program with words; what it printed, and its exit code. */
static int run(char *const *words, char **ret_out, char **ret_err)
{
	int out = memfd_create("out", MFD_CLOEXEC);
	int err = memfd_create("err", MFD_CLOEXEC);
	char *argv[16] = {(char *)program};
	int status = 0;
	pid_t pid;

	for (size_t i = 0; words[i]; i++)
		argv[1 + i] = words[i];
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(out, 1);
		(void)dup2(err, 2);
		execv(program, argv);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ret_out = contents(out);
	*ret_err = contents(err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct expected {
	char *words[8];
	int code;
	const char *out, *err; /* NULL = not looked at */
};

static void test_words_and_what_is_said_to_them(void **state)
{
	static const struct expected cases[] = {
		{{(char *)"--version"}, 0, "berth " BERTH_VERSION "\n", ""},
		{{NULL}, 2, "", NULL},
		{{(char *)"--help"}, 0, NULL, ""},
		{{(char *)"help", (char *)"wait"}, 0, NULL, ""},
		{{(char *)"wait", (char *)"--help"}, 0, NULL, ""},
		{{(char *)"help", (char *)"config"}, 0, NULL, ""},
		{{(char *)"help", (char *)"nonsense"},
	         2,
	         "",
	         "error: no command 'nonsense'\n  All of them:  berth help\n"},
		{{(char *)"subimt", (char *)"--gpus", (char *)"2"},
	         2,
	         "",
	         "error: no command 'subimt'. Did you mean 'submit'?\n"},
		{{(char *)"frobnicate"}, 2, "", "error: no command 'frobnicate'\n  All of them:  berth help\n"},
		{{(char *)"sub"}, 2, "", "error: no command 'sub'\n  All of them:  berth help\n"},
		{{(char *)"--json", (char *)"queue"},
	         2,
	         "{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"Usage\",\"message\":\"options stand behind the "
	         "command, not before it: "
	         "--json\",\"params\":{},\"help\":\"berth COMMAND [options]\"}}\n",
	         ""},
		{{(char *)"config"},
	         2,
	         "",
	         "error: config needs a word behind it\n  berth config check FILE\n  berth config show\n"},
		{{(char *)"config", (char *)"shwo"},
	         2,
	         "",
	         "error: no command 'config shwo'\n  berth config check FILE\n  berth config show\n"},
		{{(char *)"queue", (char *)"12"}, 2, "", "error: \"12\" is one word too many; it is  berth queue\n"},
		{{(char *)"show"}, 2, "", "error: too few words; it is  berth show JOB\n"},
		{{(char *)"cancel"}, 2, "", "error: too few words; it is  berth cancel JOB...\n"},
		{{(char *)"run"}, 2, "", "error: too few words; it is  berth run [--] COMMAND...\n"},
		{{(char *)"queue", (char *)"--wtach"},
	         2,
	         "",
	         "error: there is no option --wtach\n  Did you mean --watch?\n"},
		{{(char *)"submit", (char *)"--mig", (char *)"1g.10gb", (char *)"--", (char *)"x"},
	         2,
	         "",
	         "error: there is no option --mig\n"},
		{{(char *)"cancel", (char *)"12", (char *)"--json", (char *)"--nonsense"},
	         2,
	         "{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"Usage\",\"message\":\"there is no option "
	         "--nonsense\",\"params\":{},"
	         "\"help\":null}}\n",
	         ""},
		{{(char *)"queue", (char *)"--socket", (char *)"/tmp/berth-absent/s"},
	         6,
	         "",
	         "error: the daemon does not answer on /tmp/berth-absent/s: No such file or directory\n"
	         "  Is it running?  Start one:  berthd     Check all:  berth doctor\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *out;
		char *err;
		int r = run(cases[i].words, &out, &err);

		if (r != cases[i].code)
			fail_msg("%s: %d, %s", cases[i].words[0], r, err);
		if (cases[i].out)
			assert_string_equal(out, cases[i].out);
		if (cases[i].err)
			assert_string_equal(err, cases[i].err);
		free(out);
		free(err);
	}
}

static void test_the_daemons_program_is_found_beside_ours(void **state)
{
	char dir[] = "/tmp/berth-beside-XXXXXX";
	char path[64];
	char copy[64];
	char *words[] = {(char *)"config", (char *)"check", (char *)"/a b.yaml", NULL};
	char *json[] = {(char *)"config", (char *)"check", (char *)"--json", (char *)"x.yaml", NULL};
	const char *own = program;
	char *out;
	char *err;
	FILE *file;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(copy, sizeof(copy), "%s/berth", dir);
	(void)snprintf(path, sizeof(path), "%s/berthd", dir);
	assert_int_equal(symlink(own, copy), 0);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs("#!/bin/sh\necho \"$1 $2\"\necho complaint >&2\nexit 2\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0700), 0);
	program = copy;
	assert_int_equal(run(words, &out, &err), 2);
	assert_string_equal(out, "--check-config /a b.yaml\n");
	assert_string_equal(err, "complaint\n");
	free(out);
	free(err);
	assert_int_equal(run(json, &out, &err), 2);
	assert_string_equal(
		out,
		"{\"schema\":\"berth.check/1\",\"is_good\":false,\"text\":\"--check-config x.yaml\\ncomplaint\"}\n");
	assert_string_equal(err, "");
	free(out);
	free(err);
	program = own;
	assert_int_equal(unlink(copy), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

static void test_a_full_stdout_is_a_failure(void **state)
{
	char *argv[] = {(char *)program, (char *)"--version", NULL};
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), 1);
		execv(program, argv);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 1);
}

static void assert_told(const char *text, const char *before, const char *word)
{
	char wanted[64];

	(void)snprintf(wanted, sizeof(wanted), "%s%s", before, word);
	for (const char *at = text; (at = strstr(at, wanted)); at++)
		if (strchr("*[= ", at[strlen(wanted)]))
			return;
	fail_msg("%s is not in the manual", wanted);
}

static void test_the_manual_tells_every_command_and_option(void **state)
{
	char *text = NULL;

	assert_int_equal(berth_file_read_at(AT_FDCWD, manual, 1 << 20, &text, NULL), 0);
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++) {
		if (!verb->summary)
			continue;
		assert_told(text, "*", verb->name);
		for (size_t i = 0; i < BERTH_TABLES_MAX && verb->tables[i]; i++)
			for (const struct berth_option *option = verb->tables[i]; option->name; option++)
				assert_told(text, "*--", option->name);
	}
	for (const struct berth_option *option = berth_common_options; option->name; option++)
		assert_told(text, "*--", option->name);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_and_what_is_said_to_them),
		cmocka_unit_test(test_the_daemons_program_is_found_beside_ours),
		cmocka_unit_test(test_a_full_stdout_is_a_failure),
		cmocka_unit_test(test_the_manual_tells_every_command_and_option),
	};

	int r;

	if (argc < 3)
		return 2;
	program = realpath(argv[1], NULL);
	manual = argv[2];
	if (!program)
		return 2;
	(void)unsetenv("FORCE_COLOR");
	r = cmocka_run_group_tests(tests, NULL, NULL);
	free((char *)program);
	return r;
}
