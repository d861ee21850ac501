/* A submission as it comes over HTTP: one job or an array, its specification, and an alteration. What is taken is within
 * bounds, and its stored specification is JSON. */
#include <jansson.h>
#include <string.h>
#include "api/ask.h"
#include "api/batch.h"
#include "engine/local/jobspec.h"
#include "target.h"

static uint64_t now_ms(void *arg)
{
	return 1796000000000u;
}

static const struct berth_api_host host = {.default_limit_ms = 86400000,
                                           .default_grace_ms = 30000,
                                           .max_limit_ms = 7 * 86400000ull,
                                           .default_gpus = 1,
                                           .default_requeue = 0,
                                           .now_ms = now_ms};

static void check_job(const struct berth_fact *fact)
{
	const struct berth_fact_submit *job = &fact->u.submit;

	FUZZ_PROMISE(fact->kind == BERTH_FACT_JOB_SUBMITTED && job->name[0] && strlen(job->name) <= 128);
	FUZZ_PROMISE(berth_utf8_is_valid(job->name, strlen(job->name)));
	FUZZ_PROMISE(strlen(job->spec) == 64 && job->tier < BERTH_TIER_COUNT);
	FUZZ_PROMISE(job->request.limit_ms <= host.max_limit_ms);
}

static void try_submit(json_t *root)
{
	struct berth_batch batch;
	struct berth_error err = {0};

	if (berth_batch_read(&host, json_incref(root), 1000, "lin", &batch, &err) < 0) {
		FUZZ_PROMISE(err.text[0]);
		return;
	}
	for (size_t i = 0; i < batch.n; i++)
		check_job(&batch.facts[i]);
	for (size_t i = 0; i < batch.n_blobs; i++) {
		json_t *blob = json_loadb(batch.blobs[i].body, batch.blobs[i].len, 0, NULL);

		FUZZ_PROMISE(blob);
		json_decref(blob);
	}
	berth_batch_fini(&batch);
}

static void try_alter(json_t *root)
{
	struct berth_ask ask = berth_ask_default(&host);
	struct berth_error err = {0};

	if (json_is_object(root) && berth_ask_parse(root, true, "", now_ms(NULL), &ask, &err) < 0)
		FUZZ_PROMISE(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_error err = {0};
	json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	if (!root)
		return 0;
	try_alter(root);
	if (json_is_object(root) && berth_jobspec_check(root, &err) < 0)
		FUZZ_PROMISE(err.text[0]);
	try_submit(root);
	json_decref(root);
	return 0;
}
