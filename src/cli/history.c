/* history: jobs that are over. */
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "base/units.h"
#include "cli/client.h"
#include "cli/job.h"
#include "cli/reason.h"
#include "cli/table.h"
#include "cli/verbs.h"

const struct berth_option berth_history_options[] = {
	{"user", 'u', "NAME", "only this user's", NULL},
	{"state", 0, "STATE,...", "only these: COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL", NULL},
	{"since", 0, "WHEN", "ended since: 7d (ago), 2026-11-30, 2026-11-30T08:00", NULL},
	{"limit", 'n', "N", "at most so many, the newest", NULL},
	{0},
};

static const struct berth_column columns[] = {
	{"JOB", true, 0},  {"USER", false, 16}, {"NAME", false, 24}, {"STATE", false, 0},  {"EXIT", true, 0},
	{"GPUS", true, 0}, {"ENDED", false, 0}, {"RAN", true, 0},    {"REASON", false, 0},
};

static void add_job(struct berth_table *table, const json_t *job, uint64_t now_ms)
{
	const char *state = berth_json_text(job, "state");
	BERTH_AUTO_TEXT struct berth_text reason = {0};
	char buf[BERTH_FORMAT_MAX];
	uint64_t number;

	berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, berth_job_id(job));
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(job, "user"));
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(job, "name"));
	berth_table_add(table, strcmp(state, "COMPLETED") == 0 ? BERTH_STYLE_GOOD : BERTH_STYLE_BAD, state);
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_job_exit_text(job, buf));
	number = 0;
	(void)berth_json_number(job, "gpus", &number);
	berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, number);
	berth_table_add(table, BERTH_STYLE_PLAIN,
	                berth_json_moment(job, "end_time", &number) ? berth_moment_format_short(number, now_ms, buf)
	                                                            : "-");
	berth_table_add(table, BERTH_STYLE_PLAIN,
	                berth_job_ran(job, now_ms, &number) ? berth_duration_format(number / 1000 * 1000, buf) : "-");
	berth_reason_words(json_object_get(job, "reason"), now_ms, &reason);
	berth_table_add(table, BERTH_STYLE_PLAIN, reason.at);
}

/* "7d" is so long ago, anything else a moment as --begin takes it. As the API wants it, in buf. */
static int read_since(struct berth_cli *cli, const char *since, char buf[static BERTH_FORMAT_MAX])
{
	const uint64_t now_ms = berth_clock_wall_ms();
	const size_t n = strlen(since);
	struct berth_error err = {0};
	uint64_t at_ms = 0;
	int r;

	if (n > 0 && strchr("smhd", since[n - 1])) {
		r = berth_duration_parse(since, &at_ms, &err);
		at_ms = at_ms < now_ms ? now_ms - at_ms : 0;
	} else {
		r = berth_moment_parse(since, now_ms, &at_ms, &err);
		if (r == 0 && at_ms > now_ms) /* "18:30" is the next one for --begin, the last one here */
			at_ms -= at_ms - now_ms <= 86400000 ? 86400000 : 0;
	}
	if (r < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "--since: %s", err.text);
	berth_moment_send(at_ms, buf);
	return BERTH_EXIT_OK;
}

static void add_query(struct berth_text *text, const char *name, const char *value)
{
	if (!value)
		return;
	berth_text_addf(text, "%s%s=", text->at && strchr(text->at, '?') ? "&" : "?", name);
	berth_url_add(text, value);
}

static int make_target(struct berth_cli *cli, struct berth_text *ret)
{
	const char *since = berth_given_value(&cli->given, "since");
	const char *limit = berth_given_value(&cli->given, "limit");
	char at[BERTH_FORMAT_MAX];
	struct berth_error err = {0};
	uint64_t number;
	int r = since ? read_since(cli, since, at) : BERTH_EXIT_OK;

	if (r != BERTH_EXIT_OK)
		return r;
	if (limit && berth_number_parse(limit, "--limit", 1, 1000000, &number, &err) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "%s", err.text);
	berth_text_add(ret, "/api/v1/history");
	add_query(ret, "user", berth_given_value(&cli->given, "user"));
	add_query(ret, "state", berth_given_value(&cli->given, "state"));
	add_query(ret, "since", since ? at : NULL);
	add_query(ret, "limit", limit);
	return BERTH_EXIT_OK;
}

static int print(const json_t *jobs)
{
	BERTH_AUTO_TABLE struct berth_table table = {0};
	const uint64_t now_ms = berth_clock_wall_ms();
	const json_t *job;
	size_t i;

	berth_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach(jobs, i, job)
		add_job(&table, job, now_ms);
	if (i == 0)
		printf("No job that fits is over.\n");
	else if (berth_table_print(&table, 0, stdout) < 0)
		return BERTH_EXIT_FAILED;
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}

int berth_verb_history(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	BERTH_AUTO_TEXT struct berth_text target = {0};
	int r = make_target(cli, &target);

	if (r == BERTH_EXIT_OK)
		r = berth_ask(cli, "GET", berth_text_str(&target), NULL, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	return cli->is_json ? berth_print_json(answer) : print(json_object_get(answer, "jobs"));
}
