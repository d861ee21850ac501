#include "cli/job.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "cli/reason.h"

uint64_t berth_job_id(const json_t *job)
{
	uint64_t id = 0;

	(void)berth_json_number(job, "id", &id);
	return id;
}

bool berth_state_is_final(const char *state)
{
	static const char *const final[] = {"COMPLETED", "FAILED",        "CANCELLED",
	                                    "TIMEOUT",   "OUT_OF_MEMORY", "NODE_FAIL"};

	for (size_t i = 0; i < sizeof(final) / sizeof(final[0]); i++)
		if (strcmp(state, final[i]) == 0)
			return true;
	return false;
}

bool berth_job_is_final(const json_t *job)
{
	return berth_state_is_final(berth_json_text(job, "state"));
}

static const char *reason_code(const json_t *job)
{
	return berth_json_text(json_object_get(job, "reason"), "code");
}

bool berth_job_has_started(const json_t *job)
{
	const char *state = berth_json_text(job, "state");
	uint64_t restarts = 0;

	(void)berth_json_number(job, "restarts", &restarts);
	return restarts > 0 || *berth_json_text(job, "start_time") || strcmp(state, "RUNNING") == 0 ||
	       strcmp(state, "STOPPING") == 0 || strcmp(reason_code(job), "ExecFailed") == 0;
}

/* A command that could not be run at all: what a shell answers. */
static int exec_failed_code(const json_t *job)
{
	uint64_t number = 0;

	(void)berth_json_number(json_object_get(json_object_get(job, "reason"), "params"), "errno", &number);
	return number == ENOENT ? 127 : 126;
}

int berth_job_exit_code(const json_t *job)
{
	const char *state = berth_json_text(job, "state");
	uint64_t code;

	if (strcmp(state, "COMPLETED") == 0)
		return 0;
	if (strcmp(state, "TIMEOUT") == 0)
		return 124;
	if (strcmp(state, "CANCELLED") == 0)
		return 130;
	if (strcmp(state, "NODE_FAIL") == 0)
		return 125;
	if (strcmp(reason_code(job), "ExecFailed") == 0)
		return exec_failed_code(job);
	if (berth_json_number(job, "exit_code", &code) && code > 0 && code < 256)
		return (int)code;
	if (berth_json_number(job, "signal", &code) && code > 0 && code < 128)
		return 128 + (int)code;
	return 125;
}

char *berth_job_exit_text(const json_t *job, char buf[static BERTH_FORMAT_MAX])
{
	uint64_t code = 0;
	uint64_t number = 0;
	const bool has_code = berth_json_number(job, "exit_code", &code);
	const bool has_signal = berth_json_number(job, "signal", &number);

	if (has_code || has_signal)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 ":%" PRIu64, code, number);
	else
		(void)snprintf(buf, BERTH_FORMAT_MAX, "-");
	return buf;
}

static void add_failure(const json_t *job, struct berth_text *text)
{
	const char *code = reason_code(job);
	const bool was_run = strcmp(code, "ExecFailed") != 0 && strcmp(code, "OutputFailed") != 0;
	uint64_t number = 0;

	if (was_run && berth_json_number(job, "signal", &number) && number > 0) {
		const char *name = sigabbrev_np((int)number);

		berth_text_addf(text, "was ended by signal %" PRIu64 "%s%s%s", number, name ? " (" : "",
		                name ? name : "", name ? ")" : "");
	} else if (was_run && berth_json_number(job, "exit_code", &number)) {
		berth_text_addf(text, "failed with exit code %" PRIu64, number);
	} else if (strcmp(code, "ExitCodeUnknown") == 0) {
		berth_text_add(text, "ended, and nobody knows its exit code");
	} else {
		berth_text_add(text, "failed: ");
		berth_reason_words(json_object_get(job, "reason"), berth_clock_wall_ms(), text);
	}
}

void berth_job_outcome(const json_t *job, struct berth_text *text)
{
	static const struct {
		const char *state;
		const char *words;
	} outcomes[] = {
		{"COMPLETED", "completed"},
		{"CANCELLED", "was cancelled"},
		{"TIMEOUT", "was ended by its time limit"},
		{"OUT_OF_MEMORY", "was killed: out of memory"},
		{"NODE_FAIL", "ended because a card it used was lost"},
	};
	const char *state = berth_json_text(job, "state");

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (strcmp(outcomes[i].state, state) == 0) {
			berth_text_add(text, outcomes[i].words);
			return;
		}
	add_failure(job, text);
}

void berth_job_devices(const json_t *job, struct berth_text *text)
{
	const json_t *index;
	size_t i;

	json_array_foreach(json_object_get(job, "device_indexes"), i, index)
		berth_text_addf(text, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "", json_integer_value(index));
}

bool berth_job_ran(const json_t *job, uint64_t now_ms, uint64_t *ret_ms)
{
	uint64_t start_ms;
	uint64_t end_ms = now_ms;

	if (!berth_json_moment(job, "start_time", &start_ms))
		return false;
	(void)berth_json_moment(job, "end_time", &end_ms);
	*ret_ms = end_ms > start_ms ? end_ms - start_ms : 0;
	return true;
}
