#ifndef BERTH_STORE_FAULTY_TEST_H
#define BERTH_STORE_FAULTY_TEST_H
/* A disk that fails on demand: a layer under SQLite that counts flushes and can run full or lose a flush. It becomes
 * the process's default, so the store uses it without knowing. Flips of the switches are seen by all threads at once.
 */
#include <stdbool.h>
#include <stdint.h>

/* Put the layer in; once per process. */
void faulty_install(void);
/* All switches off, the count at 0. */
void faulty_reset(void);
/* From now on all writes find no room. */
void faulty_set_full(bool is_full);
/* From now on a flush fails; each failed one is counted. */
void faulty_set_sync_error(bool fails);
/* Flushes asked for since the last reset; those that failed. */
uint64_t faulty_syncs(void);
uint64_t faulty_failed_syncs(void);
#endif
