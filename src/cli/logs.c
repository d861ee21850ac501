/* logs: the output of a job. */
#include <inttypes.h>
#include <string.h>
#include "cli/follow.h"
#include "cli/ids.h"
#include "cli/job.h"
#include "cli/tail.h"
#include "cli/verbs.h"

const struct berth_option berth_logs_options[] = {
	{"follow", 'f', NULL, "go on until the job is over, from the queue on if need be", NULL},
	{0},
};

/* What is there now, as one object. */
static int dump_json(struct berth_cli *cli, struct berth_tail *tail)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_JSON json_t *object = NULL;

	while (berth_tail_fill(tail, true)) {
		berth_tail_clean(tail->buf, tail->n, &text);
		tail->at = tail->n;
	}
	if (tail->is_missing)
		return BERTH_EXIT_OK;
	if (text.is_failed)
		return berth_complain_memory(cli);
	object = json_pack("{s:s, s:I, s:i, s:s}", "schema", "berth.log/1", "id", (json_int_t)tail->id, "offset", 0,
	                   "text", berth_text_str(&text));
	return berth_print_json(object);
}

/* What is there now, to stdout. */
static int dump(struct berth_cli *cli, struct berth_tail *tail)
{
	while (berth_tail_fill(tail, true)) {
		int r = berth_tail_write(tail);

		if (r < 0)
			return berth_complain(cli, BERTH_EXIT_FAILED, "Output", NULL, "cannot write: %s",
			                      strerrordesc_np(-r));
	}
	return BERTH_EXIT_OK;
}

static int complain_missing(struct berth_cli *cli, uint64_t id, const char *path)
{
	BERTH_AUTO_TEXT struct berth_text help = {0};

	berth_text_addf(&help,
	                "The file may have been moved or removed; berth show %" PRIu64 " tells where the job wrote it.",
	                id);
	return berth_complain(cli, BERTH_EXIT_FAILED, "NoOutput", berth_text_str(&help),
	                      "the output of job %" PRIu64 " cannot be read: %s", id, path);
}

static int print_now(struct berth_cli *cli, uint64_t id)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	struct berth_tail tail = {.fd = -1};
	const json_t *job;
	char target[64];
	int r;

	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64, id);
	r = berth_ask(cli, "GET", target, NULL, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	job = json_object_get(answer, "job");
	if (!berth_job_has_started(job))
		return berth_complain(cli, BERTH_EXIT_FAILED, "NoOutput",
		                      "Wait for it with  berth logs -f, or ask why with  berth why",
		                      "job %" PRIu64 " has not started, so it has no output yet", id);
	if (berth_tail_init(&tail, cli, id, STDOUT_FILENO) < 0)
		return berth_complain_memory(cli);
	berth_tail_open(&tail, berth_json_text(job, "output_path"));
	tail.is_json = cli->is_json;
	r = cli->is_json ? dump_json(cli, &tail) : dump(cli, &tail);
	if (r == BERTH_EXIT_OK && tail.is_missing)
		r = complain_missing(cli, id, berth_json_text(job, "output_path"));
	berth_tail_fini(&tail);
	return r;
}

int berth_verb_logs(struct berth_cli *cli)
{
	const struct berth_follow_mode mode = {.is_json = cli->is_json, .out = STDOUT_FILENO};
	BERTH_AUTO_JSON json_t *job = NULL;
	BERTH_AUTO_TEXT struct berth_text outcome = {0};
	struct berth_ids ids;
	int r = berth_ids_parse(cli, 0, &ids);

	if (r != BERTH_EXIT_OK)
		return r;
	if (ids.n != 1)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "logs shows one job at a time");
	if (!berth_given_has(&cli->given, "follow"))
		return print_now(cli, ids.id[0]);
	r = berth_follow(cli, ids.id[0], &mode, &job);
	if (r != BERTH_EXIT_OK)
		return r;
	berth_job_outcome(job, &outcome);
	fprintf(stderr, "-- job %" PRIu64 " %s --\n", ids.id[0], outcome.at ? outcome.at : "ended");
	return BERTH_EXIT_OK;
}
