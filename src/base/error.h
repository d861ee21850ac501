#ifndef BERTH_BASE_ERROR_H
#define BERTH_BASE_ERROR_H
/* What went wrong, said once, where it is known.
 *
 * Functions return 0 or a negative errno. Where a person will need to know more than the number, they also take a
 * caller-owned berth_error (may be NULL) and fill it: what was being done to what, and where it helps, what to do.
 */
#include "base/cleanup.h"

struct berth_error {
	int code;       /* negative errno; 0 = none */
	char text[256]; /* one sentence, no final newline, UTF-8 */
};

/* Fill err (may be NULL) and return code, so that a caller can write: return berth_error_set(err, -EINVAL, "..."). */
int berth_error_set(struct berth_error *err, int code, const char *fmt, ...) BERTH_PRINTF(3, 4);

/* The same; ": " and the system's words for code are added behind the text. */
int berth_error_errno(struct berth_error *err, int code, const char *fmt, ...) BERTH_PRINTF(3, 4);
#endif
