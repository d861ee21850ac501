#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/export.h"
#include "cli/fake_test.h"

static char *const environment[] = {
	(char *)"PATH=/opt/bin:/usr/bin",
	(char *)"EMPTY=",
	(char *)"TWO=a=b",
	(char *)"LINES=a\nb",
	(char *)"=odd",
	(char *)"nonsense",
	(char *)"BAD=\xff\xfe",
	(char *)"NAME=林",
	(char *)"HOME=/elsewhere",
	NULL,
};

/* The value that the job would see; NULL = none. */
static const char *value_of(const json_t *env, const char *name)
{
	const json_t *entry;
	const char *found = NULL;
	size_t i;

	json_array_foreach(env, i, entry) {
		const char *text = json_string_value(entry);

		if (strncmp(text, name, strlen(name)) != 0 || text[strlen(name)] != '=')
			continue;
		assert_null(found); /* each name once */
		found = text + strlen(name) + 1;
	}
	return found;
}

static void test_all_but_what_json_cannot_carry(void **state)
{
	struct fake_capture capture;
	struct berth_error err = {0};
	char *said;
	json_t *env;

	fake_capture_begin(&capture, 2);
	env = berth_export(NULL, environment, &err);
	said = fake_capture_end(&capture);
	assert_int_equal(json_array_size(env), 6);
	assert_string_equal(value_of(env, "PATH"), "/opt/bin:/usr/bin");
	assert_string_equal(value_of(env, "EMPTY"), "");
	assert_string_equal(value_of(env, "TWO"), "a=b");
	assert_string_equal(value_of(env, "LINES"), "a\nb");
	assert_string_equal(value_of(env, "NAME"), "林");
	assert_null(value_of(env, "BAD"));
	assert_string_equal(said, "warning: the variable BAD is not UTF-8 text; the job does not get it\n");
	json_decref(env);
	free(said);
}

static void test_none_is_what_a_login_has(void **state)
{
	const struct passwd *account = getpwuid(getuid());
	struct berth_error err = {0};
	json_t *env = berth_export("NONE", environment, &err);

	assert_non_null(account);
	assert_string_equal(value_of(env, "HOME"), account->pw_dir);
	assert_string_equal(value_of(env, "USER"), account->pw_name);
	assert_string_equal(value_of(env, "LOGNAME"), account->pw_name);
	assert_non_null(strstr(value_of(env, "PATH"), "/usr/bin"));
	assert_null(value_of(env, "EMPTY"));
	assert_int_equal(json_array_size(env), 5);
	json_decref(env);
}

static void test_names_and_pairs(void **state)
{
	struct fake_capture capture;
	struct berth_error err = {0};
	char *said;
	json_t *env;

	fake_capture_begin(&capture, 2);
	env = berth_export("TWO,PATH=/mine,NEW=x=y,ABSENT", environment, &err);
	said = fake_capture_end(&capture);
	assert_string_equal(value_of(env, "TWO"), "a=b");
	assert_string_equal(value_of(env, "PATH"), "/mine");
	assert_string_equal(value_of(env, "NEW"), "x=y");
	assert_null(value_of(env, "EMPTY"));
	assert_non_null(value_of(env, "HOME"));
	assert_string_equal(said, "warning: the variable ABSENT is not set here; the job does not get it\n");
	json_decref(env);
	free(said);
	env = berth_export("NEW=1,ALL,EMPTY=full", environment + 7, &err);
	assert_string_equal(value_of(env, "HOME"), "/elsewhere");
	assert_string_equal(value_of(env, "NEW"), "1");
	assert_string_equal(value_of(env, "EMPTY"), "full");
	json_decref(env);
}

static void test_a_choice_that_names_nothing_is_refused(void **state)
{
	static const char *const bad[] = {"", ",", "=x", "A,,B", "NONE,"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fake_capture capture;
		struct berth_error err = {0};
		json_t *env;

		fake_capture_begin(&capture, 2);
		env = berth_export(bad[i], environment, &err);
		free(fake_capture_end(&capture));
		assert_null(env);
		assert_int_equal(err.code, -EINVAL);
		assert_non_null(strstr(err.text, "names no variable"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_but_what_json_cannot_carry),
		cmocka_unit_test(test_none_is_what_a_login_has),
		cmocka_unit_test(test_names_and_pairs),
		cmocka_unit_test(test_a_choice_that_names_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
