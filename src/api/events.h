#ifndef BERTH_API_EVENTS_H
#define BERTH_API_EVENTS_H
/* What changed lately, for event streams: one ring for everybody.
 *
 * The ring holds what changed, not how: a stream writes the job or device as it is when it gets that far. So a reader
 * costs a position in the ring and nothing else, a slow one skips states that are over, and one that is overtaken by
 * the ring is told to read the lists again. Progress and samples are notices: the last few hundred are kept as text,
 * without a number, and a slow reader misses some.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"

#define BERTH_EVENTS_CHANGES 10000u
#define BERTH_EVENTS_NOTICES 512u

enum berth_change_kind { BERTH_CHANGE_JOB, BERTH_CHANGE_GPU };
struct berth_change {
	uint64_t seq; /* the fact's */
	enum berth_change_kind kind;
	uint64_t id;  /* of the job or device */
	bool is_last; /* of this fact: only behind it a reader has seen seq whole */
};
struct berth_notice {
	const char *name; /* "progress", "sample" */
	char *data;       /* owned; one line of JSON */
};

struct berth_events;

/* seq: the last fact before the daemon listened; nothing up to it is held. NULL when memory is out. */
struct berth_events *berth_events_new(uint64_t seq);
void berth_events_free(struct berth_events *events); /* NULL allowed */

/* A fact of this number changed these. Ascending seq. */
void berth_events_change(struct berth_events *events, uint64_t seq, const struct berth_change *changes, size_t n);
/* data is copied; without memory the notice is lost, as notices may be. */
void berth_events_notice(struct berth_events *events, const char *name, const char *data);

/* Where a reader stands. */
struct berth_cursor {
	uint64_t change, notice; /* numbers of the next ones, from 0 */
};
/* The end: only what comes. */
struct berth_cursor berth_events_end(const struct berth_events *events);
/* Behind the changes of fact since. false when they are not held any more, or since is not of this journal: the reader
 * must read the lists again; the cursor then stands at the end. now_seq: the last fact there is. */
bool berth_events_seek(const struct berth_events *events, uint64_t since, uint64_t now_seq, struct berth_cursor *ret);
/* 1 and the next change; 0 there is none; -ESTALE the ring overtook the reader (the cursor is moved to the end). A
 * change that a later one of the same fact or of the next few repeats is left out. */
int berth_events_next_change(const struct berth_events *events, struct berth_cursor *cursor, struct berth_change *ret);
/* The next notice; NULL when there is none. Borrowed until the next notice is added. */
const struct berth_notice *berth_events_next_notice(const struct berth_events *events, struct berth_cursor *cursor);
#endif
