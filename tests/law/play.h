#ifndef BERTH_LAW_PLAY_H
#define BERTH_LAW_PLAY_H
/* Play steps on a core as the daemon would, and hold every state against the laws. */
#include <setjmp.h>
#include "stream.h"

/* What is remembered of a job, independently of the core. */
struct shadow {
	bool is_seen, is_forgotten;
	enum berth_job_state state;
	uint32_t attempt;
	uint32_t stopped_attempt;      /* a stop was asked of it */
	bool is_cancelled;             /* asked, and not requeued by a person since */
	struct berth_fact_ended ended; /* the last report that was taken */
};

struct play {
	struct berth_core *core;
	bool is_hostile;               /* noise may make records that no history makes: only what holds for all is held */
	bool is_false_law;             /* also hold that no job is ever completed: to try the harness */
	uint64_t seq, n_facts;
	struct berth_fact *journal;    /* owned: every fact that the core took */
	size_t n_journal, cap_journal;
	struct shadow *shadow;         /* owned, by job id */
	size_t n_shadow;
	uint64_t next_job;             /* highest seen */
	struct berth_core *copy;       /* owned: what a law tries things on; lives until the next is made */
	struct berth_fact *plan;       /* owned: the lines at work */
	size_t cap_plan;
	jmp_buf on_broken;
	const char *broken;            /* the law that is broken; NULL = none */
	uint64_t about;                /* job or device */
};

void play_open(struct play *play, bool is_hostile, bool is_false_law);
void play_close(struct play *play);
/* False when a law is broken: play->broken says which. */
bool play_step(struct play *play, const struct step *step);
/* At the end: the journal, folded again, gives the same state. */
bool play_end(struct play *play);

/* --- for the laws ------------------------------------------------------------------------------------------------ */

/* End the step when the condition does not hold. */
void hold(struct play *play, bool condition, const char *law, uint64_t about);
/* A second core made from the image of the first; owned by the play, gone when the next is made. */
struct berth_core *play_copy(struct play *play);
struct shadow *play_shadow(struct play *play, uint64_t job);

/* laws.c: what holds in every state; of one fact folded (before: the job it is about, as it was); of a plan that was
 * folded. */
void law_state(struct play *play);
void law_fold(struct play *play, const struct berth_fact *fact, int r, const struct berth_job *before);
void law_plan(struct play *play, const struct berth_fact *plan, size_t n, uint64_t now_ms);
void law_wake(struct play *play, uint64_t now_ms, uint64_t wake_ms);
/* ask.c: answers are consistent, and what they promise comes true. */
void law_answers(struct play *play, uint64_t now_ms, uint64_t job, uint64_t pick);
/* oracle.c: the latest start of a waiting job if nobody else were in line, by the plainest way; UINT64_MAX = cannot be
 * told. Jobs in `without` (n of them) do not count as holders. ret_is_possible: enough suiting devices of a node are in
 * service. */
uint64_t oracle_start(const struct berth_core *core, const struct berth_job *job, uint64_t now_ms,
                      const uint64_t *without, size_t n, bool *ret_is_possible);
bool oracle_suits(const struct berth_job *job, const struct berth_device *device);
/* The first in line that is possible; NULL = none. */
const struct berth_job *oracle_first(const struct berth_core *core, uint64_t now_ms);
bool oracle_is_in_line(const struct berth_job *job, uint64_t now_ms);
#endif
