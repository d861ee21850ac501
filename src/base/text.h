#ifndef BERTH_BASE_TEXT_H
#define BERTH_BASE_TEXT_H
/* Text that grows, and what people read: UTF-8, display width, nearest word. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/cleanup.h"

/* A growing buffer, always NUL-terminated once something was added. {0} is empty. The first failed allocation
 * sticks: later calls do nothing and is_failed stays true, so a writer checks once, at the end. */
struct berth_text {
	char *at; /* owned; NULL while empty */
	size_t len;
	size_t cap;
	bool is_failed;
};

void berth_text_add(struct berth_text *text, const char *s);
void berth_text_add_n(struct berth_text *text, const char *s, size_t n);
void berth_text_addf(struct berth_text *text, const char *fmt, ...) BERTH_PRINTF(2, 3);
void berth_text_fini(struct berth_text *text);
/* The buffer itself, "" when empty; the text stays owned by the struct. NULL after a failed allocation. */
const char *berth_text_str(const struct berth_text *text);
#define BERTH_AUTO_TEXT __attribute__((cleanup(berth_text_fini)))

/* Is s, n bytes, valid UTF-8 without a NUL (no overlong forms, no surrogates)? */
bool berth_utf8_is_valid(const char *s, size_t n);
/* Columns that a terminal needs for s: East Asian wide and emoji count 2, combining marks 0, a byte that is no
 * UTF-8 counts 1. Independent of the locale. */
size_t berth_utf8_width(const char *s);
/* Copy s for people: control characters (bidirectional overrides among them) and invalid bytes become '?', cut to at
 * most max_width columns (0 = no cut; a cut text ends in an ellipsis). Allocated; NULL on -ENOMEM. */
char *berth_utf8_printable(const char *s, size_t max_width);

/* The word of list (NULL-terminated) nearest to word by Damerau-Levenshtein distance, at most 2 away (1 for words of
 * up to 3 letters); NULL when none is near. The first of equals wins. */
const char *berth_text_nearest(const char *word, const char *const *list);
/* The distance itself, restricted transpositions, in bytes; 255 for different words when one is longer than 255. */
unsigned berth_text_distance(const char *a, const char *b);
#endif
