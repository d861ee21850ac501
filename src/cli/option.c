#include "cli/option.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include "base/text.h"

#define CODE_FIRST 1000 /* of getopt_long: options without regard to their letters */

void berth_given_init(struct berth_given *given, const struct berth_option *const *tables)
{
	*given = (struct berth_given){0};
	for (; *tables; tables++)
		for (const struct berth_option *option = *tables; option->name; option++) {
			assert(given->n < BERTH_OPTIONS_MAX);
			given->option[given->n++] = option;
		}
}

static size_t find(const struct berth_given *given, const char *name)
{
	size_t i = 0;

	while (i < given->n && strcmp(given->option[i]->name, name) != 0)
		i++;
	return i;
}

static size_t find_letter(const struct berth_given *given, int letter)
{
	size_t i = 0;

	while (i < given->n && given->option[i]->letter != letter)
		i++;
	return i;
}

static const char *place(const char *where)
{
	return *where ? where : "the command line";
}

static const char *shown(const char *word, struct berth_arena *arena)
{
	BERTH_AUTO_FREE char *printable = berth_utf8_printable(word, 60);
	const char *copy = berth_arena_strdup(arena, printable);

	return copy ? copy : "?";
}

static int refuse_twice(const struct berth_given *given, size_t i, const char *where, struct berth_error *err)
{
	const char *name = given->option[i]->name;

	if (strcmp(given->where[i], where) == 0)
		return berth_error_set(err, -EINVAL, "--%s is given twice on %s; only one can hold", name,
		                       place(where));
	return berth_error_set(err, -EINVAL, "--%s is given twice, on %s and on %s; only one can hold", name,
	                       place(given->where[i]), place(where));
}

static int set_at(struct berth_given *given, size_t i, const char *value, const char *where, struct berth_error *err)
{
	size_t other;

	if (given->value[i] && strcmp(given->value[i], value) != 0)
		return refuse_twice(given, i, where, err);
	given->value[i] = value;
	given->where[i] = where;
	for (size_t k = 0; k < given->n; k++) {
		const struct berth_option *rival = given->option[k];

		if (!rival->conflicts || !given->value[k])
			continue;
		other = find(given, rival->conflicts);
		if (other < given->n && given->value[other] && (k == i || other == i))
			return berth_error_set(err, -EINVAL, "--%s and --%s contradict each other", rival->name,
			                       rival->conflicts);
	}
	return 0;
}

int berth_given_set(struct berth_given *given, const char *name, const char *value, const char *where,
                    struct berth_error *err)
{
	size_t i = find(given, name);

	if (i == given->n)
		return berth_error_set(err, -ENOENT, "there is no option --%s", name);
	return set_at(given, i, value, where, err);
}

const char *berth_given_value(const struct berth_given *given, const char *name)
{
	size_t i = find(given, name);

	assert(i < given->n);
	return given->value[i];
}

bool berth_given_has(const struct berth_given *given, const char *name)
{
	return berth_given_value(given, name) != NULL;
}

const char *berth_given_name(const struct berth_given *given, const char *name, struct berth_arena *arena)
{
	size_t i = find(given, name);
	BERTH_AUTO_TEXT struct berth_text text = {0};
	const char *copy;

	assert(i < given->n);
	berth_text_addf(&text, "--%s", name);
	if (given->value[i] && *given->where[i])
		berth_text_addf(&text, " (%s)", given->where[i]);
	copy = berth_arena_strdup(arena, berth_text_str(&text));
	return copy ? copy : name;
}

static int has_arg(const struct berth_option *option)
{
	if (!option->value)
		return no_argument;
	return option->value[0] == '[' ? optional_argument : required_argument;
}

/* The tables in getopt_long's form. letters has room for three characters an option and three more. */
static void describe(const struct berth_given *given, bool stop_early, struct option *longs, char *letters)
{
	if (stop_early)
		*letters++ = '+';
	*letters++ = ':'; /* a missing value is told apart from an unknown option */
	for (size_t i = 0; i < given->n; i++) {
		const struct berth_option *option = given->option[i];

		longs[i] = (struct option){option->name, has_arg(option), NULL, CODE_FIRST + (int)i};
		if (!option->letter)
			continue;
		*letters++ = option->letter;
		if (has_arg(option) == required_argument)
			*letters++ = ':';
	}
	longs[given->n] = (struct option){0};
	*letters = '\0';
}

/* A long option as it was written, without its value: getopt_long takes beginnings of names, we do not, since one that
 * is clear today is not when the next option comes. */
static bool is_written_out(const struct berth_option *option, const char *word)
{
	const size_t n = strcspn(word, "=");

	return strncmp(word, "--", 2) != 0 ||
	       (strlen(option->name) == n - 2 && strncmp(word + 2, option->name, n - 2) == 0);
}

/* "Did you mean --time?", or NULL. */
static const char *nearest(const struct berth_given *given, const char *word, struct berth_arena *arena)
{
	const char *names[BERTH_OPTIONS_MAX + 1] = {0};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	const char *found;

	for (size_t i = 0; i < given->n; i++)
		names[i] = given->option[i]->name;
	berth_text_addf(&text, "%.*s", (int)strcspn(word + 2, "="), word + 2);
	if (text.is_failed)
		return NULL;
	found = berth_text_nearest(berth_text_str(&text), names);
	if (!found)
		return NULL;
	berth_text_fini(&text);
	berth_text_addf(&text, "Did you mean --%s?", found);
	return berth_arena_strdup(arena, berth_text_str(&text));
}

static int refuse_unknown(const struct berth_given *given, const char *word, int letter, const char *where,
                          struct berth_arena *arena, const char **ret_help, struct berth_error *err)
{
	const char *colon = *where ? ": " : "";

	*ret_help = letter == 0 ? nearest(given, word, arena) : NULL;
	if (letter != 0)
		return berth_error_set(err, -EINVAL, "%s%sthere is no option -%c", where, colon,
		                       letter > ' ' && letter < 127 ? letter : '?');
	return berth_error_set(err, -EINVAL, "%s%sthere is no option %s", where, colon, shown(word, arena));
}

/* What getopt_long refused with '?' or ':'. */
static int refuse(const struct berth_given *given, int code, const char *word, const char *where,
                  struct berth_arena *arena, const char **ret_help, struct berth_error *err)
{
	const char *colon = *where ? ": " : "";
	size_t i = optopt >= CODE_FIRST ? (size_t)(optopt - CODE_FIRST) : find_letter(given, optopt);

	if (optopt == 0 || i >= given->n || (optopt >= CODE_FIRST && !is_written_out(given->option[i], word)))
		return refuse_unknown(given, word, optopt < CODE_FIRST ? optopt : 0, where, arena, ret_help, err);
	if (code == ':')
		return berth_error_set(err, -EINVAL, "%s%s--%s needs a value: %s", where, colon, given->option[i]->name,
		                       given->option[i]->value);
	return berth_error_set(err, -EINVAL, "%s%s--%s takes no value", where, colon, given->option[i]->name);
}

int berth_given_parse(struct berth_given *given, int argc, char **argv, const char *where, bool stop_early,
                      struct berth_arena *arena, int *ret_operand, bool *ret_dashes, const char **ret_help,
                      struct berth_error *err)
{
	struct option longs[BERTH_OPTIONS_MAX + 1];
	char letters[3 * BERTH_OPTIONS_MAX + 3];
	int before = 1;
	int code;

	*ret_help = NULL;
	describe(given, stop_early, longs, letters);
	opterr = 0;
	optind = 0; /* glibc: forget what was read before */
	while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		size_t i = code >= CODE_FIRST ? (size_t)(code - CODE_FIRST) : find_letter(given, code);
		const char *word = argv[optind - 1];
		int r;

		if (code == '?' || code == ':')
			return refuse(given, code, word, where, arena, ret_help, err);
		if (optarg == word)
			word = argv[optind - 2];
		if (code >= CODE_FIRST && !is_written_out(given->option[i], word))
			return refuse_unknown(given, word, 0, where, arena, ret_help, err);
		r = set_at(given, i, optarg ? optarg : "", where, err);
		if (r < 0)
			return r;
		before = optind;
	}
	*ret_operand = optind;
	*ret_dashes = optind > before && optind > 1 && strcmp(argv[optind - 1], "--") == 0;
	return 0;
}
