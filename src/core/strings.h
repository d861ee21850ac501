#ifndef BERTH_CORE_STRINGS_H
#define BERTH_CORE_STRINGS_H
/* Interned strings with holders: equal text is stored once, so records compare pointers, and text goes with its last
 * holder, so a daemon that runs for a year does not collect the names of a year.
 *
 * "" is never stored: it is one static string that needs no memory and no holder.
 */
#include <stdint.h>
#include "base/cleanup.h"

struct berth_string;
struct berth_strings { /* {0} is empty */
	struct berth_string **bucket; /* owned; chains */
	uint32_t n_buckets;
	uint32_t n;
	struct berth_string *pinned; /* kept alive for facts that are about to be folded */
};

/* The stored copy of s, no holder more; NULL when there is none. */
const char *berth_strings_find(const struct berth_strings *strings, const char *s);
const char *berth_strings_find_lower(const struct berth_strings *strings, const char *s);
/* The stored copy of s with one holder more; NULL when memory is out. */
BERTH_MUST_USE const char *berth_strings_keep(struct berth_strings *strings, const char *s);
/* The same for s in lower case (ASCII only, so that no locale decides whether two models are equal). */
BERTH_MUST_USE const char *berth_strings_keep_lower(struct berth_strings *strings, const char *s);
/* One holder less. s came from berth_strings_keep of the same table. */
void berth_strings_drop(struct berth_strings *strings, const char *s);

/* Until it is unpinned, keep(s) or keep_lower(s) cannot fail, whatever is dropped in between. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_strings_pin(struct berth_strings *strings, const char *s);
BERTH_MUST_USE int berth_strings_pin_lower(struct berth_strings *strings, const char *s);
/* Forget the pins set since strings->pinned was `mark` (NULL = all), and those strings that nobody came to hold. */
void berth_strings_unpin(struct berth_strings *strings, const struct berth_string *mark);

void berth_strings_fini(struct berth_strings *strings);
#endif
