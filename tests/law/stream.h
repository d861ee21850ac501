#ifndef BERTH_LAW_STREAM_H
#define BERTH_LAW_STREAM_H
/* A stream of steps that is made up while it is played: what happens outside the core, and when it is asked.
 *
 * Steps hold everything that playing them again needs, so a stream can be cut into pieces and tried again. All
 * strings in their facts are constants.
 */
#include "core/core.h"

enum step_kind {
	STEP_FACT,    /* fold the fact */
	STEP_DECIDE,  /* decide, fold the decisions, again until there are none */
	STEP_RESTART, /* go on with a core made from the image of this one */
	STEP_ASK,     /* why, outlook, dry run; what they promise is tried on a copy */
};
struct step {
	enum step_kind kind;
	uint64_t now_ms;
	struct berth_fact fact; /* of STEP_FACT; at_ms = now_ms */
	uint64_t job, pick;     /* of STEP_ASK: about whom, and any number for the dry run */
};

/* splitmix64: the same numbers on every machine. */
uint64_t random_next(uint64_t *state);
/* 0 to n - 1; n > 0. */
uint64_t random_below(uint64_t *state, uint64_t n);

struct stream_maker {
	uint64_t random;
	uint64_t now_ms;
	bool is_hostile;   /* now and then a fact of pure noise */
	bool is_slow;      /* much waits: few ends, long limits */
	uint64_t late_job; /* an attempt reported on before, to be reported on again */
	uint32_t late_attempt;
};
/* The next step, made to mean something in the state the core is in. */
struct step stream_next(struct stream_maker *maker, const struct berth_core *core);

/* One line for people. */
void stream_print(const struct step *step);
#endif
