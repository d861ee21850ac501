/* What the core costs: folds, decisions and answers, by queue length, number of shapes and devices.
 *
 * core-bench [JOBS SHAPES DEVICES]   one row; without arguments a table of sizes
 * Times are the median of several runs, in microseconds; facts folded are per fact. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "core/core.h"

#define RUNS 9

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void need(int r)
{
	if (r < 0)
		abort();
}

static struct berth_core *open_site(uint32_t devices)
{
	struct berth_core *core = berth_core_new();
	struct berth_fact fact;
	char uuid[32];

	if (!core)
		abort();
	for (uint32_t i = 0; i < devices; i++) {
		if (i % 8 == 0) {
			berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
			fact.u.node = (struct berth_fact_node){ i / 8 + 1, "node" };
			need(berth_core_fold(core, &fact));
		}
		berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
		(void)snprintf(uuid, sizeof(uuid), "GPU-%u", i);
		fact.u.device = (struct berth_fact_device){ i + 1, i / 8 + 1, i % 8, uuid, "gpu", "A100-80GB", 80 };
		need(berth_core_fold(core, &fact));
	}
	return core;
}

static void submit(struct berth_core *core, uint32_t shape)
{
	struct berth_fact fact;
	char name[32];

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.u.submit.job = berth_core_next_job(core);
	(void)snprintf(name, sizeof(name), "train-%" PRIu64, fact.u.submit.job);
	fact.u.submit.user = "ann";
	fact.u.submit.name = name;
	fact.u.submit.tier = BERTH_TIER_P2;
	fact.u.submit.request.gpus = 1 + shape % 8;
	fact.u.submit.request.limit_ms = 3600000 + (uint64_t)shape * 60000;
	need(berth_core_fold(core, &fact));
}

static void fold_plan(struct berth_core *core, const struct berth_plan *plan)
{
	struct berth_fact *lines = malloc((plan->n + 1) * sizeof(*lines));

	if (!lines)
		abort();
	for (size_t i = 0; i < plan->n; i++)
		lines[i] = plan->facts[i];
	for (size_t i = 0, n = plan->n; i < n; i++)
		need(berth_core_fold(core, &lines[i]));
	free(lines);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *runs)
{
	qsort(runs, RUNS, sizeof(*runs), compare);
	return runs[RUNS / 2];
}

static double time_decide(struct berth_core *core)
{
	double runs[RUNS];
	struct berth_plan plan;

	for (int i = 0; i < RUNS; i++) {
		double from = now_us();

		need(berth_core_decide(core, 0, &plan));
		runs[i] = now_us() - from;
	}
	return median(runs);
}

/* One job ends, and the next is found for its devices. */
static double time_turn(struct berth_core *core)
{
	double runs[RUNS];
	struct berth_plan plan;
	struct berth_fact fact;

	for (int i = 0; i < RUNS; i++) {
		const struct berth_device *device = berth_core_device_at(core, 0);
		double from = now_us();

		berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
		fact.u.ended.job = device->job;
		fact.u.ended.attempt = berth_core_job(core, device->job)->attempt;
		need(berth_core_fold(core, &fact));
		need(berth_core_decide(core, 0, &plan));
		fold_plan(core, &plan);
		runs[i] = now_us() - from;
	}
	return median(runs);
}

static double time_why(struct berth_core *core)
{
	static struct berth_why why;
	double runs[RUNS];

	for (int i = 0; i < RUNS; i++) {
		double from = now_us();

		need(berth_core_why(core, berth_core_next_job(core) - 1, 0, &why));
		runs[i] = now_us() - from;
	}
	return median(runs);
}

static double time_outlook(struct berth_core *core)
{
	size_t cap = berth_core_job_count(core);
	struct berth_outlook *rows = calloc(cap + 1, sizeof(*rows));
	double runs[RUNS];

	if (!rows)
		abort();
	for (int i = 0; i < RUNS; i++) {
		double from = now_us();

		need((int)berth_core_outlook(core, 0, rows, cap));
		runs[i] = now_us() - from;
	}
	free(rows);
	return median(runs);
}

static void measure(uint32_t jobs, uint32_t shapes, uint32_t devices)
{
	struct berth_core *core = open_site(devices);
	struct berth_plan plan;
	double fold_us, hash_us;

	/* Fill the site first, so that what follows waits. */
	for (uint32_t i = 0; i < devices; i++)
		submit(core, 0);
	need(berth_core_decide(core, 0, &plan));
	fold_plan(core, &plan);
	fold_us = now_us();
	for (uint32_t i = 0; i < jobs; i++)
		submit(core, i % shapes);
	fold_us = (now_us() - fold_us) / jobs;
	hash_us = now_us();
	(void)berth_core_hash(core);
	hash_us = now_us() - hash_us;
	printf("%9u %7u %8u %9.2f %9.0f %9.0f %9.0f %9.0f %9.0f\n", jobs, shapes, devices, fold_us, time_decide(core),
	       time_turn(core), time_why(core), time_outlook(core), hash_us);
	fflush(stdout);
	berth_core_free(core);
}

int main(int argc, char **argv)
{
	const uint32_t rows[][3] = { { 1000, 100, 8 },      { 10000, 300, 8 },    { 100000, 300, 8 },      { 1000000, 300, 8 },
		                     { 100000, 10000, 8 },  { 100000, 300, 512 }, { 100000, 300, 6208 } };

	printf("     jobs  shapes  devices   fold us decide us   turn us    why us   outlook   hash us\n");
	if (argc == 4) {
		measure((uint32_t)strtoul(argv[1], NULL, 10), (uint32_t)strtoul(argv[2], NULL, 10),
		        (uint32_t)strtoul(argv[3], NULL, 10));
		return 0;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		measure(rows[i][0], rows[i][1], rows[i][2]);
	return 0;
}
