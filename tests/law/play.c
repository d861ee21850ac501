#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "play.h"

void hold(struct play *play, bool condition, const char *law, uint64_t about)
{
	if (condition)
		return;
	play->broken = law;
	play->about = about;
	longjmp(play->on_broken, 1);
}

static void *grown(void *at, size_t n, size_t size)
{
	void *more = realloc(at, n * size);

	if (!more)
		abort();
	return more;
}

void play_open(struct play *play, bool is_hostile, bool is_false_law)
{
	*play = (struct play){ .core = berth_core_new(), .is_hostile = is_hostile, .is_false_law = is_false_law };
	if (!play->core)
		abort();
}

void play_close(struct play *play)
{
	berth_core_free(play->core);
	berth_core_free(play->copy);
	free(play->plan);
	free(play->journal);
	free(play->shadow);
	*play = (struct play){ 0 };
}

struct shadow *play_shadow(struct play *play, uint64_t job)
{
	if (job >= play->n_shadow) {
		size_t n = (size_t)job * 2 + 64;

		play->shadow = grown(play->shadow, n, sizeof(*play->shadow));
		memset(play->shadow + play->n_shadow, 0, (n - play->n_shadow) * sizeof(*play->shadow));
		play->n_shadow = n;
	}
	return &play->shadow[job];
}

/* The job that a fact is about; 0 = none that there is. */
static uint64_t subject(const struct berth_core *core, const struct berth_fact *fact)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);
	uint64_t id = 0;

	if (shape && strcmp(shape->fields[0].name, "job") == 0)
		id = *(const uint64_t *)((const char *)fact + shape->fields[0].offset);
	return berth_core_job(core, id) ? id : 0;
}

static void write_down(struct play *play, const struct berth_fact *fact)
{
	if (play->n_journal == play->cap_journal) {
		play->cap_journal = play->cap_journal ? play->cap_journal * 2 : 1024;
		play->journal = grown(play->journal, play->cap_journal, sizeof(*play->journal));
	}
	play->journal[play->n_journal++] = *fact;
}

/* As the ledger does: the fact gets its number, is written down and folded. */
static int fold(struct play *play, struct berth_fact *fact)
{
	uint64_t id = subject(play->core, fact);
	struct berth_job before = { 0 };
	uint64_t hash = play->n_facts % 64 == 0 ? berth_core_hash(play->core) : 0;
	int r;

	fact->seq = play->seq + 1;
	if (id)
		before = *berth_core_job(play->core, id);
	r = berth_core_fold(play->core, fact);
	hold(play, r == 0 || r == -ESTALE || r == -EINVAL, "a fold takes, ignores or refuses", (uint64_t)-r);
	hold(play, r == 0 || !hash || berth_core_hash(play->core) == hash, "what is not taken changes nothing",
	     fact->kind);
	play->n_facts++;
	if (r != -EINVAL) {
		play->seq++;
		write_down(play, fact);
	}
	if (r == 0 && !id && (fact->kind == BERTH_FACT_JOB_SUBMITTED || fact->kind == BERTH_FACT_JOB_IMAGE))
		before.id = subject(play->core, fact);
	law_fold(play, fact, r, &before);
	law_state(play);
	return r;
}

static bool is_same_field(const struct berth_field *field, const void *a, const void *b)
{
	switch (field->type) {
	case BERTH_FIELD_U64:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case BERTH_FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case BERTH_FIELD_STR:
		return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
	case BERTH_FIELD_SHARES:
		return memcmp(a, b, sizeof(struct berth_share_set)) == 0;
	default:
		return *(const uint32_t *)a == *(const uint32_t *)b;
	}
}

static bool is_same_fact(const struct berth_fact *a, const struct berth_fact *b)
{
	bool is_same = a->kind == b->kind && a->at_ms == b->at_ms;

	for (const struct berth_field *field = berth_fact_shape(a->kind)->fields;
	     is_same && field->type != BERTH_FIELD_END; field++)
		is_same = is_same_field(field, (const char *)a + field->offset, (const char *)b + field->offset);
	return is_same;
}

static bool is_same_plan(const struct berth_fact *lines, size_t n, const struct berth_plan *plan)
{
	bool is_same = n == plan->n;

	for (size_t i = 0; is_same && i < n; i++)
		is_same = is_same_fact(&lines[i], &plan->facts[i]);
	return is_same;
}

static void keep_plan(struct play *play, const struct berth_plan *plan)
{
	if (plan->n > play->cap_plan) {
		play->cap_plan = plan->n * 2;
		play->plan = grown(play->plan, play->cap_plan, sizeof(*play->plan));
	}
	for (size_t i = 0; i < plan->n; i++)
		play->plan[i] = plan->facts[i];
}

/* One plan: decided twice, then folded. Returns how many lines it had. */
static size_t decide(struct play *play, uint64_t now_ms)
{
	uint64_t hash = play->n_facts % 4 == 0 ? berth_core_hash(play->core) : 0;
	struct berth_plan plan;
	size_t n;

	hold(play, berth_core_decide(play->core, now_ms, &plan) == 0, "decide answers", 0);
	n = plan.n;
	keep_plan(play, &plan);
	hold(play, !hash || berth_core_hash(play->core) == hash, "to decide changes nothing", n);
	hold(play, berth_core_decide(play->core, now_ms, &plan) == 0 && is_same_plan(play->plan, n, &plan),
	     "asked twice, decided alike", n);
	hold(play, plan.wake_ms > now_ms || n > 0, "it wakes later, or has something to say now", n);
	for (size_t i = 0; i < n; i++)
		hold(play, fold(play, &play->plan[i]) == 0, "a decision can be folded", play->plan[i].kind);
	law_plan(play, play->plan, n, now_ms);
	if (n == 0)
		law_wake(play, now_ms, plan.wake_ms);
	return n;
}

static void settle(struct play *play, uint64_t now_ms)
{
	for (unsigned rounds = 0; decide(play, now_ms) > 0; rounds++)
		hold(play, rounds < 8, "plans come to an end", rounds);
}

static size_t size_of(enum berth_field_type type)
{
	switch (type) {
	case BERTH_FIELD_U64:
		return sizeof(uint64_t);
	case BERTH_FIELD_BOOL:
		return sizeof(bool);
	case BERTH_FIELD_STR:
		return sizeof(const char *);
	case BERTH_FIELD_SHARES:
		return sizeof(struct berth_share_set);
	default:
		return sizeof(uint32_t);
	}
}

/* As a store would: only what the shape of the kind tells comes over. */
static int fold_into(void *arg, const struct berth_fact *fact)
{
	struct berth_fact told;

	berth_fact_init(&told, fact->kind);
	told.seq = fact->seq;
	told.at_ms = fact->at_ms;
	for (const struct berth_field *f = berth_fact_shape(fact->kind)->fields; f->type != BERTH_FIELD_END; f++)
		memcpy((char *)&told + f->offset, (const char *)fact + f->offset, size_of(f->type));
	return berth_core_fold(arg, &told);
}

/* What the hash does not see because the image does not tell it would be lost without a word. */
static void hold_same_devices(struct play *play)
{
	for (size_t i = 0; i < berth_core_device_count(play->core); i++) {
		const struct berth_device *a = berth_core_device_at(play->core, i), *b = berth_core_device_at(play->copy, i);

		hold(play, a->since_ms == b->since_ms && a->job == b->job && a->node == b->node, "devices come over", a->id);
	}
}

struct berth_core *play_copy(struct play *play)
{
	berth_core_free(play->copy);
	play->copy = berth_core_new();
	if (!play->copy)
		abort();
	hold(play, berth_core_image(play->core, fold_into, play->copy) == 0, "an image can be folded", 0);
	hold(play, berth_core_hash(play->copy) == berth_core_hash(play->core), "an image gives the same state", 0);
	hold_same_devices(play);
	hold(play, berth_core_seq(play->copy) == berth_core_seq(play->core), "an image gives the same journal number",
	     0);
	return play->copy;
}

/* The copy must also decide the same: the hash sees only what the image tells. */
static void restart(struct play *play, uint64_t now_ms)
{
	struct berth_core *copy = play_copy(play);
	struct berth_plan a, b;

	hold(play, berth_core_decide(play->core, now_ms, &a) == 0, "decide answers", 1);
	hold(play, berth_core_decide(copy, now_ms, &b) == 0, "decide answers", 2);
	hold(play, is_same_plan(a.facts, a.n, &b) && a.wake_ms == b.wake_ms, "an image decides the same", a.n);
	play->copy = play->core;
	play->core = copy;
}

bool play_step(struct play *play, const struct step *step)
{
	struct berth_fact fact = step->fact;

	if (setjmp(play->on_broken))
		return false;
	switch (step->kind) {
	case STEP_FACT:
		(void)fold(play, &fact);
		break;
	case STEP_DECIDE:
		settle(play, step->now_ms);
		break;
	case STEP_RESTART:
		restart(play, step->now_ms);
		break;
	case STEP_ASK:
		settle(play, step->now_ms);
		law_answers(play, step->now_ms, step->job, step->pick);
		break;
	}
	return true;
}

bool play_end(struct play *play)
{
	struct berth_core *again;

	if (setjmp(play->on_broken))
		return false;
	berth_core_free(play->copy);
	play->copy = again = berth_core_new();
	hold(play, again && berth_core_reserve(again, play->journal, play->n_journal) == 0, "there is memory", 0);
	for (size_t i = 0; i < play->n_journal; i++)
		hold(play, berth_core_fold(again, &play->journal[i]) != -EINVAL, "a journal is never refused", i);
	hold(play, berth_core_hash(again) == berth_core_hash(play->core),
	     "the journal folded again gives the same state", 0);
	return true;
}
