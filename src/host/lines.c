#include "host/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/units.h"

#define NAME_MAX_BYTES 24

static int add_text(struct berth_text *text, const struct berth_line *line, const char *value)
{
	if (memchr(value, '\0', line->size) == NULL || strchr(value, '\n'))
		return -EINVAL;
	berth_text_addf(text, "%s %s\n", line->name, value);
	return 0;
}

static int add_line(struct berth_text *text, const struct berth_line *line, const char *from)
{
	const char *at = from + line->offset;
	int r = 0;

	switch (line->type) {
	case BERTH_LINE_U64:
		berth_text_addf(text, "%s %" PRIu64 "\n", line->name, *(const uint64_t *)at);
		break;
	case BERTH_LINE_U32:
		berth_text_addf(text, "%s %" PRIu32 "\n", line->name, *(const uint32_t *)at);
		break;
	case BERTH_LINE_I32:
		berth_text_addf(text, "%s %" PRId32 "\n", line->name, *(const int32_t *)at);
		break;
	case BERTH_LINE_BOOL:
		berth_text_addf(text, "%s %d\n", line->name, *(const bool *)at ? 1 : 0);
		break;
	case BERTH_LINE_TEXT:
		return add_text(text, line, at);
	case BERTH_LINE_TEXTS:
		for (uint32_t i = 0; i < *(const uint32_t *)(from + line->count) && i < line->max && r == 0; i++)
			r = add_text(text, line, at + i * line->size);
		return r;
	case BERTH_LINE_END:
		break;
	}
	return 0;
}

int berth_lines_write(struct berth_text *text, const struct berth_line *table, const void *from)
{
	size_t begin = text->len;

	for (const struct berth_line *line = table; line->type != BERTH_LINE_END; line++) {
		int r = add_line(text, line, from);

		if (r < 0)
			return r;
	}
	if (text->is_failed)
		return -ENOMEM;
	berth_text_addf(text, "sum %016" PRIx64 "\n",
	                berth_hash_bytes(BERTH_HASH_SEED, text->at ? text->at + begin : "", text->len - begin));
	return text->is_failed ? -ENOMEM : 0;
}

/* The bytes that the sum covers, or -EBADMSG when it is missing or wrong. */
static ssize_t check_sum(const char *text, size_t len)
{
	char wanted[32];
	size_t n = sizeof("sum 0123456789abcdef\n") - 1;

	if (len < n || strlen(text) != len)
		return -EBADMSG;
	(void)snprintf(wanted, sizeof(wanted), "sum %016" PRIx64 "\n",
	               berth_hash_bytes(BERTH_HASH_SEED, text, len - n));
	return memcmp(text + len - n, wanted, n) == 0 ? (ssize_t)(len - n) : -EBADMSG;
}

static int take_number(const struct berth_line *line, const char *value, void *ret)
{
	bool is_signed = line->type == BERTH_LINE_I32;
	uint64_t max = line->type == BERTH_LINE_U64 ? UINT64_MAX : line->type == BERTH_LINE_U32 ? UINT32_MAX : 1;
	uint64_t number = 0;
	bool is_minus = is_signed && value[0] == '-';

	if (is_signed)
		max = is_minus ? (uint64_t)INT32_MAX + 1 : INT32_MAX;
	if (berth_number_parse(value + is_minus, line->name, 0, max, &number, NULL) < 0)
		return -EBADMSG;
	if (line->type == BERTH_LINE_U64)
		*(uint64_t *)ret = number;
	else if (line->type == BERTH_LINE_U32)
		*(uint32_t *)ret = (uint32_t)number;
	else if (line->type == BERTH_LINE_BOOL)
		*(bool *)ret = number == 1;
	else
		*(int32_t *)ret = (int32_t)(is_minus ? -(int64_t)number : (int64_t)number);
	return 0;
}

static int take_line(const struct berth_line *line, const char *value, char *ret)
{
	char *at = ret + line->offset;

	if (line->type == BERTH_LINE_TEXTS) {
		uint32_t *count = (uint32_t *)(ret + line->count);

		if (*count >= line->max)
			return -EBADMSG;
		at += (*count)++ * line->size;
	} else if (line->type != BERTH_LINE_TEXT) {
		return take_number(line, value, at);
	}
	if (strlen(value) >= line->size)
		return -EBADMSG;
	memcpy(at, value, strlen(value) + 1);
	return 0;
}

static const struct berth_line *find_line(const struct berth_line *table, const char *name)
{
	while (table->type != BERTH_LINE_END && strcmp(table->name, name) != 0)
		table++;
	return table->type != BERTH_LINE_END ? table : NULL;
}

/* One line of n bytes, its newline left out. */
static int read_line(const char *at, size_t n, const struct berth_line *table, void *ret)
{
	BERTH_AUTO_FREE char *copy = strndup(at, n);
	const struct berth_line *line;
	char *blank;

	if (!copy)
		return -ENOMEM;
	blank = strchr(copy, ' ');
	if (!blank || blank == copy || blank - copy > NAME_MAX_BYTES)
		return -EBADMSG;
	*blank = '\0';
	line = find_line(table, copy);
	return line ? take_line(line, blank + 1, ret) : 0;
}

int berth_lines_read(const char *text, size_t len, const struct berth_line *table, void *ret)
{
	ssize_t covered = check_sum(text, len);
	const char *end = text + covered;

	if (covered < 0)
		return (int)covered;
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		int r = newline ? read_line(text, (size_t)(newline - text), table, ret) : -EBADMSG;

		if (r < 0)
			return r;
		text = newline + 1;
	}
	return 0;
}
