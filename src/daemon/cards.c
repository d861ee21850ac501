#include "daemon/cards.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"

struct berth_cards berth_cards_all(void)
{
	return (struct berth_cards){.is_all = true};
}

static int add_uuid(struct berth_cards *cards, const char *uuid, struct berth_error *err)
{
	if (strlen(uuid) >= BERTH_CARDS_UUID_LEN)
		return berth_error_set(err, -EINVAL, "\"%.20s…\" is too long for a card's UUID (%d bytes at most)",
		                       uuid, BERTH_CARDS_UUID_LEN - 1);
	for (uint32_t i = 0; i < cards->n_uuids; i++)
		if (strcmp(cards->uuid[i], uuid) == 0)
			return berth_error_set(err, -EEXIST, "card %s is listed twice", uuid);
	if (cards->n_uuids == BERTH_CARDS_UUIDS_MAX)
		return berth_error_set(err, -EINVAL, "more than %d cards are listed by UUID", BERTH_CARDS_UUIDS_MAX);
	(void)snprintf(cards->uuid[cards->n_uuids++], BERTH_CARDS_UUID_LEN, "%s", uuid);
	return 0;
}

static int parse_range(const char *item, uint64_t *ret_first, uint64_t *ret_last, struct berth_error *err)
{
	const char *dash = strchr(item, '-');
	char first[8];
	int r;

	if (!dash) {
		r = berth_number_parse(item, "card index", 0, BERTH_CARDS_INDEX_MAX - 1, ret_first, err);
		*ret_last = *ret_first;
		return r;
	}
	if ((size_t)(dash - item) >= sizeof(first))
		return berth_error_set(err, -EINVAL, "\"%.20s\" is no range of card indexes such as 0-3", item);
	memcpy(first, item, (size_t)(dash - item));
	first[dash - item] = '\0';
	r = berth_number_parse(first, "first card index", 0, BERTH_CARDS_INDEX_MAX - 1, ret_first, err);
	if (r < 0)
		return r;
	r = berth_number_parse(dash + 1, "last card index", 0, BERTH_CARDS_INDEX_MAX - 1, ret_last, err);
	if (r < 0)
		return r;
	if (*ret_last < *ret_first)
		return berth_error_set(err, -EINVAL, "the range %s ends before it begins", item);
	return 0;
}

static int add_indexes(struct berth_cards *cards, const char *item, struct berth_error *err)
{
	uint64_t first = 0, last = 0, mask = 0;

	if (parse_range(item, &first, &last, err) < 0)
		return -EINVAL; /* a range that is out of bounds is nonsense too */
	for (uint64_t i = first; i <= last; i++)
		mask |= UINT64_C(1) << i;
	if (cards->index_mask & mask)
		return berth_error_set(err, -EEXIST, "a card of %s is listed twice", item);
	cards->index_mask |= mask;
	return 0;
}

int berth_cards_add(struct berth_cards *cards, const char *item, struct berth_error *err)
{
	if (isalpha((unsigned char)item[0]))
		return add_uuid(cards, item, err);
	return add_indexes(cards, item, err);
}

bool berth_cards_has(const struct berth_cards *cards, uint32_t index, const char *uuid)
{
	if (cards->is_all || (index < BERTH_CARDS_INDEX_MAX && cards->index_mask >> index & 1))
		return true;
	for (uint32_t i = 0; i < cards->n_uuids; i++)
		if (strcmp(cards->uuid[i], uuid) == 0)
			return true;
	return false;
}

bool berth_cards_equal(const struct berth_cards *a, const struct berth_cards *b)
{
	if (a->is_all || b->is_all)
		return a->is_all == b->is_all;
	if (a->index_mask != b->index_mask || a->n_uuids != b->n_uuids)
		return false;
	for (uint32_t i = 0; i < a->n_uuids; i++)
		if (strcmp(a->uuid[i], b->uuid[i]) != 0)
			return false;
	return true;
}

/* Add a piece behind a comma, if anything stands before it. */
static void append(char *buf, size_t cap, const char *piece)
{
	size_t len = strlen(buf);

	(void)snprintf(buf + len, cap - len, "%s%s", len ? "," : "", piece);
}

char *berth_cards_format(const struct berth_cards *cards, char *buf, size_t cap)
{
	buf[0] = '\0';
	if (cards->is_all)
		append(buf, cap, "all");
	for (uint32_t first = 0; !cards->is_all && first < BERTH_CARDS_INDEX_MAX; first++) {
		uint32_t last = first;
		char piece[24];

		if (!(cards->index_mask >> first & 1))
			continue;
		while (last + 1 < BERTH_CARDS_INDEX_MAX && cards->index_mask >> (last + 1) & 1)
			last++;
		(void)snprintf(piece, sizeof(piece), first == last ? "%u" : "%u-%u", first, last);
		append(buf, cap, piece);
		first = last;
	}
	for (uint32_t i = 0; !cards->is_all && i < cards->n_uuids; i++)
		append(buf, cap, cards->uuid[i]);
	return buf;
}
