#include <errno.h>
#include <string.h>
#include "api/server.h"
#include "base/units.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MAX 10000u

static int take_row(void *arg, uint64_t job, const char *row)
{
	struct berth_json *json = arg;

	berth_json_raw(json, NULL, row, strlen(row));
	return json->text->is_failed ? -ENOMEM : 0;
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
	int r;

	if (parse_query(api, request, &query, &err) < 0) {
		berth_reply_error(request, &refusal, "%s.", err.text);
		return;
	}
	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.history/1");
	berth_json_open(&json, "jobs", '[');
	r = berth_store_history(berth_ledger_store(api->host.ledger), &query, take_row, &json, &err);
	if (r < 0) {
		berth_reply_errno(request, r, "read the history");
		return;
	}
	berth_json_close(&json, ']');
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}
