/* cancel, hold, release, requeue, alter: what is done to jobs. */
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "cli/ids.h"
#include "cli/job.h"
#include "cli/request.h"
#include "cli/verbs.h"

static void say_cancelled(const json_t *job)
{
	const char *state = berth_json_text(job, "state");
	BERTH_AUTO_TEXT struct berth_text outcome = {0};
	char when[BERTH_FORMAT_MAX];
	uint64_t deadline_ms;

	if (strcmp(state, "STOPPING") == 0 && berth_json_moment(job, "stop_deadline", &deadline_ms)) {
		printf("Job %" PRIu64 " is asked to stop; it is killed at %s if it has not\n", berth_job_id(job),
		       berth_moment_format_short(deadline_ms, berth_clock_wall_ms(), when));
	} else if (berth_job_is_final(job) && strcmp(state, "CANCELLED") != 0) {
		berth_job_outcome(job, &outcome);
		printf("Job %" PRIu64 " was over already: it %s\n", berth_job_id(job),
		       outcome.at ? outcome.at : "ended");
	} else {
		printf("Cancelled job %" PRIu64 "\n", berth_job_id(job));
	}
}

static void say_held(const json_t *job)
{
	printf("Holding job %" PRIu64 "; berth release %" PRIu64 " lets it go\n", berth_job_id(job), berth_job_id(job));
}

static void say_released(const json_t *job)
{
	printf("Released job %" PRIu64 "\n", berth_job_id(job));
}

static void say_requeued(const json_t *job)
{
	printf("Job %" PRIu64 " goes back to the queue\n", berth_job_id(job));
}

static void say_altered(const json_t *job)
{
	printf("Altered job %" PRIu64 "\n", berth_job_id(job));
}

static int act(struct berth_cli *cli, const char *action, bool is_once, void (*done)(const json_t *job))
{
	const struct berth_call how = {.method = "POST", .is_once = is_once};
	struct berth_ids ids;
	int r = berth_ids_parse(cli, 0, &ids);

	return r != BERTH_EXIT_OK ? r : berth_ids_do(cli, &ids, &how, action, done);
}

int berth_verb_cancel(struct berth_cli *cli)
{
	return act(cli, "/cancel", false, say_cancelled);
}

int berth_verb_hold(struct berth_cli *cli)
{
	return act(cli, "/hold", false, say_held);
}

int berth_verb_release(struct berth_cli *cli)
{
	return act(cli, "/release", false, say_released);
}

int berth_verb_requeue(struct berth_cli *cli)
{
	return act(cli, "/requeue", true, say_requeued);
}

int berth_verb_alter(struct berth_cli *cli)
{
	const struct berth_request request = {.given = {&cli->given}};
	BERTH_AUTO_JSON json_t *fields = NULL;
	struct berth_call how = {.method = "PATCH"};
	struct berth_ids ids;
	int r = berth_ids_parse(cli, 0, &ids);

	if (r == BERTH_EXIT_OK)
		r = berth_request_fields(cli, &request, berth_clock_wall_ms(), &fields);
	if (r != BERTH_EXIT_OK)
		return r;
	if (json_object_size(fields) == 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage",
		                      "For instance:  berth alter 12 --time 4h     All of them:  berth help alter",
		                      "nothing to alter was named");
	how.body = fields;
	return berth_ids_do(cli, &ids, &how, "", say_altered);
}
