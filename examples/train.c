/* Data-parallel training: four processes, one per card, each works out the gradient of its part of the batch; the
 * parent averages them and sends the new weights round, as an all-reduce would. A small network learns to tell four
 * spirals apart.
 *
 * The parent alone keeps state and is asked to stop; a worker ends when its pipe closes, or with the parent. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "checkpoint.h"

#define HIDDEN 128
#define CLASSES 4
#define BATCH 2048 /* of all workers together */
#define WORKERS_MAX 64
#define STEPS_PER_SECOND 250u
#define RATE 0.5f

struct weights {
	float in[HIDDEN][3]; /* x, y, 1 */
	float out[CLASSES][HIDDEN + 1];
};

/* What a worker is sent each step, and what it sends back. */
struct order {
	uint64_t step;
	struct weights weights;
};
struct result {
	float loss;
	struct weights gradient; /* sums over the worker's part */
};

struct worker {
	pid_t pid;
	int fd;
};

/* Point n of the endless stream of examples; returns its class. */
static unsigned make(uint64_t seed, uint64_t n, float ret[3])
{
	const unsigned class = (unsigned)(n % CLASSES);
	const float r = 0.15f + 0.85f * random_unit(seed, 2 * n);
	const float angle = 4.0f * r + (float)class * 1.5707963f + 0.25f * random_normal(seed + 1, n);

	ret[0] = r * cosf(angle) * 2.0f;
	ret[1] = r * sinf(angle) * 2.0f;
	ret[2] = 1.0f;
	return class;
}

static void forward(const struct weights *w, const float x[3], float h[HIDDEN + 1], float p[CLASSES])
{
	float sum = 0;

	for (unsigned k = 0; k < HIDDEN; k++)
		h[k] = tanhf(w->in[k][0] * x[0] + w->in[k][1] * x[1] + w->in[k][2]);
	h[HIDDEN] = 1.0f;
	for (unsigned c = 0; c < CLASSES; c++) {
		p[c] = 0;
		for (unsigned k = 0; k <= HIDDEN; k++)
			p[c] += w->out[c][k] * h[k];
		p[c] = expf(p[c]);
		sum += p[c];
	}
	for (unsigned c = 0; c < CLASSES; c++)
		p[c] /= sum;
}

/* One example: adds its gradient and its loss. */
static void learn(const struct weights *w, const float x[3], unsigned class, struct result *result)
{
	float h[HIDDEN + 1], p[CLASSES];

	forward(w, x, h, p);
	result->loss -= logf(p[class] + 1e-9f);
	for (unsigned c = 0; c < CLASSES; c++) {
		p[c] -= c == class ? 1.0f : 0.0f;
		for (unsigned k = 0; k <= HIDDEN; k++)
			result->gradient.out[c][k] += p[c] * h[k];
	}
	for (unsigned k = 0; k < HIDDEN; k++) {
		float back = 0;

		for (unsigned c = 0; c < CLASSES; c++)
			back += p[c] * w->out[c][k];
		back *= 1.0f - h[k] * h[k];
		for (unsigned i = 0; i < 3; i++)
			result->gradient.in[k][i] += back * x[i];
	}
}

/* A worker's life: orders in, results out, until the parent closes its end. */
static int work(const struct job *job, unsigned rank, int fd)
{
	const unsigned part = BATCH / job->workers;
	struct order order;

	while (recv(fd, &order, sizeof(order), 0) == (ssize_t)sizeof(order)) {
		struct result result = {0};

		for (unsigned i = 0; i < part; i++) {
			float x[3];
			const unsigned class = make(job->task, order.step * BATCH + rank * part + i, x);

			learn(&order.weights, x, class, &result);
		}
		if (send(fd, &result, sizeof(result), MSG_NOSIGNAL) != (ssize_t)sizeof(result))
			return 1;
	}
	return 0;
}

static bool start_workers(const struct job *job, struct worker *workers)
{
	for (unsigned rank = 0; rank < job->workers; rank++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
			return false;
		workers[rank].fd = pair[0];
		workers[rank].pid = fork();
		if (workers[rank].pid < 0)
			return false;
		if (workers[rank].pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (unsigned i = 0; i <= rank; i++)
				(void)close(workers[i].fd);
			_exit(work(job, rank, pair[1]));
		}
		(void)close(pair[1]);
	}
	return true;
}

static void end_workers(const struct job *job, struct worker *workers)
{
	for (unsigned rank = 0; rank < job->workers; rank++)
		(void)close(workers[rank].fd);
	for (unsigned rank = 0; rank < job->workers; rank++)
		(void)waitpid(workers[rank].pid, NULL, 0);
}

/* Add all floats of one to another. The struct is nothing but floats. */
static void add(struct weights *to, const struct weights *what, float factor)
{
	float *a = (float *)to;
	const float *b = (const float *)what;

	for (size_t i = 0; i < sizeof(*to) / sizeof(float); i++)
		a[i] += factor * b[i];
}

/* All that changes; a checkpoint holds it. */
struct state {
	uint64_t step;
	float loss;
	struct weights weights;
};

static void make_state(struct state *state, uint64_t seed)
{
	float *w = (float *)&state->weights;

	*state = (struct state){0};
	for (size_t i = 0; i < sizeof(state->weights) / sizeof(float); i++)
		w[i] = 0.4f * random_normal(seed + 2, i);
}

/* The workers answer in the order of their rank, so that the sums are the same in every run. */
static bool step(const struct job *job, struct worker *workers, struct state *state)
{
	const struct order order = {.step = state->step, .weights = state->weights};
	struct result sum = {0};

	for (unsigned rank = 0; rank < job->workers; rank++)
		if (send(workers[rank].fd, &order, sizeof(order), MSG_NOSIGNAL) != (ssize_t)sizeof(order))
			return false;
	for (unsigned rank = 0; rank < job->workers; rank++) {
		struct result result;

		if (recv(workers[rank].fd, &result, sizeof(result), 0) != (ssize_t)sizeof(result))
			return false;
		sum.loss += result.loss;
		add(&sum.gradient, &result.gradient, 1.0f);
	}
	add(&state->weights, &sum.gradient, -RATE / BATCH);
	state->loss = sum.loss / BATCH;
	state->step++;
	return true;
}

static int train(struct job *job, struct worker *workers)
{
	const uint64_t total = (uint64_t)job->seconds * STEPS_PER_SECOND;
	struct state state;
	char text[32];

	make_state(&state, job->task);
	if (checkpoint_load(job, &state, sizeof(state)))
		(void)printf("resuming at step %" PRIu64 "\n", state.step);
	while (state.step < total) {
		if (job_should_stop(job)) {
			(void)printf("asked to stop at step %" PRIu64 "\n", state.step);
			return checkpoint_save(job, &state, sizeof(state)) ? 0 : 1;
		}
		if (!step(job, workers, &state)) {
			(void)printf("a worker has died at step %" PRIu64 "\n", state.step);
			(void)checkpoint_save(job, &state, sizeof(state));
			return 1;
		}
		(void)snprintf(text, sizeof(text), "loss %.4f", (double)state.loss);
		job_say(job, state.step, total, text);
	}
	(void)printf("result: loss %.9g, first weight %.9g\n", (double)state.loss, (double)state.weights.in[0][0]);
	job_done(job);
	return 0;
}

int main(int argc, char **argv)
{
	struct worker workers[WORKERS_MAX];
	struct job job;
	int r;

	if (!job_begin(&job, "train", argc, argv))
		return 2;
	(void)printf("%u workers\n", job.workers);
	if (!start_workers(&job, workers)) {
		perror("train: starting the workers");
		return 1;
	}
	r = train(&job, workers);
	end_workers(&job, workers);
	return r;
}
