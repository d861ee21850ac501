#include "store/fact_copy.h"

#include <errno.h>
#include "base/hash.h"
#include "store/clean.h"

static const char *copy_string(const char *from, struct berth_arena *arena, struct berth_copy_memory *memory)
{
	const size_t slot = (size_t)(berth_hash_u64((uint64_t)(uintptr_t)from) % BERTH_COPY_SLOTS);
	char *copy;

	if (!from || !*from)
		return "";
	if (memory && memory->from[slot] == from)
		return memory->to[slot];
	copy = berth_arena_strdup(arena, from);
	if (!copy)
		return NULL;
	berth_clean_text(copy);
	if (memory) {
		memory->from[slot] = from;
		memory->to[slot] = copy;
	}
	return copy;
}

int berth_fact_copy(struct berth_fact *ret, const struct berth_fact *from, struct berth_arena *arena,
                    struct berth_copy_memory *memory)
{
	const struct berth_fact_shape *shape = berth_fact_shape(from->kind);

	*ret = *from;
	if (!shape)
		return 0;
	for (const struct berth_field *field = shape->fields; field->type != BERTH_FIELD_END; field++) {
		const char **at = (const char **)((char *)ret + field->offset);

		if (field->type != BERTH_FIELD_STR)
			continue;
		*at = copy_string(*at, arena, memory);
		if (!*at)
			return -ENOMEM;
	}
	return 0;
}
