/* The body of a journal row; the first byte is the kind of fact. A body that is taken is written and read again, and the
 * text is the same from then on. */
#include <string.h>
#include "base/arena.h"
#include "store/store.h"
#include "target.h"

static struct berth_fact blank(enum berth_fact_kind kind)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	fact.seq = 1;
	fact.at_ms = 1796000000000u;
	return fact;
}

static void try_again(const struct berth_fact *fact, struct berth_arena *arena)
{
	struct berth_fact again = blank(fact->kind);
	struct berth_error err = {0};
	char *first = berth_fact_to_json(fact);
	char *second;

	FUZZ_PROMISE(first);
	FUZZ_PROMISE(berth_fact_from_json(&again, first, arena, &err) == 0);
	second = berth_fact_to_json(&again);
	FUZZ_PROMISE(second && strcmp(first, second) == 0);
	free(first);
	free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_arena arena = {0};
	struct berth_error err = {0};
	struct berth_fact fact;
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	fact = blank((enum berth_fact_kind)(1 + data[0] % (BERTH_FACT_COUNT - 1)));
	if (berth_fact_from_json(&fact, text, &arena, &err) == 0)
		try_again(&fact, &arena);
	else
		FUZZ_PROMISE(err.text[0]);
	berth_arena_fini(&arena);
	free(text);
	return 0;
}
