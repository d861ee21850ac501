#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "api/double_test.h"
#include "engine/local/jobspec.h"
#include "engine/local/local.h"

#define READS_MAX 16

struct read {
	uint64_t offset;
	uint32_t length;
	berth_engine_log_done *done;
	void *arg;
};

struct berth_engine {
	struct berth_double_engine_knobs knobs;
	struct read read[READS_MAX];
	size_t n;
};

struct berth_engine *berth_double_engine_new(void)
{
	struct berth_engine *engine = calloc(1, sizeof(*engine));

	assert(engine);
	return engine;
}

void berth_double_engine_free(struct berth_engine *engine)
{
	berth_double_engine_answer(engine);
	free(engine);
}

struct berth_double_engine_knobs *berth_double_engine_knobs(struct berth_engine *engine)
{
	return &engine->knobs;
}

static void answer(const struct berth_engine *engine, const struct read *read)
{
	const char *output = engine->knobs.output;
	const uint64_t size = output ? strlen(output) : 0;
	const uint64_t offset = read->offset < size ? read->offset : size;
	const uint64_t n = read->length < size - offset ? read->length : size - offset;

	if (output)
		read->done(read->arg, 0, output + offset, n, size);
	else
		read->done(read->arg, -ENOENT, NULL, 0, 0);
}

void berth_double_engine_answer(struct berth_engine *engine)
{
	const size_t n = engine->n;

	engine->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct read read = engine->read[i];

		answer(engine, &read);
	}
}

void berth_engine_log(struct berth_engine *engine, uint64_t job, uint64_t offset, uint32_t length,
                      berth_engine_log_done *done, void *arg)
{
	const struct read read = {offset, length, done, arg};

	if (!engine->knobs.is_slow) {
		answer(engine, &read);
		return;
	}
	assert(engine->n < READS_MAX);
	engine->read[engine->n++] = read;
}

const char *berth_engine_progress(const struct berth_engine *engine, uint64_t job)
{
	return engine->knobs.progress ? engine->knobs.progress : "";
}

const char *berth_engine_containment(const struct berth_engine *engine)
{
	return "sub-reaper";
}

/* Of the real check only what these tests lean on. */
int berth_jobspec_check(json_t *spec, struct berth_error *err)
{
	if (!json_is_array(json_object_get(spec, "argv")) && !json_is_string(json_object_get(spec, "script")))
		return berth_error_set(err, -EINVAL, "argv or script must be given");
	if (!json_is_array(json_object_get(spec, "env")))
		return berth_error_set(err, -EINVAL, "env must be an array of NAME=VALUE");
	if (!json_is_string(json_object_get(spec, "cwd")))
		return berth_error_set(err, -EINVAL, "cwd must be a string");
	return 0;
}

int berth_jobspec_load(struct berth_store *store, const char *key, struct berth_jobspec *ret, struct berth_error *err)
{
	void *body = NULL;
	size_t len;
	int r = berth_store_blob(store, key, &body, &len);

	if (r < 0)
		return r;
	ret->root = json_loadb(body, len, 0, NULL);
	free(body);
	return ret->root ? 0 : -EBADMSG;
}

void berth_jobspec_fini(struct berth_jobspec *spec)
{
	json_decref(spec->root);
	json_decref(spec->env);
}

char *berth_jobspec_path(const char *pattern, const char *cwd, const struct berth_job *job, const char *node,
                         struct berth_error *err)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", cwd, pattern) < 0 ? NULL : path;
}
