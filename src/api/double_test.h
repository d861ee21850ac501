#ifndef BERTH_API_DOUBLE_TEST_H
#define BERTH_API_DOUBLE_TEST_H
/* Doubles for tests of the API alone: a ledger over the real core without a disk, whose commits can be held back and
 * made to fail; and an engine that runs nothing. They stand in for store/ and engine/local at link time. The real ones
 * are met in tests/.
 */
#include "store/ledger.h"

/* What the next commits do. */
struct berth_double_ledger_knobs {
	bool is_held; /* nothing is committed until this is false again */
	int result;   /* of every commit: 0, or -ENOSPC … */
};
struct berth_double_ledger_knobs *berth_double_knobs(struct berth_ledger *ledger);
/* A row that berth_store_history gives, newest first in the order of adding. Copied. */
void berth_double_history_add(struct berth_ledger *ledger, uint64_t job, const char *user, const char *state,
                              const char *json);
/* Blobs kept so far, duplicates counted once. */
size_t berth_double_blob_count(const struct berth_ledger *ledger);

struct berth_engine;
/* What the engine double tells: output of all jobs, progress of all. NULL output: -ENOENT. Borrowed. */
struct berth_double_engine_knobs {
	const char *output, *progress;
	bool is_slow; /* log answers come with berth_double_engine_answer */
};
struct berth_engine *berth_double_engine_new(void);
void berth_double_engine_free(struct berth_engine *engine);
struct berth_double_engine_knobs *berth_double_engine_knobs(struct berth_engine *engine);
/* Give the log answers that were held back. */
void berth_double_engine_answer(struct berth_engine *engine);
#endif
