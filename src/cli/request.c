#include "cli/request.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "base/text.h"
#include "base/units.h"
#include "cli/export.h"
#include "cli/field.h"

#define GPUS_MAX 1000000 /* what is too many is the daemon's to say */
#define VARIABLE_PREFIX "BERTH_SUBMIT_"
#define WARN_SECONDS 60 /* before the end, when --checkpoint-signal names no time; as Slurm's --signal */

const struct berth_option berth_request_options[] = {
	{"gpus", 'G', "N|MODEL:N", "whole cards, of this model; 0 = none", NULL},
	{"gpu-index", 0, "I,J,...", "only these cards, by number; all of them unless --gpus says how many", NULL},
	{"gpu-mem", 0, "SIZE", "least memory of each card: 40G, 512M", NULL},
	{"time", 't', "TIME", "limit of its run time: 90 (minutes), 1:30:00, 2-12, 90m, UNLIMITED", NULL},
	{"priority", 'p', "P0|P1|P2", "P0 urgent, P1 important, P2 ordinary", NULL},
	{"name", 'J', "NAME", "what the job is called", NULL},
	{"grace", 0, "TIME", "from being asked to stop until it is killed: 60s, 5m", NULL},
	{"requeue", 0, "N", "run again after up to N failures", NULL},
	{"begin", 0, "WHEN", "not before: now+2h, 18:30, 2026-11-30T08:00", NULL},
	{0},
};

const struct berth_option berth_change_options[] = {
	{"gpu-model", 0, "MODEL|any", "cards of this model; any (also for --gpu-index, --gpu-mem) takes it back", NULL},
	{0},
};

const struct berth_option berth_launch_options[] = {
	{"output", 'o', "FILE", "where its output goes; %j = job id, %x = name, %u = user, %N = node", NULL},
	{"error", 'e', "FILE", "where its standard error goes, instead of to its output", NULL},
	{"chdir", 'D', "DIR", "where it runs, instead of here", NULL},
	{"export", 0, "ALL|NONE|NAME[=VALUE],...", "which variables of this shell it gets; ALL unless told", NULL},
	{"checkpoint-signal", 0, "SIGNAL[@SECONDS]", "send it this signal so long before its end: USR1@120", NULL},
	{"hold", 'H', NULL, "wait until `berth release`", NULL},
	{"sim-load", 0, "SECONDS:UTIL:MEM,...", "what simulated cards shall show: 0:10:2G,30:95:40G", NULL},
	{0},
};

/* What a converter writes into. */
struct draft {
	json_t *job;
	json_t *spec;
	uint64_t now_ms;
	bool is_change; /* of a job that exists: "any" takes a wish back */
};

typedef int convert_fn(struct draft *draft, const char *value, struct berth_error *err);

static int put_number(json_t *object, const char *key, uint64_t value)
{
	return json_object_set_new(object, key, json_integer((json_int_t)value)) < 0 ? -ENOMEM : 0;
}

static int put_any(json_t *object, const char *key)
{
	return json_object_set_new(object, key, json_null()) < 0 ? -ENOMEM : 0;
}

/* Text of the user, which may be anything. */
static int put_text(json_t *object, const char *key, const char *value, struct berth_error *err)
{
	if (!berth_utf8_is_valid(value, strlen(value)))
		return berth_error_set(err, -EINVAL, "it is not UTF-8 text, which is all that berth can carry");
	return json_object_set_new(object, key, json_string(value)) < 0 ? -ENOMEM : 0;
}

static int put_gpus(struct draft *draft, const char *value, struct berth_error *err)
{
	const char *colon = strrchr(value, ':');
	const char *digits = colon ? colon + 1 : value;
	uint64_t gpus;
	int r;

	if (!colon && *value && !isdigit((unsigned char)*value) && *value != '-')
		return berth_error_set(err, -EINVAL, "how many of them? write %s:1", value);
	r = berth_number_parse(digits, "the number of cards", 0, GPUS_MAX, &gpus, err);
	if (r < 0)
		return r;
	if (colon) {
		BERTH_AUTO_FREE char *model = strndup(value, (size_t)(colon - value));

		if (!model || colon == value)
			return berth_error_set(err, model ? -EINVAL : -ENOMEM, "a model must stand before the colon");
		r = put_text(draft->job, "gpu_model", model, err);
	}
	return r < 0 ? r : put_number(draft->job, "gpus", gpus);
}

static int put_model(struct draft *draft, const char *value, struct berth_error *err)
{
	if (json_object_get(draft->job, "gpu_model"))
		return berth_error_set(err, -EINVAL, "--gpus names a model already");
	if (strcmp(value, "any") == 0)
		return put_any(draft->job, "gpu_model");
	return put_text(draft->job, "gpu_model", value, err);
}

static int put_indexes(struct draft *draft, const char *value, struct berth_error *err)
{
	BERTH_AUTO_FREE char *copy = strdup(value);
	json_t *list = json_array();
	char *rest = copy;
	const char *word;

	if (draft->is_change && strcmp(value, "any") == 0) {
		json_decref(list);
		return put_any(draft->job, "gpu_index");
	}
	if (!copy || !list || json_object_set_new(draft->job, "gpu_index", list) < 0)
		return -ENOMEM;
	while ((word = strsep(&rest, ","))) {
		uint64_t index;
		json_t *old;
		size_t i;
		int r = berth_number_parse(word, "a card's number", 0, 63, &index, err);

		if (r < 0)
			return r;
		json_array_foreach(list, i, old)
			if (json_integer_value(old) == (json_int_t)index)
				return berth_error_set(err, -EINVAL, "card %s is named twice", word);
		if (json_array_append_new(list, json_integer((json_int_t)index)) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int put_gpu_mem(struct draft *draft, const char *value, struct berth_error *err)
{
	uint64_t bytes;
	int r;

	if (draft->is_change && strcmp(value, "any") == 0)
		return put_any(draft->job, "gpu_mem_bytes");
	r = berth_size_parse(value, &bytes, err);
	if (r < 0)
		return r;
	if (bytes == 0 || bytes > INT64_MAX)
		return berth_error_set(err, -EINVAL, "\"%s\" is no memory of a card", value);
	return put_number(draft->job, "gpu_mem_bytes", bytes);
}

static int put_time(struct draft *draft, const char *value, struct berth_error *err)
{
	uint64_t ms;
	int r = berth_duration_parse(value, &ms, err);

	if (r < 0)
		return r;
	if (ms == 0)
		return berth_error_set(err, -EINVAL,
		                       "a limit of 0 would end the job at once; UNLIMITED is written out");
	if (ms == BERTH_UNLIMITED_MS)
		return put_any(draft->job, "limit_ms");
	return put_number(draft->job, "limit_ms", ms);
}

static int put_priority(struct draft *draft, const char *value, struct berth_error *err)
{
	char tier[] = "P0";

	if (strlen(value) != 2 || (*value | 0x20) != 'p' || value[1] < '0' || value[1] > '2')
		return berth_error_set(err, -EINVAL, "\"%s\" is no priority; write P0 (urgent), P1 or P2 (ordinary)",
		                       value);
	tier[1] = value[1];
	return put_text(draft->job, "tier", tier, err);
}

static int put_name(struct draft *draft, const char *value, struct berth_error *err)
{
	if (!*value)
		return berth_error_set(err, -EINVAL, "a name must not be empty");
	return put_text(draft->job, "name", value, err);
}

/* Where minutes would surprise, a bare number is refused. */
int berth_timeout_parse(const char *value, uint64_t *ret_ms, struct berth_error *err)
{
	if (*value && strspn(value, "0123456789") == strlen(value) && strcmp(value, "0") != 0)
		return berth_error_set(err, -EINVAL, "%s of what? write %ss or %sm", value, value, value);
	return berth_duration_parse(value, ret_ms, err);
}

static int put_grace(struct draft *draft, const char *value, struct berth_error *err)
{
	uint64_t ms;
	int r = berth_timeout_parse(value, &ms, err);

	if (r < 0)
		return r;
	if (ms == BERTH_UNLIMITED_MS)
		return berth_error_set(err, -EINVAL, "the time to stop cannot be unlimited");
	return put_number(draft->job, "grace_ms", ms);
}

static int put_requeue(struct draft *draft, const char *value, struct berth_error *err)
{
	uint64_t times;
	int r = berth_number_parse(value, "how often to run again", 0, UINT32_MAX, &times, err);

	return r < 0 ? r : put_number(draft->job, "requeue", times);
}

static int put_begin(struct draft *draft, const char *value, struct berth_error *err)
{
	char buf[BERTH_FORMAT_MAX];
	uint64_t at_ms;
	int r = berth_moment_parse(value, draft->now_ms, &at_ms, err);

	return r < 0 ? r : put_text(draft->job, "begin", berth_moment_send(at_ms, buf), err);
}

static int put_output(struct draft *draft, const char *value, struct berth_error *err)
{
	if (!*value)
		return berth_error_set(err, -EINVAL, "a file name must not be empty");
	return put_text(draft->spec, "output", value, err);
}

static int put_error(struct draft *draft, const char *value, struct berth_error *err)
{
	if (!*value)
		return berth_error_set(err, -EINVAL, "a file name must not be empty");
	return put_text(draft->spec, "error", value, err);
}

int berth_signal_parse(const char *name, int *ret)
{
	uint64_t number;

	if (isdigit((unsigned char)*name)) {
		if (berth_number_parse(name, "a signal", 1, (uint64_t)SIGRTMAX, &number, NULL) < 0)
			return -EINVAL;
		*ret = (int)number;
		return 0;
	}
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *known = sigabbrev_np(i);

		if (known && strcmp(known, name) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* "120" is seconds, as in Slurm's --signal; with a unit, any duration. */
static int parse_before_end(const char *value, uint64_t *ret_ms, struct berth_error *err)
{
	uint64_t seconds;
	int r;

	if (*value && strspn(value, "0123456789") < strlen(value))
		return berth_duration_parse(value, ret_ms, err);
	r = berth_number_parse(value, "the seconds before the end", 1, 31536000, &seconds, err);
	if (r == 0)
		*ret_ms = seconds * 1000;
	return r;
}

static int put_checkpoint_signal(struct draft *draft, const char *value, struct berth_error *err)
{
	const char *at = strchr(value, '@');
	BERTH_AUTO_FREE char *name = strndup(value, at ? (size_t)(at - value) : strlen(value));
	uint64_t before_ms = WARN_SECONDS * 1000;
	int number;
	int r;

	if (!name)
		return -ENOMEM;
	if (berth_signal_parse(name, &number) < 0)
		return berth_error_set(err, -EINVAL, "there is no signal \"%s\"; write USR1@120 or TERM@60", name);
	r = at ? parse_before_end(at + 1, &before_ms, err) : 0;
	if (r == 0)
		r = put_number(draft->spec, "warn_signal", (uint64_t)number);
	return r < 0 ? r : put_number(draft->spec, "warn_ms", before_ms);
}

static int put_hold(struct draft *draft, const char *value, struct berth_error *err)
{
	bool is_held = true;

	if (strcmp(value, "0") == 0 || strcmp(value, "no") == 0)
		is_held = false;
	else if (*value && strcmp(value, "1") != 0 && strcmp(value, "yes") != 0)
		return berth_error_set(err, -EINVAL, "\"%s\" is neither yes nor no", value);
	return json_object_set_new(draft->job, "hold", json_boolean(is_held)) < 0 ? -ENOMEM : 0;
}

static int put_sim_load(struct draft *draft, const char *value, struct berth_error *err)
{
	return put_text(draft->spec, "sim_load", value, err);
}

/* --chdir and --export are read where the directory and the environment are. */
static const struct {
	const char *option;
	convert_fn *convert;
} converters[] = {
	{"gpus", put_gpus},
	{"gpu-model", put_model},
	{"gpu-index", put_indexes},
	{"gpu-mem", put_gpu_mem},
	{"time", put_time},
	{"priority", put_priority},
	{"name", put_name},
	{"grace", put_grace},
	{"requeue", put_requeue},
	{"begin", put_begin},
	{"output", put_output},
	{"error", put_error},
	{"checkpoint-signal", put_checkpoint_signal},
	{"hold", put_hold},
	{"sim-load", put_sim_load},
};

static convert_fn *converter(const char *option)
{
	for (size_t i = 0; i < sizeof(converters) / sizeof(converters[0]); i++)
		if (strcmp(converters[i].option, option) == 0)
			return converters[i].convert;
	return NULL;
}

const char *berth_request_value(const struct berth_request *request, const char *name,
                                const struct berth_given **ret_given)
{
	for (size_t i = 0; i < BERTH_SOURCES; i++) {
		const struct berth_given *given = request->given[i];

		if (!given || !berth_given_has(given, name))
			continue;
		if (ret_given)
			*ret_given = given;
		return berth_given_value(given, name);
	}
	return NULL;
}

static int complain_value(struct berth_cli *cli, const struct berth_given *given, const char *name, int r,
                          const struct berth_error *err)
{
	if (r == -ENOMEM)
		return berth_complain_memory(cli);
	return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "%s: %s",
	                      berth_given_name(given, name, &cli->arena), err->text);
}

/* All options of one table into the draft. */
static int convert_table(struct berth_cli *cli, const struct berth_request *request, const struct berth_option *option,
                         struct draft *draft)
{
	for (; option->name; option++) {
		const struct berth_given *given = NULL;
		const char *value = berth_request_value(request, option->name, &given);
		convert_fn *convert = converter(option->name);
		struct berth_error err = {0};
		int r = value && convert ? convert(draft, value, &err) : 0;

		if (r < 0)
			return complain_value(cli, given, option->name, r, &err);
	}
	return 0;
}

int berth_request_fields(struct berth_cli *cli, const struct berth_request *request, uint64_t now_ms, json_t **ret)
{
	struct draft draft = {.job = json_object(), .now_ms = now_ms, .is_change = true};
	int r = convert_table(cli, request, berth_request_options, &draft);

	if (r == 0)
		r = convert_table(cli, request, berth_change_options, &draft);
	if (r == 0)
		*ret = draft.job;
	else
		json_decref(draft.job);
	return r;
}

/* Where the job runs: --chdir, seen from here. */
static int put_cwd(struct berth_cli *cli, const struct berth_request *request, json_t *spec)
{
	const struct berth_given *given = NULL;
	const char *asked = berth_request_value(request, "chdir", &given);
	BERTH_AUTO_FREE char *here = get_current_dir_name(); /* by the name the user came by, when PWD is right */
	BERTH_AUTO_TEXT struct berth_text path = {0};
	struct berth_error err = {0};
	int r;

	if (!here && !(asked && *asked == '/'))
		return berth_complain(cli, BERTH_EXIT_FAILED, "NoDirectory",
		                      "Change to one that exists, or name one with --chdir DIR.",
		                      "the working directory is gone: %s", strerrordesc_np(errno));
	if (asked && !*asked)
		return complain_value(cli, given, "chdir", berth_error_set(&err, -EINVAL, "a directory must be named"),
		                      &err);
	if (asked && *asked != '/')
		berth_text_addf(&path, "%s/%s", here, asked);
	else
		berth_text_add(&path, asked ? asked : here);
	r = path.is_failed ? -ENOMEM : put_text(spec, "cwd", path.at, &err);
	if (r == -EINVAL && !asked)
		return berth_complain(cli, BERTH_EXIT_USAGE, "NotUtf8", NULL, "the working directory: %s", err.text);
	return r < 0 ? complain_value(cli, given, "chdir", r, &err) : 0;
}

static int put_env(struct berth_cli *cli, const struct berth_request *request, char *const *environment, json_t *spec)
{
	const struct berth_given *given = NULL;
	const char *choice = berth_request_value(request, "export", &given);
	struct berth_error err = {0};
	json_t *env = berth_export(choice, environment, &err);

	if (!env && given)
		return complain_value(cli, given, "export", err.code, &err);
	if (json_object_set_new(spec, "env", env) < 0)
		return berth_complain_memory(cli);
	return 0;
}

int berth_request_job(struct berth_cli *cli, const struct berth_request *request, char *const *environment,
                      uint64_t now_ms, json_t **ret)
{
	json_t *job = json_object();
	json_t *spec = json_object();
	struct draft draft = {.job = job, .spec = spec, .now_ms = now_ms};
	const json_t *indexes;
	int r = convert_table(cli, request, berth_request_options, &draft);

	if (r == 0)
		r = convert_table(cli, request, berth_launch_options, &draft);
	if (r == 0)
		r = put_cwd(cli, request, spec);
	if (r == 0)
		r = put_env(cli, request, environment, spec);
	indexes = json_object_get(job, "gpu_index");
	if (r == 0 && indexes && !json_object_get(job, "gpus"))
		r = put_number(job, "gpus", json_array_size(indexes));
	if (r == 0 && json_object_set(job, "spec", spec) == 0)
		*ret = json_incref(job);
	else if (r == 0)
		r = berth_complain_memory(cli);
	json_decref(spec);
	json_decref(job);
	return r;
}

/* BERTH_SUBMIT_GPU_MEM to gpu-mem, in place. */
static void to_option_name(char *name)
{
	for (; *name; name++)
		*name = *name == '_' ? '-' : (char)tolower((unsigned char)*name);
}

int berth_request_variables(struct berth_cli *cli, char *const *environment, struct berth_given *ret)
{
	static const struct berth_option *const tables[] = {berth_request_options, berth_launch_options, NULL};
	struct berth_error err = {0};

	berth_given_init(ret, tables);
	for (; *environment; environment++) {
		const size_t n = strcspn(*environment, "=");
		BERTH_AUTO_FREE char *name = NULL;
		const char *where;
		int r;

		if (strncmp(*environment, VARIABLE_PREFIX, strlen(VARIABLE_PREFIX)) != 0 || (*environment)[n] != '=')
			continue;
		name = strndup(*environment, n);
		where = berth_arena_strdup(&cli->arena, name);
		if (!name || !where)
			return berth_complain_memory(cli);
		to_option_name(name);
		r = berth_given_set(ret, name + strlen(VARIABLE_PREFIX), *environment + n + 1, where, &err);
		if (r == -ENOENT)
			berth_warn("the variable %s is not read: %s", where, err.text);
		else if (r < 0)
			return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "%s", err.text);
	}
	return 0;
}
