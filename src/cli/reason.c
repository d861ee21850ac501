#include "cli/reason.h"

#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "cli/field.h"

/* What stands in braces is a parameter; {n:GPU} counts them: "1 GPU", "2 GPUs". How a value is shown follows from its
 * name, see add_value. Names of codes and parameters are the core's. */
static const struct {
	const char *code;
	const char *words;
} phrases[] = {
	{"None", ""},
	{"Starting", "starting"},
	{"JobHeldUser", "held; berth release lets it go"},
	{"BeginTime", "begins at {begin_at}"},
	{"BackOff", "failed {failures:time}, again at {retry_at}"},
	{"Resources", "{asked:GPU} asked, {free} of {suit} free"},
	{"Priority", "would delay job {job}, which is ahead"},
	{"NoDevices", "{asked:GPU} asked, {in_service} of those that suit in service"},
	{"Stopping", "stopping, until {deadline_at} at most"},
	{"TooManyGpus", "{asked:GPU} can never be given; the most is {most}"},
	{"NoSuchModel", "no GPU of that model here"},
	{"GpuTooSmall", "{asked_bytes} of GPU memory asked; the most is {most_bytes}"},
	{"NoSuchIndex", "GPU {asked_indexes} asked; there are {known_indexes}"},
	{"NoNode", "no GPU has been found"},
	{"NonZeroExitCode", "exit code {exit_code}"},
	{"RaisedSignal", "ended by signal {signal}"},
	{"TimeLimit", "reached its limit of {limit_ms}"},
	{"Cancelled", "cancelled"},
	{"Requeued", "put back into the queue"},
	{"Preempted", "stopped for a more urgent job"},
	{"DeviceFailed", "lost GPU {index}"},
	{"OutOfMemory", "out of memory"},
	{"ExitCodeUnknown", "exit code not known"},
	{"JobLaunchFailure", "could not be started: {errno}"},
	{"OutputFailed", "cannot open its output: {errno}"},
	{"ExecFailed", "command could not be run: {errno}"},
};

static bool ends_with(const char *name, const char *suffix)
{
	const size_t n = strlen(name);
	const size_t k = strlen(suffix);

	return n >= k && strcmp(name + n - k, suffix) == 0;
}

static void add_list(const json_t *list, struct berth_text *text)
{
	const json_t *value;
	size_t i;

	json_array_foreach(list, i, value)
		berth_text_addf(text, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "", json_integer_value(value));
}

/* NAME_at is a moment, NAME_ms a duration, NAME_bytes a size, errno the system's words. */
static void add_value(const char *name, const json_t *value, uint64_t now_ms, struct berth_text *text)
{
	const json_int_t number = json_integer_value(value);
	char buf[BERTH_FORMAT_MAX];
	uint64_t at_ms;

	if (json_is_string(value) && ends_with(name, "_at") && berth_moment_read(json_string_value(value), &at_ms))
		berth_text_add(text, berth_moment_format_short(at_ms, now_ms, buf));
	else if (json_is_string(value))
		berth_text_add(text, json_string_value(value));
	else if (json_is_array(value))
		add_list(value, text);
	else if (!json_is_integer(value) || number < 0)
		berth_text_add(text, "?");
	else if (ends_with(name, "_ms"))
		berth_text_add(text, berth_duration_format((uint64_t)number, buf));
	else if (ends_with(name, "_bytes"))
		berth_text_add(text, berth_size_format((uint64_t)number, buf));
	else if (strcmp(name, "errno") == 0 && number < 4096 && strerrordesc_np((int)number))
		berth_text_add(text, strerrordesc_np((int)number));
	else
		berth_text_addf(text, "%" JSON_INTEGER_FORMAT, number);
}

/* "{asked:GPU}" at field, n bytes without the braces. */
static void add_field(const char *field, size_t n, const json_t *params, uint64_t now_ms, struct berth_text *text)
{
	char name[32];
	const char *counted;
	const json_t *value;

	(void)snprintf(name, sizeof(name), "%.*s", (int)n, field);
	counted = strchr(name, ':');
	name[strcspn(name, ":")] = '\0';
	value = json_object_get(params, name);
	add_value(name, value, now_ms, text);
	if (counted)
		berth_text_addf(text, " %s%s", counted + 1, json_integer_value(value) == 1 ? "" : "s");
}

static void add_phrase(const char *words, const json_t *params, uint64_t now_ms, struct berth_text *text)
{
	while (*words) {
		const size_t plain = strcspn(words, "{");
		size_t field;

		berth_text_add_n(text, words, plain);
		words += plain;
		if (!*words)
			break;
		field = strcspn(words, "}");
		add_field(words + 1, field - 1, params, now_ms, text);
		words += field + 1;
	}
}

static void add_unknown(const char *code, const json_t *params, uint64_t now_ms, struct berth_text *text)
{
	const char *name;
	json_t *value;

	berth_text_add(text, code);
	json_object_foreach((json_t *)params, name, value) {
		berth_text_addf(text, " %s=", name);
		add_value(name, value, now_ms, text);
	}
}

void berth_reason_words(const json_t *reason, uint64_t now_ms, struct berth_text *text)
{
	const char *code = berth_json_text(reason, "code");
	const json_t *params = json_object_get(reason, "params");

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (strcmp(phrases[i].code, code) == 0) {
			add_phrase(phrases[i].words, params, now_ms, text);
			return;
		}
	add_unknown(code, params, now_ms, text);
}
