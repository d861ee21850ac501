#ifndef BERTH_HOST_LINES_H
#define BERTH_HOST_LINES_H
/* A plain struct as lines "name value" with a checksum at the end, by a table of its fields. For claim and record. */
#include <stddef.h>
#include "base/text.h"

enum berth_line_type {
	BERTH_LINE_END = 0,
	BERTH_LINE_U64,
	BERTH_LINE_U32,
	BERTH_LINE_I32,
	BERTH_LINE_BOOL,
	BERTH_LINE_TEXT,  /* char[size], no newline inside */
	BERTH_LINE_TEXTS, /* char[max][size], one line each; how many: a uint32_t at count */
};
struct berth_line {
	const char *name;
	enum berth_line_type type;
	size_t offset; /* in the struct */
	size_t size, count, max;
};

/* table ends with type END. -ENOMEM, -EINVAL a text with a newline, or not terminated. */
BERTH_MUST_USE int berth_lines_write(struct berth_text *text, const struct berth_line *table, const void *from);
/* text: NUL-terminated, len bytes. ret must be zeroed; it is in an undefined state after a failure.
 * -EBADMSG: no or a wrong sum, anything behind it, a line without a value, a value that does not fit its type. */
BERTH_MUST_USE int berth_lines_read(const char *text, size_t len, const struct berth_line *table, void *ret);
#endif
