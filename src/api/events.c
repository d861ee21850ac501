#include "api/events.h"

#include <errno.h>
#include <string.h>

/* A job that starts and ends at once changes four times in a row: looking this far ahead leaves one. */
#define AHEAD 16u

struct berth_events {
	uint64_t n_changes, n_notices; /* ever added */
	uint64_t floor_seq;            /* changes of facts up to here may be gone */
	struct berth_change change[BERTH_EVENTS_CHANGES];
	struct berth_notice notice[BERTH_EVENTS_NOTICES];
};

struct berth_events *berth_events_new(uint64_t seq)
{
	struct berth_events *events = calloc(1, sizeof(*events));

	if (events)
		events->floor_seq = seq;
	return events;
}

void berth_events_free(struct berth_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < BERTH_EVENTS_NOTICES; i++)
		free(events->notice[i].data);
	free(events);
}

static const struct berth_change *change_at(const struct berth_events *events, uint64_t number)
{
	return &events->change[number % BERTH_EVENTS_CHANGES];
}

static uint64_t oldest_change(const struct berth_events *events)
{
	return events->n_changes > BERTH_EVENTS_CHANGES ? events->n_changes - BERTH_EVENTS_CHANGES : 0;
}

void berth_events_change(struct berth_events *events, uint64_t seq, const struct berth_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct berth_change *slot = &events->change[events->n_changes % BERTH_EVENTS_CHANGES];

		if (events->n_changes >= BERTH_EVENTS_CHANGES)
			events->floor_seq = slot->seq;
		*slot = changes[i];
		slot->seq = seq;
		slot->is_last = i + 1 == n;
		events->n_changes++;
	}
}

void berth_events_notice(struct berth_events *events, const char *name, const char *data)
{
	struct berth_notice *slot = &events->notice[events->n_notices % BERTH_EVENTS_NOTICES];
	char *copy = strdup(data);

	if (!copy)
		return;
	free(slot->data);
	*slot = (struct berth_notice){name, copy};
	events->n_notices++;
}

struct berth_cursor berth_events_end(const struct berth_events *events)
{
	return (struct berth_cursor){events->n_changes, events->n_notices};
}

bool berth_events_seek(const struct berth_events *events, uint64_t since, uint64_t now_seq, struct berth_cursor *ret)
{
	uint64_t low = oldest_change(events);
	uint64_t high = events->n_changes;

	*ret = berth_events_end(events);
	if (since < events->floor_seq || since > now_seq)
		return false;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (change_at(events, middle)->seq <= since)
			low = middle + 1;
		else
			high = middle;
	}
	ret->change = low;
	return true;
}

static bool is_repeated(const struct berth_events *events, uint64_t number)
{
	const struct berth_change *change = change_at(events, number);
	const uint64_t end = events->n_changes - number > AHEAD ? number + AHEAD : events->n_changes;

	while (++number < end)
		if (change_at(events, number)->kind == change->kind && change_at(events, number)->id == change->id)
			return true;
	return false;
}

int berth_events_next_change(const struct berth_events *events, struct berth_cursor *cursor, struct berth_change *ret)
{
	if (cursor->change < oldest_change(events)) {
		*cursor = berth_events_end(events);
		return -ESTALE;
	}
	for (; cursor->change < events->n_changes; cursor->change++) {
		if (is_repeated(events, cursor->change))
			continue;
		*ret = *change_at(events, cursor->change++);
		return 1;
	}
	return 0;
}

const struct berth_notice *berth_events_next_notice(const struct berth_events *events, struct berth_cursor *cursor)
{
	const uint64_t oldest = events->n_notices > BERTH_EVENTS_NOTICES ? events->n_notices - BERTH_EVENTS_NOTICES : 0;

	if (cursor->notice < oldest)
		cursor->notice = oldest;
	return cursor->notice < events->n_notices ? &events->notice[cursor->notice++ % BERTH_EVENTS_NOTICES] : NULL;
}
