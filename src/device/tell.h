#ifndef BERTH_DEVICE_TELL_H
#define BERTH_DEVICE_TELL_H
/* What simulated devices were told, and what they must be told yet: loads and injections, in the order in which they
 * came. A new probe knows nothing, so it is told again whatever still holds.
 *
 * An entry waits, is asked under a number, then told (or refused and gone). What a later entry made void goes when that
 * one is told: "util auto" ends "util 50", "recover" ends "lost" and "hang", a load that left is gone.
 */
#include "device/probe_wire.h"

#define BERTH_TELLS_WAITING_MAX 256 /* injections at once */

struct berth_tell {
	struct berth_probe_question question; /* LOAD, LEAVE or INJECT; number 0 = not asked yet */
	uint64_t ticket;                      /* INJECT that someone waits for; 0 = none */
	bool is_told;
};
struct berth_tell_book {         /* {0} is empty */
	struct berth_tell *tell; /* owned */
	size_t n, cap;
};

void berth_tell_fini(struct berth_tell_book *book);

/* holder's load on uuid since at_ms; NULL profile = it left. 0 (also when nothing changes), -ENOMEM; -EINVAL a text
 * that does not fit into a question. Loads are a show: a caller may leave a failure at that. */
int berth_tell_load(struct berth_tell_book *book, const char *uuid, const char *holder, const char *profile,
                    uint64_t at_ms);
/* what: checked by berth_sim_inject_check before. 0, -EAGAIN, -ENOMEM, -EINVAL as above. */
BERTH_MUST_USE int berth_tell_inject(struct berth_tell_book *book, const char *uuid, const char *what, uint64_t at_ms,
                                     uint64_t ticket);

/* The entry to ask next; NULL when all is told. Valid until the book changes. The asker sets its number. */
struct berth_tell *berth_tell_next(struct berth_tell_book *book);
bool berth_tell_is_waiting(const struct berth_tell_book *book);
/* Question number was answered with result. Returns the ticket of who waited for it; 0 = nobody. An entry that changed
 * since it was asked still waits. */
uint64_t berth_tell_answered(struct berth_tell_book *book, uint32_t number, int result);
/* A new probe: everything that holds at now_ms waits again. */
void berth_tell_restart(struct berth_tell_book *book, uint64_t now_ms);
#endif
