#include "engine/local/pattern.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LETTERS "jAaxuN%"
#define WIDTH_MAX 20

/* One element behind a '%': its letter and width. Returns what follows; letter 0 when it is none. */
static const char *read_element(const char *at, char *ret_letter, int *ret_width)
{
	int width = 0;

	while (*at >= '0' && *at <= '9' && width <= WIDTH_MAX)
		width = width * 10 + (*at++ - '0');
	*ret_width = width;
	*ret_letter = *at && strchr(LETTERS, *at) && width <= WIDTH_MAX ? *at : '\0';
	return *at ? at + 1 : at;
}

int berth_pattern_check(const char *pattern, struct berth_error *err)
{
	for (const char *at = pattern; *at;) {
		const char *start = at;
		char letter;
		int width;

		if (*at++ != '%')
			continue;
		at = read_element(at, &letter, &width);
		if (!letter)
			return berth_error_set(
				err, -EINVAL,
				"'%.*s' in the file name '%s' is unknown; known are %%j %%A %%a %%x %%u %%N %%%%",
				(int)(at - start), start, pattern);
	}
	return 0;
}

static void add_word(struct berth_text *ret, const char *word)
{
	for (; *word; word++)
		berth_text_add_n(ret, *word == '/' ? "_" : word, 1);
}

static void add_element(char letter, int width, const struct berth_pattern_values *values, struct berth_text *ret)
{
	switch (letter) {
	case 'j':
	case 'A':
		berth_text_addf(ret, "%0*" PRIu64, width, values->job);
		break;
	case 'a':
		berth_text_addf(ret, "%0*d", width, 0);
		break;
	case 'x':
		add_word(ret, values->name);
		break;
	case 'u':
		add_word(ret, values->user);
		break;
	case 'N':
		add_word(ret, values->node);
		break;
	default:
		berth_text_add(ret, "%");
	}
}

void berth_pattern_expand(const char *pattern, const struct berth_pattern_values *values, struct berth_text *ret)
{
	for (const char *at = pattern; *at;) {
		char letter;
		int width;

		if (*at != '%') {
			berth_text_add_n(ret, at++, 1);
			continue;
		}
		at = read_element(at + 1, &letter, &width);
		add_element(letter, width, values, ret);
	}
}
