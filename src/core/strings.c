#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "base/hash.h"
#include "core/strings.h"

#define FIRST_BUCKETS 64u

struct berth_string {
	struct berth_string *next;        /* in its bucket */
	struct berth_string *pinned_next; /* valid while is_pinned */
	uint64_t hash;
	uint32_t holders;
	bool is_pinned;
	char text[];
};

static char as_stored(char c, bool is_lower)
{
	return is_lower && c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint64_t hash_text(const char *s, bool is_lower)
{
	uint64_t h = BERTH_HASH_SEED;

	for (; *s; s++) {
		char c = as_stored(*s, is_lower);

		h = berth_hash_bytes(h, &c, 1);
	}
	return h;
}

static bool is_text(const char *stored, const char *s, bool is_lower)
{
	for (; *stored && *stored == as_stored(*s, is_lower); stored++)
		s++;
	return *stored == as_stored(*s, is_lower);
}

static struct berth_string **bucket_of(const struct berth_strings *strings, uint64_t hash)
{
	return &strings->bucket[berth_hash_u64(hash) & (strings->n_buckets - 1)];
}

/* Longer chains are slower, not wrong: when there is no memory to grow, the table stays as it is. */
static void grow(struct berth_strings *strings)
{
	uint32_t old_n = strings->n_buckets;
	uint32_t n = old_n ? old_n * 2 : FIRST_BUCKETS;
	struct berth_string **old = strings->bucket;
	struct berth_string **bucket = n > old_n ? calloc(n, sizeof(struct berth_string *)) : NULL;

	if (!bucket)
		return;
	strings->bucket = bucket;
	strings->n_buckets = n;
	for (uint32_t i = 0; i < old_n; i++) {
		for (struct berth_string *at = old[i], *next; at; at = next) {
			struct berth_string **to = bucket_of(strings, at->hash);

			next = at->next;
			at->next = *to;
			*to = at;
		}
	}
	free(old);
}

static struct berth_string *add(struct berth_strings *strings, const char *s, bool is_lower, uint64_t hash)
{
	size_t len = strlen(s);
	struct berth_string *made;

	if (strings->n >= strings->n_buckets)
		grow(strings);
	if (!strings->n_buckets)
		return NULL;
	made = malloc(sizeof(*made) + len + 1);
	if (!made)
		return NULL;
	*made = (struct berth_string){ .hash = hash, .next = *bucket_of(strings, hash) };
	for (size_t i = 0; i <= len; i++)
		made->text[i] = as_stored(s[i], is_lower);
	*bucket_of(strings, hash) = made;
	strings->n++;
	return made;
}

static struct berth_string *find(const struct berth_strings *strings, const char *s, bool is_lower, uint64_t hash)
{
	struct berth_string *at = strings->n_buckets ? *bucket_of(strings, hash) : NULL;

	while (at && !(at->hash == hash && is_text(at->text, s, is_lower)))
		at = at->next;
	return at;
}

static struct berth_string *find_or_add(struct berth_strings *strings, const char *s, bool is_lower)
{
	uint64_t hash = hash_text(s, is_lower);
	struct berth_string *found = find(strings, s, is_lower, hash);

	return found ? found : add(strings, s, is_lower, hash);
}

static const char *find_text(const struct berth_strings *strings, const char *s, bool is_lower)
{
	const struct berth_string *found = *s ? find(strings, s, is_lower, hash_text(s, is_lower)) : NULL;

	if (!*s)
		return "";
	return found ? found->text : NULL;
}

const char *berth_strings_find(const struct berth_strings *strings, const char *s)
{
	return find_text(strings, s, false);
}

const char *berth_strings_find_lower(const struct berth_strings *strings, const char *s)
{
	return find_text(strings, s, true);
}

static const char *keep(struct berth_strings *strings, const char *s, bool is_lower)
{
	struct berth_string *string;

	if (!*s)
		return "";
	string = find_or_add(strings, s, is_lower);
	if (!string)
		return NULL;
	string->holders++;
	return string->text;
}

const char *berth_strings_keep(struct berth_strings *strings, const char *s)
{
	return keep(strings, s, false);
}

const char *berth_strings_keep_lower(struct berth_strings *strings, const char *s)
{
	return keep(strings, s, true);
}

static void forget(struct berth_strings *strings, struct berth_string *string)
{
	struct berth_string **at = bucket_of(strings, string->hash);

	while (*at != string)
		at = &(*at)->next;
	*at = string->next;
	strings->n--;
	free(string);
}

void berth_strings_drop(struct berth_strings *strings, const char *s)
{
	struct berth_string *string;

	if (!*s)
		return;
	string = (struct berth_string *)(void *)((char *)(uintptr_t)s - offsetof(struct berth_string, text));
	if (--string->holders == 0 && !string->is_pinned)
		forget(strings, string);
}

static int pin(struct berth_strings *strings, const char *s, bool is_lower)
{
	struct berth_string *string;

	if (!*s)
		return 0;
	string = find_or_add(strings, s, is_lower);
	if (!string)
		return -ENOMEM;
	if (string->is_pinned)
		return 0;
	string->is_pinned = true;
	string->pinned_next = strings->pinned;
	strings->pinned = string;
	return 0;
}

int berth_strings_pin(struct berth_strings *strings, const char *s)
{
	return pin(strings, s, false);
}

int berth_strings_pin_lower(struct berth_strings *strings, const char *s)
{
	return pin(strings, s, true);
}

void berth_strings_unpin(struct berth_strings *strings, const struct berth_string *mark)
{
	while (strings->pinned != mark) {
		struct berth_string *string = strings->pinned;

		strings->pinned = string->pinned_next;
		string->is_pinned = false;
		if (string->holders == 0)
			forget(strings, string);
	}
}

void berth_strings_fini(struct berth_strings *strings)
{
	for (uint32_t i = 0; i < strings->n_buckets; i++) {
		for (struct berth_string *at = strings->bucket[i], *next; at; at = next) {
			next = at->next;
			free(at);
		}
	}
	free(strings->bucket);
	*strings = (struct berth_strings){ 0 };
}
