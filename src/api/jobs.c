#include <errno.h>
#include <string.h>
#include <strings.h>
#include "api/job_json.h"
#include "base/units.h"

/* What a list is to show. */
struct filter {
	uint32_t states;  /* bit per enum berth_job_state */
	const char *user; /* NULL = all */
	uint64_t limit;   /* rows at most */
};

struct list {
	struct berth_api *api;
	struct berth_json *json;
	struct filter filter;
	uint64_t n, left_out;
};

static uint32_t states_named(const char *name, size_t n)
{
	uint32_t found = 0;

	for (unsigned state = BERTH_JOB_UNKNOWN + 1; state < BERTH_JOB_STATE_COUNT; state++) {
		const char *public_name = berth_job_state_public_name((enum berth_job_state)state);

		if (strlen(public_name) == n && strncasecmp(public_name, name, n) == 0)
			found |= 1u << state;
	}
	return found;
}

static uint32_t active_states(void)
{
	uint32_t found = 0;

	for (unsigned state = BERTH_JOB_UNKNOWN + 1; state < BERTH_JOB_STATE_COUNT; state++)
		if (!berth_job_state_is_final((enum berth_job_state)state))
			found |= 1u << state;
	return found;
}

/* "PENDING,RUNNING". */
static int parse_states(const char *s, uint32_t *ret, struct berth_error *err)
{
	uint32_t all = 0;

	while (*s) {
		const size_t n = strcspn(s, ",");
		const uint32_t found = states_named(s, n);

		if (found == 0)
			return berth_error_set(err, -EINVAL,
			                       "state: \"%.*s\" is none of PENDING, HELD, RUNNING, STOPPING, "
			                       "COMPLETED, FAILED, CANCELLED, TIMEOUT, "
			                       "OUT_OF_MEMORY, NODE_FAIL",
			                       (int)(n < 40 ? n : 40), s);
		all |= found;
		s += n;
		s += *s == ',';
	}
	*ret = all;
	return 0;
}

static int parse_filter(const struct berth_exchange *request, struct filter *ret, struct berth_error *err)
{
	const char *states = berth_exchange_query(request, "state");
	const char *active = berth_exchange_query(request, "active");
	const char *limit = berth_exchange_query(request, "limit");
	struct filter filter = {
		.states = UINT32_MAX, .user = berth_exchange_query(request, "user"), .limit = UINT64_MAX};
	int r = 0;

	if (states)
		r = parse_states(states, &filter.states, err);
	if (r == 0 && limit)
		r = berth_number_parse(limit, "limit", 1, UINT32_MAX, &filter.limit, err);
	if (r < 0)
		return r;
	if (active && strcmp(active, "0") != 0)
		filter.states &= active_states();
	*ret = filter;
	return 0;
}

static void add(struct list *list, const struct berth_job *job)
{
	if (!job || !(list->filter.states >> job->state & 1) ||
	    (list->filter.user && strcmp(list->filter.user, job->asked.user) != 0))
		return;
	if (list->n == list->filter.limit) {
		list->left_out++;
		return;
	}
	list->n++;
	berth_job_write(list->api, list->json, NULL, job, BERTH_JOB_ROW);
}

static int compare_ends(const void *a, const void *b)
{
	const struct berth_job *left = *(const struct berth_job *const *)a;
	const struct berth_job *right = *(const struct berth_job *const *)b;

	if (left->end_ms != right->end_ms)
		return left->end_ms < right->end_ms ? 1 : -1;
	return left->id < right->id ? 1 : -1;
}

static bool is_waiting(const struct berth_job *job)
{
	return job->state == BERTH_JOB_PENDING || job->state == BERTH_JOB_HELD;
}

/* Those that have devices, or just had them. Returns how many are finished. */
static size_t add_running(struct list *list, const struct berth_core *core)
{
	const struct berth_job *job;
	size_t n = 0;

	for (size_t i = 0; (job = berth_core_job_at(core, i)); i++) {
		if (berth_job_state_is_final(job->state))
			n++;
		else if (!is_waiting(job))
			add(list, job);
	}
	return n;
}

static int add_finished(struct list *list, const struct berth_core *core, size_t n)
{
	BERTH_AUTO_FREE const struct berth_job **jobs = malloc((n + 1) * sizeof(*jobs));
	const struct berth_job *job;
	size_t found = 0;

	if (!jobs)
		return -ENOMEM;
	for (size_t i = 0; found < n && (job = berth_core_job_at(core, i)); i++)
		if (berth_job_state_is_final(job->state))
			jobs[found++] = job;
	qsort(jobs, found, sizeof(*jobs), compare_ends);
	for (size_t i = 0; i < found; i++)
		add(list, jobs[i]);
	return 0;
}

void berth_get_jobs(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadQuery", NULL, NULL};
	struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	struct list list = {.api = api, .json = &json};
	struct berth_error err;
	size_t n_finished;

	if (parse_filter(request, &list.filter, &err) < 0) {
		berth_reply_error(request, &refusal, "%s.", err.text);
		return;
	}
	if (berth_outlooks_refresh(&api->outlooks, core, berth_api_now(api)) < 0)
		text.is_failed = true;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.queue/1");
	berth_json_u64(&json, "seq", berth_core_seq(core));
	berth_json_open(&json, "jobs", '[');
	n_finished = add_running(&list, core);
	for (size_t i = 0; i < api->outlooks.n; i++)
		add(&list, berth_core_job(core, api->outlooks.rows[i].job));
	if (add_finished(&list, core, n_finished) < 0)
		text.is_failed = true;
	berth_json_close(&json, ']');
	berth_json_u64(&json, "left_out", list.left_out);
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

/* --- one job --------------------------------------------------------------------------------- */

static int take_row(void *arg, uint64_t job, const char *row)
{
	struct berth_text *text = arg;

	berth_text_add(text, row);
	return 1;
}

/* The row that history keeps. */
static void reply_past_job(struct berth_api *api, struct berth_exchange *request, uint64_t id)
{
	const struct berth_history_query query = {.job = id, .limit = 1};
	BERTH_AUTO_TEXT struct berth_text row = {0};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	struct berth_error err;
	const int r = berth_store_history(berth_ledger_store(api->host.ledger), &query, take_row, &row, &err);

	if (r < 0) {
		berth_reply_errno(request, r, "read the history");
		return;
	}
	if (row.len == 0 && !row.is_failed) {
		berth_reply_no_job(request, request->arg);
		return;
	}
	text.is_failed = row.is_failed;
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.job/1");
	berth_json_u64(&json, "seq", berth_core_seq(berth_api_core(api)));
	berth_json_raw(&json, "job", row.at ? row.at : "", row.len);
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

void berth_get_job(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_job *job;
	uint64_t id;

	if (berth_number_parse(request->arg, "job", 1, INT64_MAX, &id, NULL) < 0) {
		berth_reply_no_job(request, request->arg);
		return;
	}
	job = berth_core_job(berth_api_core(api), id);
	if (job)
		berth_reply_job(api, request, job);
	else
		reply_past_job(api, request, id);
}
