#include <errno.h>
#include <string.h>
#include "api/job_json.h"
#include "api/server.h"
#include "base/units.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MAX 10000u

/* Finished jobs lie in two places: the live state keeps them for a while, the store after that; never in both. Rows of
 * the two are merged by id, newest first, so that nobody has to know. */
struct merge {
	struct berth_api *api;
	struct berth_json *json;
	const struct berth_history_query *query;
	size_t n_live; /* live jobs not looked at yet: those with the lowest ids */
	size_t n_rows;
};

static bool is_asked(const struct berth_history_query *query, const struct berth_job *job)
{
	return berth_job_state_is_final(job->state) && (!query->user || strcmp(query->user, job->asked.user) == 0) &&
	       (!query->state || strcmp(query->state, berth_job_state_public_name(job->state)) == 0) &&
	       job->finish_ms >= query->since_ms && (query->before_job == 0 || job->id < query->before_job);
}

/* The live ones with an id above this. */
static void add_live(struct merge *merge, uint64_t above)
{
	const struct berth_core *core = berth_ledger_core(merge->api->host.ledger);

	while (merge->n_live > 0 && merge->n_rows < merge->query->limit) {
		const struct berth_job *job = berth_core_job_at(core, merge->n_live - 1);

		if (job->id <= above)
			return;
		merge->n_live--;
		if (!is_asked(merge->query, job))
			continue;
		berth_job_write(merge->api, merge->json, NULL, job, BERTH_JOB_ROW);
		merge->n_rows++;
	}
}

static int take_row(void *arg, uint64_t job, const char *row)
{
	struct merge *merge = arg;

	add_live(merge, job);
	if (merge->n_rows < merge->query->limit) {
		berth_json_raw(merge->json, NULL, row, strlen(row));
		merge->n_rows++;
	}
	return merge->json->text->is_failed ? -ENOMEM : 0;
}

static int parse_query(const struct berth_api *api, const struct berth_exchange *request,
                       struct berth_history_query *ret, struct berth_error *err)
{
	const char *since = berth_exchange_query(request, "since");
	const char *before = berth_exchange_query(request, "before");
	const char *limit = berth_exchange_query(request, "limit");
	uint64_t rows = LIMIT_DEFAULT;
	int r = 0;

	*ret = (struct berth_history_query){.user = berth_exchange_query(request, "user"),
	                                    .state = berth_exchange_query(request, "state")};
	if (since)
		r = berth_moment_parse(since, berth_api_now(api), &ret->since_ms, err);
	if (r == 0 && before)
		r = berth_number_parse(before, "before", 1, INT64_MAX, &ret->before_job, err);
	if (r == 0 && limit)
		r = berth_number_parse(limit, "limit", 1, LIMIT_MAX, &rows, err);
	ret->limit = rows;
	return r;
}

void berth_get_history(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadQuery", NULL, NULL};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	struct berth_history_query query;
	struct berth_error err;
	struct merge merge = {.api = api, .json = &json, .query = &query};
	int r;

	if (parse_query(api, request, &query, &err) < 0) {
		berth_reply_error(request, &refusal, "%s.", err.text);
		return;
	}
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.history/1");
	berth_json_open(&json, "jobs", '[');
	merge.n_live = berth_core_job_count(berth_ledger_core(api->host.ledger));
	r = berth_store_history(berth_ledger_store(api->host.ledger), &query, take_row, &merge, &err);
	if (r < 0) {
		berth_reply_errno(request, r, "read the history");
		return;
	}
	add_live(&merge, 0);
	berth_json_close(&json, ']');
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}
