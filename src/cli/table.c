#include "cli/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/text.h"

void berth_table_init(struct berth_table *table, const struct berth_column *column, size_t n_columns)
{
	*table = (struct berth_table){.column = column, .n_columns = n_columns};
}

void berth_table_add(struct berth_table *table, enum berth_style style, const char *text)
{
	const size_t column = table->n_cells % table->n_columns;

	if (table->n_cells == table->cap) {
		const size_t cap = table->cap ? table->cap * 2 : 64;
		struct berth_cell *cell = reallocarray(table->cell, cap, sizeof(*cell));

		if (!cell) {
			table->is_failed = true;
			return;
		}
		table->cell = cell;
		table->cap = cap;
	}
	table->cell[table->n_cells] = (struct berth_cell){
		.text = berth_utf8_printable(text && *text ? text : "-", table->column[column].max_width),
		.style = style,
	};
	if (!table->cell[table->n_cells++].text)
		table->is_failed = true;
}

void berth_table_addf(struct berth_table *table, enum berth_style style, const char *fmt, ...)
{
	BERTH_AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0) {
		text = NULL;
		table->is_failed = true;
	}
	va_end(args);
	berth_table_add(table, style, text);
}

static void measure(const struct berth_table *table, size_t *widths)
{
	for (size_t i = 0; i < table->n_columns; i++)
		widths[i] = strlen(table->column[i].title);
	for (size_t i = 0; i < table->n_cells; i++) {
		const size_t width = berth_utf8_width(table->cell[i].text);

		if (width > widths[i % table->n_columns])
			widths[i % table->n_columns] = width;
	}
}

static void print_cell(const struct berth_table *table, size_t column, size_t width, const char *text,
                       enum berth_style style, FILE *out)
{
	const bool is_right = table->column[column].is_right;
	const bool is_last = column + 1 == table->n_columns;
	const size_t own = berth_utf8_width(text);
	const int pad = width > own ? (int)(width - own) : 0;

	fprintf(out, "%*s", is_right ? pad : 0, "");
	if (style == BERTH_STYLE_PLAIN)
		fputs(text, out);
	else
		fprintf(out, "%s%s%s", berth_paint(out, style), text, berth_paint(out, BERTH_STYLE_PLAIN));
	if (!is_last)
		fprintf(out, "%*s  ", is_right ? 0 : pad, "");
	else
		fputc('\n', out);
}

int berth_table_print(const struct berth_table *table, size_t indent, FILE *out)
{
	size_t widths[BERTH_COLUMNS_MAX];

	if (table->is_failed)
		return -ENOMEM;
	measure(table, widths);
	for (size_t i = 0; i < table->n_columns; i++) {
		fprintf(out, "%*s", i == 0 ? (int)indent : 0, "");
		print_cell(table, i, widths[i], table->column[i].title, BERTH_STYLE_PLAIN, out);
	}
	for (size_t i = 0; i < table->n_cells; i++) {
		const size_t column = i % table->n_columns;

		fprintf(out, "%*s", column == 0 ? (int)indent : 0, "");
		print_cell(table, column, widths[column], table->cell[i].text, table->cell[i].style, out);
	}
	return 0;
}

void berth_table_fini(struct berth_table *table)
{
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cell[i].text);
	free(table->cell);
	*table = (struct berth_table){0};
}
