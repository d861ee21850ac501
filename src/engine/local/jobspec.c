#include "engine/local/jobspec.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include "base/text.h"
#include "device/sim/sim.h"
#include "engine/local/pattern.h"
#include "host/spec.h"

/* Fields of a specification, for unknown ones and their nearest. */
static const char *const field_names[] = {"argv",        "script",      "cwd",     "env",      "output", "error",
                                          "stop_signal", "warn_signal", "warn_ms", "sim_load", NULL};

static bool is_known(const char *name)
{
	for (const char *const *known = field_names; *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

static int check_known(json_t *spec, struct berth_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach(spec, name, value)
	{
		const char *nearest = is_known(name) ? name : berth_text_nearest(name, field_names);

		if (nearest != name)
			return berth_error_set(err, -EINVAL, "%s is no field of a specification%s%s", name,
			                       nearest ? "; did you mean " : "", nearest ? nearest : "");
	}
	return 0;
}

/* A string without a NUL inside; null and absence are allowed where is_optional. ret NULL then. */
static int get_string(json_t *spec, const char *name, bool is_optional, const char **ret, struct berth_error *err)
{
	json_t *value = json_object_get(spec, name);

	*ret = NULL;
	if (is_optional && (!value || json_is_null(value)))
		return 0;
	if (!json_is_string(value))
		return berth_error_set(err, -EINVAL, "%s must be a string", name);
	*ret = json_string_value(value);
	if (strlen(*ret) != json_string_length(value))
		return berth_error_set(err, -EINVAL, "%s has a NUL in it", name);
	return 0;
}

/* An array of strings; adds their length to *size. */
static int check_strings(json_t *spec, const char *name, size_t *size, struct berth_error *err)
{
	json_t *array = json_object_get(spec, name);
	json_t *word;
	size_t i;

	if (!json_is_array(array))
		return berth_error_set(err, -EINVAL, "%s must be an array of strings", name);
	json_array_foreach(array, i, word)
	{
		if (!json_is_string(word) || strlen(json_string_value(word)) != json_string_length(word))
			return berth_error_set(err, -EINVAL, "%s[%zu] must be a string without a NUL", name, i);
		*size += json_string_length(word) + 1;
	}
	return 0;
}

static int check_env(json_t *spec, struct berth_error *err)
{
	json_t *word;
	size_t i;

	json_array_foreach(json_object_get(spec, "env"), i, word)
	{
		const char *equals = strchr(json_string_value(word), '=');

		if (!equals || equals == json_string_value(word))
			return berth_error_set(err, -EINVAL, "env[%zu] must be NAME=VALUE", i);
	}
	return 0;
}

static int check_command(json_t *spec, size_t *size, struct berth_error *err)
{
	const char *script;
	int r = get_string(spec, "script", true, &script, err);

	if (r < 0)
		return r;
	if (script && strncmp(script, "#!", 2) != 0)
		return berth_error_set(err, -EINVAL,
		                       "script must begin with #! and the program that runs it, for example #!/bin/sh");
	if (script)
		*size += strlen(script) + 1;
	if (script && !json_object_get(spec, "argv"))
		return 0;
	r = check_strings(spec, "argv", size, err);
	if (r < 0)
		return r;
	json_t *first = json_array_get(json_object_get(spec, "argv"), 0);
	if (!script && (!first || json_string_length(first) == 0))
		return berth_error_set(err, -EINVAL, "argv must name a command: there is nothing to run");
	return 0;
}

static int check_paths(json_t *spec, struct berth_error *err)
{
	const char *cwd;
	const char *output;
	const char *error;
	int r = get_string(spec, "cwd", false, &cwd, err);

	if (r == 0 && (cwd[0] != '/' || strlen(cwd) >= PATH_MAX))
		r = berth_error_set(err, -EINVAL, "cwd must be an absolute path of less than %d bytes", PATH_MAX);
	if (r == 0)
		r = get_string(spec, "output", false, &output, err);
	if (r == 0)
		r = get_string(spec, "error", true, &error, err);
	if (r == 0 && (!output[0] || (error && !error[0])))
		r = berth_error_set(err, -EINVAL, "%s must name a file", output[0] ? "error" : "output");
	if (r == 0)
		r = berth_pattern_check(output, err);
	return r == 0 && error ? berth_pattern_check(error, err) : r;
}

static int check_number(json_t *spec, const char *name, json_int_t min, json_int_t max, struct berth_error *err)
{
	json_t *value = json_object_get(spec, name);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
		return berth_error_set(err, -EINVAL, "%s must be a whole number from %lld to %lld", name,
		                       (long long)min, (long long)max);
	return 0;
}

static int check_signals(json_t *spec, struct berth_error *err)
{
	int r = check_number(spec, "stop_signal", 1, SIGRTMAX, err);

	if (r == 0)
		r = check_number(spec, "warn_signal", 0, SIGRTMAX, err);
	return r == 0 ? check_number(spec, "warn_ms", 0, INT64_MAX, err) : r;
}

static int check_sim_load(json_t *spec, struct berth_error *err)
{
	const char *profile;
	int r = get_string(spec, "sim_load", true, &profile, err);

	return r == 0 && profile ? berth_sim_profile_check(profile, err) : r;
}

int berth_jobspec_check(json_t *spec, struct berth_error *err)
{
	size_t size = 0;
	int r = check_known(spec, err);

	if (r == 0)
		r = check_command(spec, &size, err);
	if (r == 0)
		r = check_strings(spec, "env", &size, err);
	if (r == 0)
		r = check_env(spec, err);
	if (r == 0)
		r = check_paths(spec, err);
	if (r == 0)
		r = check_signals(spec, err);
	if (r == 0)
		r = check_sim_load(spec, err);
	/* Room is left for paths and for what berth adds to the environment. */
	if (r == 0 && size > BERTH_SPEC_BYTES_MAX - 65536)
		r = berth_error_set(err, -EINVAL, "argv, script and env together have %zu bytes; at most %u are taken",
		                    size, BERTH_SPEC_BYTES_MAX - 65536);
	return r;
}

/* The JSON under a key of the store. */
static int load_json(struct berth_store *store, const char *key, json_t **ret, struct berth_error *err)
{
	BERTH_AUTO_FREE void *body = NULL;
	size_t len = 0;
	int r = berth_store_blob(store, key, &body, &len);

	if (r < 0)
		return berth_error_errno(err, r, "read the specification %s of a job", key);
	*ret = json_loadb(body, len, 0, NULL);
	return *ret ? 0 : berth_error_set(err, -EBADMSG, "the specification %s of a job is no JSON", key);
}

int berth_jobspec_load(struct berth_store *store, const char *key, struct berth_jobspec *ret, struct berth_error *err)
{
	struct berth_jobspec spec = {0};
	int r = load_json(store, key, &spec.root, err);
	const char *env = r == 0 ? json_string_value(json_object_get(spec.root, "env")) : NULL;

	if (r == 0 && !env)
		r = berth_error_set(err, -EBADMSG, "the specification %s names no environment", key);
	if (r == 0)
		r = load_json(store, env, &spec.env, err);
	if (r < 0) {
		berth_jobspec_fini(&spec);
		return r;
	}
	*ret = spec;
	return 0;
}

void berth_jobspec_fini(struct berth_jobspec *spec)
{
	json_decref(spec->root);
	json_decref(spec->env);
	*spec = (struct berth_jobspec){0};
}

char *berth_jobspec_path(const char *pattern, const char *cwd, const struct berth_job *job, const char *node,
                         struct berth_error *err)
{
	const struct berth_pattern_values values = {job->id, job->asked.name, job->asked.user, node};
	struct berth_text text = {0};

	if (berth_pattern_check(pattern, err) < 0)
		return NULL;
	if (pattern[0] != '/') {
		berth_text_add(&text, cwd);
		berth_text_add(&text, "/");
	}
	berth_pattern_expand(pattern, &values, &text);
	if (text.is_failed || text.len >= PATH_MAX) {
		(void)berth_error_set(err, text.is_failed ? -ENOMEM : -ENAMETOOLONG,
		                      "the name of the output file of job %llu is too long",
		                      (unsigned long long)job->id);
		berth_text_fini(&text);
		return NULL;
	}
	return BERTH_TAKE(text.at);
}
