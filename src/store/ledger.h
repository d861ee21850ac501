#ifndef BERTH_STORE_LEDGER_H
#define BERTH_STORE_LEDGER_H
/* The ledger: the one loop of berth. Journal, fold, decide, journal, fold, carry out.
 *
 * Facts posted while a transaction is being written wait for the next one: a lone client is not delayed, a crowd shares
 * an fsync. After each commit its facts are folded, whoever posted them is told, and the core decides once; its
 * decisions stand at the head of the next transaction, so that they are folded on exactly the state they were made on.
 * Memory never holds what is not durable.
 *
 * Disk full: what people posted is refused with -ENOSPC; decisions are dropped (they will be made again); what must not
 * get lost (a report about an attempt) is kept and tried again every second until it goes through.
 *
 * Owns store and core; no thread of its own, no loop: the host watches berth_ledger_fd and calls berth_ledger_dispatch
 * when it is readable, and berth_ledger_tick at berth_ledger_wake_ms. All calls from one thread; callbacks are made
 * from dispatch and tick only (never from within post), and may post.
 */
#include "core/core.h"
#include "store/post.h"
#include "store/store.h"

struct berth_ledger;

/* The host's side; arg is handed through. Lifetime: as the ledger. */
struct berth_ledger_host {
	void *arg;
	/* The core clock: milliseconds since 1970, never falls. */
	uint64_t (*now_ms)(void *arg);
	/* A fact was made durable and folded (result 0) or was void (-ESTALE). For event streams and metrics. */
	void (*seen)(void *arg, const struct berth_fact *fact, int result);
	/* A decision was made durable and folded: carry it out, idempotently. */
	void (*carry_out)(void *arg, const struct berth_fact *decision);
	/* A job is about to be forgotten: its history row; strings allocated in arena. -errno postpones the forgetting.
	 */
	int (*history)(void *arg, const struct berth_job *job, struct berth_arena *arena,
	               struct berth_history_row *ret);
	/* The store failed for good (poisoned): the host ends and is started again. */
	void (*failed)(void *arg, const struct berth_error *err);
};

/* Open DIR, load and fold its journal. err as berth_store_open; -EBADMSG also for a journal in which a decision or a
 * snapshot contradicts what stands before it (names the row). host is copied; it is first called from dispatch or tick.
 */
BERTH_MUST_USE int berth_ledger_open(const char *dir, const struct berth_ledger_host *host, struct berth_ledger **ret,
                                     struct berth_error *err);
/* Flushes what is posted (waits, telling seen and done), then closes. Decisions are not carried out any more: whoever
 * opens the ledger next finds them in the state. NULL allowed. */
void berth_ledger_close(struct berth_ledger *ledger);

struct berth_core *berth_ledger_core(struct berth_ledger *ledger);
struct berth_store *berth_ledger_store(struct berth_ledger *ledger);

/* Post facts as one unit: see store/post.h. Returns 0 or -ENOMEM. No callback is made from here; a post at rest starts
 * its transaction at once. */
BERTH_MUST_USE int berth_ledger_post(struct berth_ledger *ledger, const struct berth_post *post);

/* A submission of this user with this key that is posted but not durable yet? Then 1: the retry should wait and ask
 * again (the store knows it after the commit). */
int berth_ledger_submission_pending(const struct berth_ledger *ledger, uint32_t uid, const char *key);

/* Ask the core again although nothing happened (a timer, a changed condition). Cheap when nothing is to be done. */
void berth_ledger_nudge(struct berth_ledger *ledger);

int berth_ledger_fd(const struct berth_ledger *ledger);
void berth_ledger_dispatch(struct berth_ledger *ledger);
/* When tick must be called at the latest, core clock; UINT64_MAX = never. */
uint64_t berth_ledger_wake_ms(const struct berth_ledger *ledger);
void berth_ledger_tick(struct berth_ledger *ledger);

/* Is the disk full? While it is, a write is tried every second, so this ends by itself. For health and refusals at the
 * door. */
bool berth_ledger_is_full(const struct berth_ledger *ledger);
/* Facts per snapshot: a snapshot is written when the journal grew by this many since the last (default 20,000), and by
 * as many as there are jobs in the live state, so that snapshots never cost more than what they save. */
void berth_ledger_set_snapshot_every(struct berth_ledger *ledger, uint64_t facts);
#endif
