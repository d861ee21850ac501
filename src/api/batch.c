#include "api/batch.h"

#include <errno.h>
#include <string.h>
#include "api/ask.h"
#include "api/post.h"
#include "engine/local/jobspec.h"

#define OUTPUT_DEFAULT "berth-%j.out"
#define STOP_SIGNAL_DEFAULT 15

/* One batch being read. */
struct reading {
	const struct berth_api_host *host;
	struct berth_batch *batch;
	uid_t uid;
	const char *user;
	uint64_t now_ms;
	json_t *env; /* referenced: of the job before */
	char env_key[65];
	const char *spec_text; /* borrowed from the last specification's blob: the next is often the same */
	struct berth_error *err;
};

void berth_batch_fini(struct berth_batch *batch)
{
	for (size_t i = 0; i < batch->n_blobs; i++)
		free((void *)(uintptr_t)batch->blobs[i].body);
	free(batch->blobs);
	free(batch->facts);
	free(batch->specs);
	json_decref(batch->root);
	*batch = (struct berth_batch){0};
}

const char *berth_batch_where(const struct berth_batch *batch, size_t i, char buf[static 32])
{
	if (!batch->is_array)
		return NULL;
	(void)snprintf(buf, 32, "jobs[%zu]", i);
	return buf;
}

/* Keep a blob of this value; key is filled in. The text stays with the batch. */
static int add_blob(struct berth_batch *batch, const json_t *value, char key[static 65], const char **ret_text)
{
	struct berth_blob *blob = &batch->blobs[batch->n_blobs];
	char *text = json_dumps(value, JSON_COMPACT);

	if (!text)
		return -ENOMEM;
	berth_blob_make(blob, text, strlen(text));
	memcpy(key, blob->key, 65);
	batch->n_blobs++;
	*ret_text = text;
	return 0;
}

/* A specification without an environment has that of the job before it. */
static int inherit_env(const struct reading *reading, json_t *spec)
{
	if (json_object_get(spec, "env") || !reading->env)
		return 0;
	return json_object_set(spec, "env", reading->env) < 0 ? -ENOMEM : 0;
}

/* The environment goes under its own key, once: hundreds of jobs come from one shell. In the specification only the key
 * stays. */
static int store_env(struct reading *reading, json_t *spec)
{
	json_t *env = json_object_get(spec, "env");
	const char *text;
	int r = 0;

	if (!reading->env || !json_equal(env, reading->env)) {
		json_decref(reading->env);
		reading->env = json_incref(env);
		r = add_blob(reading->batch, env, reading->env_key, &text);
	}
	if (r == 0 && json_object_set_new(spec, "env", json_string(reading->env_key)) < 0)
		r = -ENOMEM;
	return r;
}

static int set_default(json_t *object, const char *name, json_t *value)
{
	json_t *given = json_object_get(object, name);

	if (given && !json_is_null(given)) {
		json_decref(value);
		return 0;
	}
	return json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

/* The specification as it is stored: checked, complete, the environment by its key. */
static int read_spec(struct reading *reading, json_t *spec, const char *where, char key[static 65])
{
	struct berth_batch *batch = reading->batch;
	struct berth_error inner = {0};
	const char *text;
	int r = inherit_env(reading, spec);

	if (r == 0)
		r = set_default(spec, "output", json_string(OUTPUT_DEFAULT));
	if (r == 0)
		r = set_default(spec, "stop_signal", json_integer(STOP_SIGNAL_DEFAULT));
	if (r < 0)
		return r;
	r = berth_jobspec_check(spec, &inner);
	if (r < 0)
		return berth_error_set(reading->err, r, "%s%s", where, inner.text);
	r = store_env(reading, spec);
	if (r == 0)
		r = add_blob(batch, spec, key, &text);
	if (r == 0 && reading->spec_text && strcmp(reading->spec_text, text) == 0)
		free((void *)(uintptr_t)batch->blobs[--batch->n_blobs].body);
	else if (r == 0)
		reading->spec_text = text;
	return r;
}

/* A job without a name is called after its command. */
static const char *default_name(json_t *spec)
{
	const char *command = json_string_value(json_array_get(json_object_get(spec, "argv"), 0));
	const char *slash = command ? strrchr(command, '/') : NULL;
	const char *name = slash && slash[1] ? slash + 1 : command;

	return name && name[0] && strlen(name) <= 128 ? name : "script";
}

static int read_job(struct reading *reading, size_t i, json_t *object)
{
	struct berth_batch *batch = reading->batch;
	struct berth_fact *fact = &batch->facts[i];
	struct berth_ask ask = berth_ask_default(reading->host);
	json_t *spec = json_object_get(object, "spec");
	char path[32];
	char where[48] = "";
	int r;

	if (berth_batch_where(batch, i, path))
		(void)snprintf(where, sizeof(where), "%s.", path);
	if (!json_is_object(object))
		return berth_error_set(reading->err, -EINVAL, "%s must be an object", path);
	r = berth_ask_parse(object, false, where, reading->now_ms, &ask, reading->err);
	if (r < 0)
		return r;
	if (!json_is_object(spec))
		return berth_error_set(reading->err, -EINVAL,
		                       "%sspec must be an object: what to run, where, with which environment", where);
	if (!berth_ask_is_within(&ask, reading->host->max_limit_ms, reading->err))
		return -ERANGE;
	(void)snprintf(where + strlen(where), sizeof(where) - strlen(where), "spec.");
	r = read_spec(reading, spec, where, batch->specs[i]);
	if (r < 0)
		return r;
	berth_fact_init(fact, BERTH_FACT_JOB_SUBMITTED);
	fact->u.submit = (struct berth_fact_submit){.uid = reading->uid,
	                                            .user = reading->user,
	                                            .name = ask.name[0] ? ask.name : default_name(spec),
	                                            .spec = batch->specs[i],
	                                            .request = ask.request,
	                                            .tier = ask.tier,
	                                            .is_held = ask.is_held,
	                                            .begin_ms = ask.begin_ms,
	                                            .grace_ms = ask.grace_ms,
	                                            .requeue_max = ask.requeue_max};
	return 0;
}

static int make_room(struct berth_batch *batch)
{
	batch->facts = calloc(batch->n, sizeof(*batch->facts));
	batch->specs = calloc(batch->n, sizeof(*batch->specs));
	batch->blobs = calloc(2 * batch->n, sizeof(*batch->blobs));
	return batch->facts && batch->specs && batch->blobs ? 0 : -ENOMEM;
}

static int read_jobs(struct reading *reading)
{
	struct berth_batch *batch = reading->batch;
	int r = make_room(batch);

	for (size_t i = 0; r == 0 && i < batch->n; i++)
		r = read_job(reading, i, batch->is_array ? json_array_get(batch->root, i) : batch->root);
	return r;
}

int berth_batch_read(const struct berth_api_host *host, json_t *root, uid_t uid, const char *user,
                     struct berth_batch *ret, struct berth_error *err)
{
	struct berth_batch batch = {.root = root, .is_array = json_is_array(root)};
	struct reading reading = {
		.host = host, .batch = &batch, .uid = uid, .user = user, .now_ms = host->now_ms(host->arg), .err = err};
	int r;

	batch.n = batch.is_array ? json_array_size(root) : 1;
	if (batch.n == 0)
		r = berth_error_set(err, -EINVAL, "the array holds no job");
	else if (batch.n > BERTH_BATCH_MAX)
		r = berth_error_set(err, -ERANGE, "%zu jobs at once are more than the %u that one submission may hold",
		                    batch.n, BERTH_BATCH_MAX);
	else
		r = read_jobs(&reading);
	json_decref(reading.env);
	if (r < 0) {
		berth_batch_fini(&batch);
		return r;
	}
	*ret = batch;
	return 0;
}
