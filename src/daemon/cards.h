#ifndef BERTH_DAEMON_CARDS_H
#define BERTH_DAEMON_CARDS_H
/* Which cards of the machine berth may give to jobs: configuration `cards:`, a list of indexes, ranges of them and
 * UUIDs. The other cards are watched and shown, never scheduled.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define BERTH_CARDS_INDEX_MAX 64 /* indexes below this */
#define BERTH_CARDS_UUIDS_MAX 64
#define BERTH_CARDS_UUID_LEN 64 /* with NUL, as devices have them */

/* A plain record; {0} chooses no card, see berth_cards_all. */
struct berth_cards {
	bool is_all;         /* every card, also such that appear later; the rest is not read then */
	uint64_t index_mask; /* bit i: the card with index i */
	uint32_t n_uuids;
	char uuid[BERTH_CARDS_UUIDS_MAX][BERTH_CARDS_UUID_LEN];
};

struct berth_cards berth_cards_all(void);
/* One item of the list: "3", "0-3", or a UUID, which begins with a letter ("GPU-…", "SIM-…").
 * -EINVAL nonsense, an index of 64 or more, a falling range or too many UUIDs, err says which; -EEXIST chosen already.
 * cards unchanged then. */
BERTH_MUST_USE int berth_cards_add(struct berth_cards *cards, const char *item, struct berth_error *err);
bool berth_cards_has(const struct berth_cards *cards, uint32_t index, const char *uuid);
bool berth_cards_equal(const struct berth_cards *a, const struct berth_cards *b);
/* "all", or the list as it could be written: "0-3,7,GPU-…". Returns buf; cut when cap is too small. */
char *berth_cards_format(const struct berth_cards *cards, char *buf, size_t cap);
#endif
