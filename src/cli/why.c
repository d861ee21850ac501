/* why: every reason that keeps a job waiting, and what would help. */
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "cli/client.h"
#include "cli/ids.h"
#include "cli/job.h"
#include "cli/show.h"
#include "cli/verbs.h"

/* When the answer was made, so that its moments are shown from there. */
static uint64_t now_of(const json_t *answer)
{
	uint64_t now_ms = berth_clock_wall_ms();

	(void)berth_json_moment(answer, "now", &now_ms);
	return now_ms;
}

static void print_head(const json_t *answer, FILE *out)
{
	const json_t *job = json_object_get(answer, "job");
	BERTH_AUTO_FREE char *user = berth_json_printable(job, "user", 0);
	BERTH_AUTO_FREE char *name = berth_json_printable(job, "name", 40);
	const char *state = berth_json_text(job, "state");
	char buf[BERTH_FORMAT_MAX];
	uint64_t now_ms = now_of(answer);
	uint64_t number = 0;

	(void)berth_json_number(job, "gpus", &number);
	fprintf(out, "Job %" PRIu64 " (%s, %s, %s, %" PRIu64 " GPU%s", berth_job_id(job), name ? name : "?",
	        user ? user : "?", berth_json_text(job, "tier"), number, number == 1 ? "" : "s");
	if (berth_json_number(job, "limit_ms", &number))
		fprintf(out, ", limit %s", berth_duration_format(number, buf));
	fputs(") ", out);
	if ((strcmp(state, "PENDING") == 0 || strcmp(state, "HELD") == 0) &&
	    berth_json_moment(job, "submit_time", &number))
		fprintf(out, "has waited %s.\n",
		        berth_duration_format(now_ms > number ? (now_ms - number) / 1000 * 1000 : 0, buf));
	else
		fprintf(out, "is %s.\n", state);
}

/* "0-2,5": the indexes of all devices with these words; false when an earlier one than `from` has them too. */
static bool gather(const json_t *devices, size_t from, const char *words, struct berth_text *ret)
{
	const json_t *device;
	json_int_t last = -2;
	bool is_run = false;
	size_t i;

	json_array_foreach(devices, i, device) {
		const json_int_t index = json_integer_value(json_object_get(device, "index"));

		if (strcmp(berth_json_text(device, "text"), words) != 0)
			continue;
		if (i < from)
			return false;
		if (is_run && index != last + 1)
			berth_text_addf(ret, "-%" JSON_INTEGER_FORMAT, last);
		is_run = index == last + 1;
		if (!is_run)
			berth_text_addf(ret, "%s%" JSON_INTEGER_FORMAT, ret->len > 0 ? "," : "", index);
		last = index;
	}
	if (is_run)
		berth_text_addf(ret, "-%" JSON_INTEGER_FORMAT, last);
	return true;
}

/* Devices with the same words stand on one line: "GPU 0-2,5  job 12 has it until 17:55 at the latest". */
static void print_devices(const json_t *devices, FILE *out)
{
	const json_t *device;
	size_t width = 0;
	size_t i;

	json_array_foreach(devices, i, device) {
		BERTH_AUTO_TEXT struct berth_text indexes = {0};

		if (gather(devices, i, berth_json_text(device, "text"), &indexes) && indexes.len > width)
			width = indexes.len;
	}
	json_array_foreach(devices, i, device) {
		BERTH_AUTO_TEXT struct berth_text indexes = {0};
		BERTH_AUTO_FREE char *words = berth_json_printable(device, "text", 0);

		if (gather(devices, i, berth_json_text(device, "text"), &indexes))
			fprintf(out, "       GPU %-*s  %s\n", (int)width, indexes.at ? indexes.at : "?",
			        words ? words : "?");
	}
}

static void print_reasons(const json_t *reasons, FILE *out)
{
	const json_t *reason;
	size_t i;

	json_array_foreach(reasons, i, reason) {
		BERTH_AUTO_FREE char *text = berth_json_printable(reason, "text", 0);

		fprintf(out, "  %zu. It %s.\n", i + 1, text ? text : "?");
		print_devices(json_object_get(reason, "devices"), out);
	}
}

static void print_suggestions(const json_t *answer, FILE *out)
{
	const json_t *suggestions = json_object_get(answer, "suggestions");
	const json_t *suggestion;
	size_t i;

	if (json_array_size(suggestions) > 0)
		fputs("\nWhat would let it start:\n", out);
	json_array_foreach(suggestions, i, suggestion) {
		BERTH_AUTO_FREE char *change = berth_json_printable(suggestion, "change", 0);
		BERTH_AUTO_TEXT struct berth_text command = {0};
		BERTH_AUTO_FREE char *printable = NULL;
		char buf[BERTH_FORMAT_MAX];
		uint64_t starts_ms;
		const uint64_t now_ms = now_of(answer);
		const char *when = "-";

		if (berth_json_moment(suggestion, "starts", &starts_ms))
			when = starts_ms <= now_ms ? "now" : berth_moment_format_short(starts_ms, now_ms, buf);
		berth_words_join(json_object_get(suggestion, "argv"), &command);
		printable = berth_utf8_printable(command.at ? command.at : "", 0);
		fprintf(out, "  %-9s %s:   %s\n", when, change ? change : "?", printable ? printable : "?");
	}
}

static void print_prediction(const json_t *answer, FILE *out)
{
	const json_t *start = json_object_get(answer, "predicted_start");
	const uint64_t now_ms = now_of(answer);
	char buf[BERTH_FORMAT_MAX];
	uint64_t at_ms;

	if (berth_json_moment(start, "latest", &at_ms))
		fprintf(out, "\nIt starts at %s at the latest, if every job ahead runs to its time limit.\n",
		        berth_moment_format_short(at_ms, now_ms, buf));
}

void berth_why_print(const json_t *answer, FILE *out)
{
	const json_t *job = json_object_get(answer, "job");
	const char *state = berth_json_text(job, "state");
	const json_t *reasons = json_object_get(answer, "reasons");
	const bool is_waiting = strcmp(state, "PENDING") == 0 || strcmp(state, "HELD") == 0;

	print_head(answer, out);
	if (json_array_size(reasons) > 0)
		fprintf(out, "\n%s\n", is_waiting ? "It does not start yet:" : "Because:");
	print_reasons(reasons, out);
	print_suggestions(answer, out);
	if (is_waiting)
		print_prediction(answer, out);
}

int berth_verb_why(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	char target[64];
	struct berth_ids ids;
	int r = berth_ids_parse(cli, 0, &ids);

	if (r == BERTH_EXIT_OK && ids.n != 1)
		r = berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "why takes one job at a time");
	if (r != BERTH_EXIT_OK)
		return r;
	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64 "/why", ids.id[0]);
	r = berth_ask(cli, "GET", target, NULL, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	berth_why_print(answer, stdout);
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}
