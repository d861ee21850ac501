#include "api/outlook.h"

#include <errno.h>

#define FRESH_MS 1000u
#define GLANCE_MS 100u
/* Looked at in a tenth of a millisecond. */
#define FEW_JOBS 1000u

static int make_room(struct berth_outlooks *outlooks, size_t n)
{
	struct berth_outlook *rows;
	uint32_t *by_job;

	if (n <= outlooks->cap)
		return 0;
	rows = realloc(outlooks->rows, n * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	outlooks->rows = rows;
	by_job = realloc(outlooks->by_job, n * sizeof(*by_job));
	if (!by_job)
		return -ENOMEM;
	outlooks->by_job = by_job;
	outlooks->cap = n;
	return 0;
}

static int compare_jobs(const void *a, const void *b, void *rows)
{
	const uint64_t left = ((const struct berth_outlook *)rows)[*(const uint32_t *)a].job;
	const uint64_t right = ((const struct berth_outlook *)rows)[*(const uint32_t *)b].job;

	return left < right ? -1 : left > right;
}

static int work_out(struct berth_outlooks *outlooks, struct berth_core *core, uint64_t now_ms)
{
	ssize_t n = berth_core_outlook(core, now_ms, outlooks->rows, outlooks->cap);
	int r;

	if (n > (ssize_t)outlooks->cap) {
		r = make_room(outlooks, (size_t)n + (size_t)n / 2);
		if (r < 0)
			return r;
		n = berth_core_outlook(core, now_ms, outlooks->rows, outlooks->cap);
	}
	if (n < 0)
		return (int)n;
	outlooks->n = (size_t)n;
	for (uint32_t i = 0; i < outlooks->n; i++)
		outlooks->by_job[i] = i;
	if (n > 0)
		qsort_r(outlooks->by_job, outlooks->n, sizeof(*outlooks->by_job), compare_jobs, outlooks->rows);
	return 0;
}

int berth_outlooks_refresh(struct berth_outlooks *outlooks, struct berth_core *core, uint64_t now_ms)
{
	const uint64_t seq = berth_core_seq(core);
	int r;

	if (outlooks->is_valid && outlooks->seq == seq && now_ms - outlooks->at_ms < FRESH_MS)
		return 0;
	outlooks->n = 0;
	r = work_out(outlooks, core, now_ms);
	outlooks->is_valid = r == 0;
	outlooks->seq = seq;
	outlooks->at_ms = now_ms;
	return r;
}

int berth_outlooks_glance(struct berth_outlooks *outlooks, struct berth_core *core, uint64_t now_ms)
{
	if (outlooks->is_valid && berth_core_job_count(core) > FEW_JOBS && now_ms - outlooks->at_ms < GLANCE_MS)
		return 0;
	return berth_outlooks_refresh(outlooks, core, now_ms);
}

const struct berth_outlook *berth_outlooks_find(const struct berth_outlooks *outlooks, uint64_t job,
                                                size_t *ret_position)
{
	size_t low = 0;
	size_t high = outlooks->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const uint32_t row = outlooks->by_job[middle];

		if (outlooks->rows[row].job == job) {
			*ret_position = row + 1u;
			return &outlooks->rows[row];
		}
		if (outlooks->rows[row].job < job)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

void berth_outlooks_fini(struct berth_outlooks *outlooks)
{
	free(outlooks->rows);
	free(outlooks->by_job);
	*outlooks = (struct berth_outlooks){0};
}
