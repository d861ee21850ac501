#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api/double_test.h"
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
