/* show: one job, everything that is known about it. */
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/job.h"
#include "cli/paint.h"
#include "cli/reason.h"
#include "cli/show.h"
#include "cli/verbs.h"

static void print_line(FILE *out, const char *label, const struct berth_text *text)
{
	BERTH_AUTO_FREE char *printable = berth_utf8_printable(text->at ? text->at : "-", 0);

	fprintf(out, "  %-10s %s\n", label, printable ? printable : "?");
}

/* The line of a field, unless it is null. */
static void print_field(FILE *out, const char *label, const json_t *job, const char *key)
{
	const struct berth_text text = {.at = (char *)berth_json_text(job, key)};

	if (*text.at)
		print_line(out, label, &text);
}

/* A word as a shell would take it: quoted when it has to be. */
static void add_word(struct berth_text *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";

	if (text->len > 0)
		berth_text_add(text, " ");
	if (*word && strspn(word, plain) == strlen(word)) {
		berth_text_add(text, word);
		return;
	}
	berth_text_add(text, "'");
	for (; *word; word++)
		if (*word == '\'')
			berth_text_add(text, "'\\''");
		else
			berth_text_add_n(text, word, 1);
	berth_text_add(text, "'");
}

void berth_words_join(const json_t *words, struct berth_text *text)
{
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word)
		add_word(text, json_string_value(word) ? json_string_value(word) : "");
}

static void print_command(const json_t *job, FILE *out)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_words_join(json_object_get(job, "argv"), &text);
	if (*berth_json_text(job, "script"))
		berth_text_addf(&text, "  (script, %s)", berth_json_text(job, "script"));
	if (text.len > 0)
		print_line(out, "command", &text);
}

static void print_request(const json_t *job, FILE *out)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char buf[BERTH_FORMAT_MAX];
	uint64_t number = 0;

	(void)berth_json_number(job, "gpus", &number);
	berth_text_addf(&text, "%" PRIu64 " GPU%s", number, number == 1 ? "" : "s");
	if (*berth_json_text(job, "gpu_model"))
		berth_text_addf(&text, " of model %s", berth_json_text(job, "gpu_model"));
	if (berth_json_number(job, "gpu_mem_bytes", &number))
		berth_text_addf(&text, " with at least %s", berth_size_format(number, buf));
	if (json_array_size(json_object_get(job, "gpu_index")) > 0) {
		const json_t *index;
		size_t i;

		berth_text_add(&text, " among ");
		json_array_foreach(json_object_get(job, "gpu_index"), i, index)
			berth_text_addf(&text, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "", json_integer_value(index));
	}
	if (berth_json_number(job, "limit_ms", &number))
		berth_text_addf(&text, ", limit %s", berth_duration_format(number, buf));
	else
		berth_text_add(&text, ", no time limit");
	if (berth_json_number(job, "grace_ms", &number))
		berth_text_addf(&text, ", %s to stop", berth_duration_format(number, buf));
	if (berth_json_number(job, "requeue", &number) && number > 0)
		berth_text_addf(&text, ", runs again after up to %" PRIu64 " failure%s", number,
		                number == 1 ? "" : "s");
	print_line(out, "asks", &text);
}

static void add_moment(struct berth_text *text, const char *words, const json_t *job, const char *key)
{
	char buf[BERTH_FORMAT_MAX];
	uint64_t at_ms;

	if (!berth_json_moment(job, key, &at_ms))
		return;
	berth_moment_format(at_ms, buf);
	buf[strlen("2026-11-30T19:16:54")] = '\0'; /* local time; --json has zone and milliseconds */
	buf[strlen("2026-11-30")] = ' ';
	berth_text_addf(text, "%s%s %s", text->len > 0 ? ", " : "", words, buf);
}

static void print_times(const json_t *job, uint64_t now_ms, FILE *out)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char buf[BERTH_FORMAT_MAX];
	uint64_t ran_ms;

	add_moment(&text, "submitted", job, "submit_time");
	add_moment(&text, "not before", job, "begin_time");
	add_moment(&text, "started", job, "start_time");
	add_moment(&text, "ended", job, "end_time");
	if (berth_job_ran(job, now_ms, &ran_ms))
		berth_text_addf(&text, ", ran %s%s", berth_duration_format(ran_ms / 1000 * 1000, buf),
		                berth_job_is_final(job) ? "" : " so far");
	print_line(out, "times", &text);
}

static void print_place(const json_t *job, FILE *out)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_TEXT struct berth_text devices = {0};
	uint64_t number = 0;

	berth_job_devices(job, &devices);
	if (devices.len > 0)
		berth_text_addf(&text, "%s GPU %s", berth_json_text(job, "node"), devices.at);
	else if (*berth_json_text(job, "node"))
		berth_text_add(&text, berth_json_text(job, "node"));
	if (berth_json_number(job, "attempt", &number) && number > 1)
		berth_text_addf(&text, "%sattempt %" PRIu64, text.len > 0 ? ", " : "", number);
	if (berth_json_number(job, "pid", &number))
		berth_text_addf(&text, "%spid %" PRIu64, text.len > 0 ? ", " : "", number);
	if (text.len > 0)
		print_line(out, berth_job_is_final(job) ? "ran on" : "runs on", &text);
}

static void print_state(const json_t *job, uint64_t now_ms, FILE *out)
{
	const char *state = berth_json_text(job, "state");
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char exit[BERTH_FORMAT_MAX];
	uint64_t number;

	berth_text_add(&text, state);
	if (berth_json_number(job, "position", &number))
		berth_text_addf(&text, ", #%" PRIu64 " in the queue", number);
	if (berth_job_is_final(job) && strcmp(berth_job_exit_text(job, exit), "-") != 0)
		berth_text_addf(&text, ", exit code:signal %s", exit);
	if (strcmp(berth_json_text(json_object_get(job, "reason"), "code"), "None") != 0) {
		berth_text_add(&text, ": ");
		berth_reason_words(json_object_get(job, "reason"), now_ms, &text);
	}
	print_line(out, "state", &text);
}

static void print_progress(const json_t *job, FILE *out)
{
	const json_t *progress = json_object_get(job, "progress");
	BERTH_AUTO_TEXT struct berth_text text = {0};
	uint64_t done;
	uint64_t total;

	if (berth_json_number(progress, "done", &done) && berth_json_number(progress, "total", &total))
		berth_text_addf(&text, "%" PRIu64 " of %" PRIu64 " ", done, total);
	berth_text_add(&text, berth_json_text(progress, "text"));
	if (text.len > 0)
		print_line(out, "progress", &text);
}

void berth_show_print(const json_t *job, uint64_t now_ms, FILE *out)
{
	BERTH_AUTO_FREE char *name = berth_json_printable(job, "name", 0);
	BERTH_AUTO_FREE char *user = berth_json_printable(job, "user", 0);

	fprintf(out, "%sJob %" PRIu64 "%s %s  %s  %s\n", berth_paint(out, BERTH_STYLE_BOLD), berth_job_id(job),
	        berth_paint(out, BERTH_STYLE_PLAIN), name ? name : "?", user ? user : "?",
	        berth_json_text(job, "tier"));
	print_state(job, now_ms, out);
	print_request(job, out);
	print_place(job, out);
	print_progress(job, out);
	print_times(job, now_ms, out);
	print_command(job, out);
	print_field(out, "directory", job, "cwd");
	print_field(out, "output", job, *berth_json_text(job, "output_path") ? "output_path" : "output");
	print_field(out, "error", job, "error");
}

int berth_verb_show(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	char target[64];
	struct berth_ids ids;
	int r = berth_ids_parse(cli, 0, &ids);

	if (r == BERTH_EXIT_OK && ids.n != 1)
		r = berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "show takes one job at a time");
	if (r != BERTH_EXIT_OK)
		return r;
	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64, ids.id[0]);
	r = berth_ask(cli, "GET", target, NULL, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	berth_show_print(json_object_get(answer, "job"), berth_clock_wall_ms(), stdout);
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}
