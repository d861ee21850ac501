#include "cli/export.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include "base/text.h"
#include "cli/cli.h"

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool has_same_name(const char *a, const char *b)
{
	const size_t n = name_length(a);

	return n == name_length(b) && memcmp(a, b, n) == 0;
}

/* entry behind the others, unless JSON cannot carry it. */
static int append(json_t *env, const char *entry)
{
	const size_t n = strlen(entry);

	if (!berth_utf8_is_valid(entry, n)) {
		BERTH_AUTO_FREE char *cut = strndup(entry, name_length(entry));
		BERTH_AUTO_FREE char *name = cut ? berth_utf8_printable(cut, 60) : NULL;

		berth_warn("the variable %s is not UTF-8 text; the job does not get it", name ? name : "?");
		return 0;
	}
	return json_array_append_new(env, json_stringn(entry, n));
}

/* The same, in the place of one with its name. */
static int put(json_t *env, const char *entry)
{
	json_t *old;
	size_t i;

	json_array_foreach(env, i, old)
		if (has_same_name(json_string_value(old), entry)) {
			(void)json_array_remove(env, i);
			break;
		}
	return append(env, entry);
}

static int put_all(json_t *env, char *const *environment)
{
	int r = 0;

	for (; r == 0 && *environment; environment++)
		if (name_length(*environment) > 0 && strchr(*environment, '='))
			r = append(env, *environment);
	return r;
}

static int put_pair(json_t *env, const char *name, const char *value)
{
	BERTH_AUTO_TEXT struct berth_text entry = {0};

	berth_text_addf(&entry, "%s=%s", name, value);
	return entry.is_failed ? -1 : put(env, entry.at);
}

static int put_account(json_t *env)
{
	const struct passwd *account = getpwuid(getuid());
	int r = put_pair(env, "PATH",
	                 getuid() == 0 ? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	                               : "/usr/local/bin:/usr/bin:/bin");

	if (!account)
		return r;
	r = r < 0 ? r : put_pair(env, "HOME", account->pw_dir);
	r = r < 0 ? r : put_pair(env, "USER", account->pw_name);
	r = r < 0 ? r : put_pair(env, "LOGNAME", account->pw_name);
	return r < 0 ? r : put_pair(env, "SHELL", *account->pw_shell ? account->pw_shell : "/bin/sh");
}

/* One element of a choice: a name whose value is taken over, or NAME=VALUE. */
static int put_chosen(json_t *env, const char *word, char *const *environment, struct berth_error *err)
{
	if (name_length(word) == 0)
		return berth_error_set(err, -EINVAL,
		                       "\"%s\" names no variable; write ALL, NONE, NAME or NAME=VALUE, with commas",
		                       word);
	if (strchr(word, '='))
		return put(env, word);
	for (; *environment; environment++)
		if (has_same_name(*environment, word))
			return put(env, *environment);
	berth_warn("the variable %s is not set here; the job does not get it", word);
	return 0;
}

static bool is_all(const char *choice)
{
	BERTH_AUTO_FREE char *copy = strdup(choice);
	char *rest = copy;
	const char *word;

	while (rest && (word = strsep(&rest, ",")))
		if (strcmp(word, "ALL") == 0)
			return true;
	return false;
}

json_t *berth_export(const char *choice, char *const *environment, struct berth_error *err)
{
	const bool has_all = !choice || is_all(choice);
	const bool is_none = choice && strcmp(choice, "NONE") == 0;
	BERTH_AUTO_FREE char *copy = choice && !is_none ? strdup(choice) : NULL;
	json_t *env = json_array();
	char *rest = copy;
	const char *word;
	int r = has_all ? put_all(env, environment) : put_account(env);

	while (r == 0 && rest && (word = strsep(&rest, ",")))
		if (strcmp(word, "ALL") != 0)
			r = put_chosen(env, word, environment, err);
	if (r == 0 && env)
		return env;
	if (r != -EINVAL)
		(void)berth_error_set(err, -ENOMEM, "out of memory");
	json_decref(env);
	return NULL;
}
