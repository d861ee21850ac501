/* wait: until jobs are over. */
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "base/units.h"
#include "cli/ids.h"
#include "cli/job.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "cli/watch.h"

const struct berth_option berth_wait_options[] = {
	{"timeout", 0, "TIME", "give up after so long, with exit code 7: 30s, 5m, 1:30:00", NULL},
	{0},
};

static void say_over(const json_t *job)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_job_outcome(job, &text);
	berth_say("job %" PRIu64 " %s", berth_job_id(job), text.at ? text.at : "ended");
}

/* Say of each job that it is over, once. */
static void look(const struct berth_watch *watch, bool *said)
{
	for (size_t i = 0; i < watch->n; i++) {
		if (said[i] || !watch->jobs[i] || !berth_job_is_final(watch->jobs[i]))
			continue;
		said[i] = true;
		if (isatty(STDERR_FILENO))
			say_over(watch->jobs[i]);
	}
}

static int print(const struct berth_watch *watch, bool is_timed_out)
{
	BERTH_AUTO_JSON json_t *jobs = json_array();
	BERTH_AUTO_JSON json_t *object = NULL;

	for (size_t i = 0; i < watch->n; i++)
		(void)json_array_append(jobs, watch->jobs[i]);
	object = json_pack("{s:s, s:b, s:O}", "schema", "berth.wait/1", "timed_out", is_timed_out, "jobs", jobs);
	return berth_print_json(object);
}

/* Of several jobs: the first code, in the order they were named, that is not 0. */
static int code_of(const struct berth_watch *watch)
{
	int code = 0;

	for (size_t i = 0; i < watch->n && code == 0; i++)
		code = berth_job_exit_code(watch->jobs[i]);
	return code;
}

static int complain_timeout(struct berth_cli *cli, const struct berth_watch *watch)
{
	size_t left = 0;

	for (size_t i = 0; i < watch->n; i++)
		left += !berth_job_is_final(watch->jobs[i]);
	if (cli->is_json)
		(void)print(watch, true);
	else
		berth_say("%zu of %zu job%s not over yet", left, watch->n, watch->n == 1 ? " is" : "s are");
	return BERTH_EXIT_TIMED_OUT;
}

static int wait_for(struct berth_cli *cli, struct berth_watch *watch, uint64_t end_ms, bool *said)
{
	look(watch, said);
	while (!berth_watch_all_final(watch)) {
		const uint64_t now_ms = berth_clock_boot_ms();
		const uint64_t left_ms = end_ms > now_ms ? end_ms - now_ms : 0;
		int r;

		if (left_ms == 0)
			return complain_timeout(cli, watch);
		r = berth_watch_step(watch, NULL, 0, left_ms < INT32_MAX ? (int)left_ms : -1);
		if (r != BERTH_EXIT_OK)
			return r;
		look(watch, said);
	}
	if (cli->is_json)
		(void)print(watch, false);
	return code_of(watch);
}

int berth_verb_wait(struct berth_cli *cli)
{
	const char *timeout = berth_given_value(&cli->given, "timeout");
	struct berth_watch watch;
	struct berth_error err = {0};
	struct berth_ids ids;
	uint64_t end_ms = UINT64_MAX;
	bool *said;
	int r = berth_ids_parse(cli, 0, &ids);

	if (r != BERTH_EXIT_OK)
		return r;
	if (timeout && berth_timeout_parse(timeout, &end_ms, &err) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "--timeout: %s", err.text);
	if (end_ms != BERTH_UNLIMITED_MS)
		end_ms += berth_clock_boot_ms();
	said = berth_arena_alloc(&cli->arena, ids.n * sizeof(*said));
	if (!said)
		return berth_complain_memory(cli);
	r = berth_watch_open(cli, ids.id, ids.n, &watch);
	if (r != BERTH_EXIT_OK)
		return r;
	r = wait_for(cli, &watch, end_ms, said);
	berth_watch_close(&watch);
	return r;
}
