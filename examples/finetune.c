/* Fine-tuning by low-rank adaptation (LoRA, Hu et al. 2021): the weights W of a dense layer stay as they are, and only
 * a correction B*A of rank 8 is learned, by stochastic gradient descent, so that the layer does what another one does.
 */
#include <inttypes.h>
#include <stdio.h>
#include "checkpoint.h"

#define DIM 192
#define RANK 8
#define BATCH 32
#define STEPS_PER_SECOND 800u
#define RATE 0.0003f
#define NOISE 0.05f

/* What is known beforehand: the frozen layer, and how the wanted one differs from it (rank 4). */
struct task {
	float w[DIM][DIM];
	float u[DIM][4], v[4][DIM];
};

/* All that changes; a checkpoint holds it. */
struct state {
	uint64_t step;
	float loss;
	float a[RANK][DIM], b[DIM][RANK];
};

static void make_task(struct task *task, uint64_t seed)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < DIM; i++)
		for (unsigned k = 0; k < DIM; k++)
			task->w[i][k] = random_normal(seed, n++) / 10.0f;
	for (unsigned i = 0; i < DIM; i++) {
		for (unsigned k = 0; k < 4; k++) {
			task->u[i][k] = random_normal(seed, n++) / 10.0f;
			task->v[k][i] = random_normal(seed, n++) / 10.0f;
		}
	}
}

/* B is zero at first, so that learning begins at the frozen layer. */
static void make_state(struct state *state, uint64_t seed)
{
	*state = (struct state){0};
	for (unsigned k = 0; k < RANK; k++)
		for (unsigned i = 0; i < DIM; i++)
			state->a[k][i] = random_normal(seed + 1, k * DIM + i) / 10.0f;
}

static float dot(const float *x, const float *y, unsigned n)
{
	float sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* What the wanted layer makes of x, as far as it can be measured. n: number of the example. */
static void want(const struct task *task, uint64_t n, const float x[DIM], float ret[DIM])
{
	float h[4];

	for (unsigned k = 0; k < 4; k++)
		h[k] = dot(task->v[k], x, DIM);
	for (unsigned i = 0; i < DIM; i++)
		ret[i] = dot(task->w[i], x, DIM) + dot(task->u[i], h, 4) + NOISE * (random_unit(9, n * DIM + i) - 0.5f);
}

/* One example: adds its gradients, returns its loss. */
static float learn(const struct task *task, const struct state *state, uint64_t n, const float x[DIM],
                   struct state *gradient)
{
	float h[RANK], wanted[DIM], error[DIM];
	float loss = 0;

	want(task, n, x, wanted);
	for (unsigned k = 0; k < RANK; k++)
		h[k] = dot(state->a[k], x, DIM);
	for (unsigned i = 0; i < DIM; i++) {
		error[i] = dot(task->w[i], x, DIM) + dot(state->b[i], h, RANK) - wanted[i];
		loss += error[i] * error[i] / DIM;
		for (unsigned k = 0; k < RANK; k++)
			gradient->b[i][k] += error[i] * h[k];
	}
	for (unsigned k = 0; k < RANK; k++) {
		float back = 0;

		for (unsigned i = 0; i < DIM; i++)
			back += error[i] * state->b[i][k];
		for (unsigned i = 0; i < DIM; i++)
			gradient->a[k][i] += back * x[i];
	}
	return loss;
}

static void step(const struct task *task, struct state *state, uint64_t seed)
{
	struct state gradient = {0};
	float loss = 0;

	for (unsigned n = 0; n < BATCH; n++) {
		float x[DIM];

		for (unsigned i = 0; i < DIM; i++)
			x[i] = random_normal(seed + 2, (state->step * BATCH + n) * DIM + i);
		loss += learn(task, state, state->step * BATCH + n, x, &gradient) / BATCH;
	}
	for (unsigned k = 0; k < RANK; k++) {
		for (unsigned i = 0; i < DIM; i++) {
			state->a[k][i] -= RATE / BATCH * gradient.a[k][i];
			state->b[i][k] -= RATE / BATCH * gradient.b[i][k];
		}
	}
	state->loss = loss;
	state->step++;
}

int main(int argc, char **argv)
{
	static struct task task;
	static struct state state;
	struct job job;
	uint64_t total;
	char text[32];

	if (!job_begin(&job, "finetune", argc, argv))
		return 2;
	total = (uint64_t)job.seconds * STEPS_PER_SECOND;
	make_task(&task, job.task);
	make_state(&state, job.task);
	if (checkpoint_load(&job, &state, sizeof(state)))
		(void)printf("resuming at step %" PRIu64 "\n", state.step);
	while (state.step < total) {
		if (job_should_stop(&job)) {
			(void)printf("asked to stop at step %" PRIu64 "\n", state.step);
			return checkpoint_save(&job, &state, sizeof(state)) ? 0 : 1;
		}
		step(&task, &state, job.task);
		(void)snprintf(text, sizeof(text), "loss %.4f", (double)state.loss);
		job_say(&job, state.step, total, text);
	}
	(void)printf("result: loss %.9g, first weight %.9g\n", (double)state.loss, (double)state.b[0][0]);
	job_done(&job);
	return 0;
}
