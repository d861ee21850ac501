#include "cli/sse.h"

#include <string.h>

struct draft {
	char name[16];
	struct berth_text data;
	bool has_data;
};

/* One line, n bytes without its end: "field: value", ": comment". */
static void read_line(struct draft *draft, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	const size_t field = colon ? (size_t)(colon - line) : n;
	const char *value = colon ? colon + 1 : line + n;
	size_t length = (size_t)(line + n - value);

	if (length > 0 && *value == ' ') {
		value++;
		length--;
	}
	if (field == 5 && memcmp(line, "event", 5) == 0) {
		(void)snprintf(draft->name, sizeof(draft->name), "%.*s", (int)length, value);
	} else if (field == 4 && memcmp(line, "data", 4) == 0) {
		if (draft->has_data)
			berth_text_add(&draft->data, "\n");
		berth_text_add_n(&draft->data, value, length);
		draft->has_data = true;
	}
}

/* Reads lines from text->at + *at on, up to an empty one; false when it has not come yet. */
static bool read_event(const struct berth_text *text, size_t *at, struct draft *draft)
{
	const char *newline;

	while ((newline = memchr(text->at + *at, '\n', text->len - *at))) {
		const char *line = text->at + *at;
		size_t n = (size_t)(newline - line);

		*at += n + 1;
		if (n > 0 && line[n - 1] == '\r')
			n--;
		if (n == 0)
			return true;
		read_line(draft, line, n);
	}
	return false;
}

static void drop_front(struct berth_text *text, size_t n)
{
	text->len -= n;
	memmove(text->at, text->at + n, text->len + 1);
}

bool berth_sse_take(struct berth_text *text, struct berth_sse *ret)
{
	size_t at = 0;

	while (text->len > 0) {
		struct draft draft = {.name = "message"};

		if (!read_event(text, &at, &draft) || draft.data.is_failed) {
			berth_text_fini(&draft.data);
			return false;
		}
		drop_front(text, at);
		at = 0;
		if (draft.has_data) {
			memcpy(ret->name, draft.name, sizeof(ret->name));
			ret->data = draft.data.at ? draft.data.at : strdup("");
			return ret->data != NULL;
		}
	}
	return false;
}
