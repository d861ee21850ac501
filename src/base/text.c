#include "base/text.h"

#include <stdarg.h>
#include <string.h>
#include "base/width.h"

/* Room for n more bytes and the NUL. */
static bool grow(struct berth_text *text, size_t n)
{
	size_t cap = text->cap ? text->cap : 64;
	char *at;

	if (text->is_failed || n > SIZE_MAX / 2 - text->len - 1) {
		text->is_failed = true;
		return false;
	}
	while (cap < text->len + n + 1)
		cap *= 2;
	if (cap == text->cap)
		return true;
	at = realloc(text->at, cap);
	if (!at) {
		text->is_failed = true;
		return false;
	}
	text->at = at;
	text->cap = cap;
	return true;
}

void berth_text_add_n(struct berth_text *text, const char *s, size_t n)
{
	if (!grow(text, n))
		return;
	if (n > 0)
		memcpy(text->at + text->len, s, n);
	text->len += n;
	text->at[text->len] = '\0';
}

void berth_text_add(struct berth_text *text, const char *s)
{
	berth_text_add_n(text, s, strlen(s));
}

void berth_text_addf(struct berth_text *text, const char *fmt, ...)
{
	va_list args;
	va_list again;
	int n;

	va_start(args, fmt);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, args);
	if (n < 0) {
		text->is_failed = true;
	} else if (grow(text, (size_t)n)) {
		(void)vsnprintf(text->at + text->len, (size_t)n + 1, fmt, again);
		text->len += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

void berth_text_fini(struct berth_text *text)
{
	free(text->at);
	*text = (struct berth_text){0};
}

const char *berth_text_str(const struct berth_text *text)
{
	if (text->is_failed)
		return NULL;
	return text->at ? text->at : "";
}

/* What a lead byte promises; the lowest rune that needs that many bytes rules out overlong forms. */
static size_t lead_length(unsigned char lead, uint32_t *ret_bits, uint32_t *ret_lowest)
{
	static const struct {
		unsigned char mask;
		unsigned char tag;
		uint32_t lowest;
	} forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if ((lead & forms[i].mask) != forms[i].tag)
			continue;
		*ret_bits = lead & (uint32_t)(unsigned char)~forms[i].mask;
		*ret_lowest = forms[i].lowest;
		return i + 1;
	}
	return 0;
}

/* The character at s, of which n > 0 bytes may be read: its length, or 0 when no valid one starts there. */
static size_t decode(const char *s, size_t n, uint32_t *ret)
{
	uint32_t rune = 0;
	uint32_t lowest = 0;
	size_t len = lead_length((unsigned char)s[0], &rune, &lowest);

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0u) != 0x80u)
			return 0;
		rune = rune << 6 | ((unsigned char)s[i] & 0x3fu);
	}
	if (rune < lowest || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return 0;
	*ret = rune;
	return len;
}

bool berth_utf8_is_valid(const char *s, size_t n)
{
	uint32_t rune;

	for (size_t i = 0; i < n;) {
		size_t len = decode(s + i, n - i, &rune);

		if (len == 0 || rune == 0)
			return false;
		i += len;
	}
	return true;
}

/* Characters that move the cursor or turn the text around, so that what is seen is not what is there. */
static bool is_control(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || (rune >= 0x2028 && rune <= 0x202e) ||
	       (rune >= 0x2066 && rune <= 0x2069);
}

/* One step through text for people: the bytes taken (at least 1); false in ret_is_shown where a '?' stands for them. */
static size_t step(const char *s, size_t n, unsigned *ret_width, bool *ret_is_shown)
{
	uint32_t rune;
	size_t len = decode(s, n, &rune);

	*ret_is_shown = len > 0 && !is_control(rune);
	*ret_width = *ret_is_shown ? berth_rune_width(rune) : 1;
	return len > 0 ? len : 1;
}

size_t berth_utf8_width(const char *s)
{
	size_t n = strlen(s);
	size_t total = 0;
	unsigned width;
	bool is_shown;

	for (size_t i = 0; i < n; total += width)
		i += step(s + i, n - i, &width, &is_shown);
	return total;
}

char *berth_utf8_printable(const char *s, size_t max_width)
{
	const size_t n = strlen(s);
	const bool is_cut = max_width > 0 && berth_utf8_width(s) > max_width;
	const size_t room = is_cut ? max_width - 1 : SIZE_MAX; /* the ellipsis takes one column */
	BERTH_AUTO_TEXT struct berth_text text = {0};
	size_t used = 0;
	unsigned width;
	bool is_shown;

	berth_text_add(&text, "");
	for (size_t i = 0, len; i < n; i += len) {
		len = step(s + i, n - i, &width, &is_shown);
		if (used + width > room)
			break;
		used += width;
		berth_text_add_n(&text, is_shown ? s + i : "?", is_shown ? len : 1);
	}
	if (is_cut)
		berth_text_add(&text, "\xe2\x80\xa6");
	return text.is_failed ? NULL : BERTH_TAKE(text.at);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

unsigned berth_text_distance(const char *a, const char *b)
{
	const size_t n = strlen(a);
	const size_t m = strlen(b);
	unsigned rows[3][256]; /* of the dynamic programme, the last three, used in turn */

	if (n > 255 || m > 255)
		return strcmp(a, b) == 0 ? 0 : 255;
	for (unsigned j = 0; j <= m; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i - 1) % 3];

		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
				const unsigned swapped = rows[(i - 2) % 3][j - 2] + 1;

				row[j] = swapped < row[j] ? swapped : row[j];
			}
		}
	}
	return rows[n % 3][m];
}

const char *berth_text_nearest(const char *word, const char *const *list)
{
	unsigned least = strlen(word) <= 3 ? 2 : 3; /* one more than the distance that still counts as near */
	const char *nearest = NULL;

	for (; *list; list++) {
		unsigned distance = berth_text_distance(word, *list);

		if (distance < least) {
			least = distance;
			nearest = *list;
		}
	}
	return nearest;
}
