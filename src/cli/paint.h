#ifndef BERTH_CLI_PAINT_H
#define BERTH_CLI_PAINT_H
/* Colour, sparing, and judged for each stream apart: a table piped into a file stays plain while messages on the
 * terminal are painted. NO_COLOR (not empty) and TERM=dumb turn it off, FORCE_COLOR (not empty, not 0) on, else it is
 * on for terminals. */
#include <stdbool.h>
#include <stdio.h>

enum berth_style {
	BERTH_STYLE_PLAIN = 0, /* ends any other */
	BERTH_STYLE_BAD,       /* errors, lost devices, failed jobs */
	BERTH_STYLE_WARN,
	BERTH_STYLE_GOOD,
	BERTH_STYLE_FAINT, /* what is there but not the matter */
	BERTH_STYLE_BOLD,
};

bool berth_paint_is_on(FILE *stream);
/* The escape sequence, "" when painting is off. Static. */
const char *berth_paint(FILE *stream, enum berth_style style);
#endif
