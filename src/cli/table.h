#ifndef BERTH_CLI_TABLE_H
#define BERTH_CLI_TABLE_H
/* Tables for people: columns as wide as what stands in them, by display width, so that Chinese names align. */
#include <stdio.h>
#include "cli/paint.h"

#define BERTH_COLUMNS_MAX 16

struct berth_column {
	const char *title;
	bool is_right;
	size_t max_width; /* longer cells are cut, with an ellipsis; 0 = never */
};

struct berth_cell {
	char *text; /* owned, printable */
	enum berth_style style;
};

struct berth_table {
	const struct berth_column *column; /* borrowed */
	size_t n_columns;
	struct berth_cell *cell; /* owned, row by row */
	size_t n_cells, cap;
	bool is_failed; /* memory ran out; printing says so */
};

void berth_table_init(struct berth_table *table, const struct berth_column *column, size_t n_columns);
/* The next cell, left to right and top to bottom. text is copied; control characters become '?'. NULL or "" shows as
 * "-". */
void berth_table_add(struct berth_table *table, enum berth_style style, const char *text);
void berth_table_addf(struct berth_table *table, enum berth_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Title line and rows, two blanks between columns, indented by indent. 0, or -ENOMEM. */
int berth_table_print(const struct berth_table *table, size_t indent, FILE *out);
void berth_table_fini(struct berth_table *table);
#define BERTH_AUTO_TABLE __attribute__((cleanup(berth_table_fini)))
#endif
