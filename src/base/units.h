#ifndef BERTH_BASE_UNITS_H
#define BERTH_BASE_UNITS_H
/* Times and sizes as people write them. */
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define BERTH_UNLIMITED_MS UINT64_MAX

/* A duration: Slurm's grammar M, M:S, H:M:S, D-H, D-H:M, D-H:M:S (the fields after the first are below 60, below 24
 * after D-), or 45s, 90m, 2h30m, 1d and their sums in falling order, or UNLIMITED (any case).
 * Anything else, a sign, an overflow beyond 100 years: -EINVAL, never "unlimited". 0 parses as 0: the caller decides.
 */
BERTH_MUST_USE int berth_duration_parse(const char *s, uint64_t *ret_ms, struct berth_error *err);

/* A size in bytes: digits with an optional fraction and K, M, G, T (powers of 1024), optionally followed by B or iB,
 * any case. A bare number is bytes. -EINVAL for anything else, -ERANGE beyond UINT64_MAX. */
BERTH_MUST_USE int berth_size_parse(const char *s, uint64_t *ret_bytes, struct berth_error *err);

/* A moment for --begin: now, now+DURATION, HH:MM[:SS] (the next such local time), YYYY-MM-DD[THH:MM[:SS]] local,
 * or the same with Z or +hh:mm. now_ms and ret_ms: milliseconds since 1970 UTC. -EINVAL otherwise. */
BERTH_MUST_USE int berth_moment_parse(const char *s, uint64_t now_ms, uint64_t *ret_ms, struct berth_error *err);

/* A whole unsigned number, decimal, nothing around it, min..max. -EINVAL, -ERANGE with a text that names what. */
BERTH_MUST_USE int berth_number_parse(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                                      struct berth_error *err);

#define BERTH_FORMAT_MAX 40
/* "1-02:03:04", "2:03:04", "0:42"; "unlimited". Returns buf. */
char *berth_duration_format(uint64_t ms, char buf[static BERTH_FORMAT_MAX]);
/* "80 GB" in binary units, three significant digits: 1536 MiB is "1.5 GB", as vendor tools print it. Returns buf. */
char *berth_size_format(uint64_t bytes, char buf[static BERTH_FORMAT_MAX]);
/* ISO 8601 local time with zone and milliseconds: 2026-11-30T19:16:54.123+08:00; "-" beyond the year 9999. Returns buf.
 */
char *berth_moment_format(uint64_t at_ms, char buf[static BERTH_FORMAT_MAX]);
/* For tables: "19:16" today, "Tue 19:16" within a week, else "2026-11-30". Returns buf. */
char *berth_moment_format_short(uint64_t at_ms, uint64_t now_ms, char buf[static BERTH_FORMAT_MAX]);
#endif
