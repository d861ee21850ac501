#include <errno.h>
#include "base/hash.h"
#include "core/table.h"

#define FIRST_CELLS 64u

static size_t home_of(const struct berth_table *table, uint64_t key)
{
	return berth_hash_u64(key) & (table->n_cells - 1);
}

/* The cell of the key, or the empty one where it would be put. */
static size_t cell_of(const struct berth_table *table, uint64_t key)
{
	size_t i = home_of(table, key);

	while (table->cell[i].key != 0 && table->cell[i].key != key)
		i = (i + 1) & (table->n_cells - 1);
	return i;
}

int berth_table_reserve(struct berth_table *table, size_t n)
{
	struct berth_table grown = { .n_cells = table->n_cells ? table->n_cells : FIRST_CELLS, .n = table->n };

	if (n > SIZE_MAX / 4 - table->n)
		return -ENOMEM;
	while (grown.n_cells * 2 < (table->n + n) * 3)
		grown.n_cells *= 2;
	if (grown.n_cells == table->n_cells)
		return 0;
	grown.cell = calloc(grown.n_cells, sizeof(*grown.cell));
	if (!grown.cell)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_cells; i++) {
		if (table->cell[i].key != 0)
			grown.cell[cell_of(&grown, table->cell[i].key)] = table->cell[i];
	}
	free(table->cell);
	*table = grown;
	return 0;
}

uint32_t berth_table_get(const struct berth_table *table, uint64_t key)
{
	size_t i;

	if (key == 0 || table->n == 0)
		return BERTH_TABLE_NONE;
	i = cell_of(table, key);
	return table->cell[i].key == key ? table->cell[i].value : BERTH_TABLE_NONE;
}

void berth_table_put(struct berth_table *table, uint64_t key, uint32_t value)
{
	size_t i = cell_of(table, key);

	if (table->cell[i].key == 0)
		table->n++;
	table->cell[i] = (struct berth_table_cell){ .key = key, .value = value };
}

void berth_table_remove(struct berth_table *table, uint64_t key)
{
	size_t mask = table->n_cells - 1;
	size_t hole;

	if (berth_table_get(table, key) == BERTH_TABLE_NONE)
		return;
	hole = cell_of(table, key);
	for (size_t i = (hole + 1) & mask; table->cell[i].key != 0; i = (i + 1) & mask) {
		size_t home = home_of(table, table->cell[i].key);

		/* It may move into the hole only if the hole is not before its home. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			table->cell[hole] = table->cell[i];
			hole = i;
		}
	}
	table->cell[hole].key = 0;
	table->n--;
}

void berth_table_fini(struct berth_table *table)
{
	free(table->cell);
	*table = (struct berth_table){ 0 };
}
