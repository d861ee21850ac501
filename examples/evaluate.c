/* One of many small evaluations: how often does a nearest-neighbour classifier name the right one of four classes?
 * --task says which part of the questions this one takes. */
#include <inttypes.h>
#include <stdio.h>
#include "checkpoint.h"

#define DIM 64
#define CLASSES 4
#define KNOWN 4096
#define QUESTIONS_PER_SECOND 12000u

struct state {
	uint64_t asked, right;
};

static float known[KNOWN][DIM];

/* An example of a class: its centre, and noise. */
static void make(uint64_t seed, uint64_t n, float ret[DIM])
{
	const uint64_t class = n % CLASSES;

	for (unsigned i = 0; i < DIM; i++)
		ret[i] = 0.35f * random_normal(7, class * DIM + i) + random_normal(seed, n * DIM + i);
}

static float distance(const float *x, const float *y)
{
	float sum = 0;

	for (unsigned i = 0; i < DIM; i++)
		sum += (x[i] - y[i]) * (x[i] - y[i]);
	return sum;
}

static uint64_t classify(const float x[DIM])
{
	uint64_t nearest = 0;
	float least = distance(x, known[0]);

	for (uint64_t n = 1; n < KNOWN; n++) {
		const float d = distance(x, known[n]);

		if (d < least) {
			least = d;
			nearest = n;
		}
	}
	return nearest % CLASSES;
}

int main(int argc, char **argv)
{
	struct state state = {0};
	struct job job;
	uint64_t total;
	char text[32];

	if (!job_begin(&job, "evaluate", argc, argv))
		return 2;
	total = (uint64_t)job.seconds * QUESTIONS_PER_SECOND;
	for (uint64_t n = 0; n < KNOWN; n++)
		make(8, n, known[n]);
	if (checkpoint_load(&job, &state, sizeof(state)))
		(void)printf("resuming at step %" PRIu64 "\n", state.asked);
	while (state.asked < total) {
		float x[DIM];

		if (job_should_stop(&job)) {
			(void)printf("asked to stop at step %" PRIu64 "\n", state.asked);
			return checkpoint_save(&job, &state, sizeof(state)) ? 0 : 1;
		}
		make(100 + job.task, state.asked, x);
		state.right += classify(x) == state.asked % CLASSES;
		state.asked++;
		(void)snprintf(text, sizeof(text), "right %.2f%%", 100.0 * (double)state.right / (double)state.asked);
		job_say(&job, state.asked, total, text);
	}
	(void)printf("result: %" PRIu64 " of %" PRIu64 " right\n", state.right, state.asked);
	job_done(&job);
	return 0;
}
