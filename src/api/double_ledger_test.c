#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include "api/double_test.h"

#define POSTS_MAX 64
#define ROWS_MAX 64
#define SUBMISSIONS_MAX 64
#define BLOBS_MAX 30000

struct post {
	struct berth_fact *facts;
	size_t n;
	char key[136];
	uint32_t uid;
	berth_ledger_done *done;
	void *done_arg;
};
struct row {
	uint64_t job;
	char *user, *state, *json;
};
struct sent {
	uint32_t uid, n;
	char key[136];
	uint64_t first;
};
struct blob {
	char key[65];
	char *body;
	size_t len;
};

/* Store and ledger are one here. */
struct berth_ledger {
	struct berth_ledger_host host;
	struct berth_double_ledger_knobs knobs;
	struct berth_core *core;
	struct berth_arena arena; /* strings of posts */
	uint64_t seq;
	int fd;
	struct post post[POSTS_MAX];
	size_t n_posts;
	struct row row[ROWS_MAX];
	size_t n_rows;
	struct sent sent[SUBMISSIONS_MAX];
	size_t n_sent;
	struct blob *blob;
	size_t n_blobs;
	char *setting;
};

static struct berth_ledger *of(const struct berth_store *store)
{
	return (struct berth_ledger *)(uintptr_t)store;
}

struct berth_double_ledger_knobs *berth_double_knobs(struct berth_ledger *ledger)
{
	return &ledger->knobs;
}

int berth_ledger_open(const char *dir, const struct berth_ledger_host *host, struct berth_ledger **ret,
                      struct berth_error *err)
{
	struct berth_ledger *ledger = calloc(1, sizeof(*ledger));

	assert(ledger);
	ledger->host = *host;
	ledger->core = berth_core_new();
	ledger->blob = calloc(BLOBS_MAX, sizeof(*ledger->blob));
	ledger->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert(ledger->core && ledger->blob && ledger->fd >= 0);
	*ret = ledger;
	return 0;
}

void berth_ledger_close(struct berth_ledger *ledger)
{
	for (size_t i = 0; i < ledger->n_posts; i++)
		if (ledger->post[i].done)
			ledger->post[i].done(ledger->post[i].done_arg, -ECANCELED, ledger->post[i].facts,
			                     ledger->post[i].n);
	for (size_t i = 0; i < ledger->n_rows; i++) {
		free(ledger->row[i].user);
		free(ledger->row[i].state);
		free(ledger->row[i].json);
	}
	for (size_t i = 0; i < ledger->n_blobs; i++)
		free(ledger->blob[i].body);
	free(ledger->blob);
	berth_core_free(ledger->core);
	berth_arena_fini(&ledger->arena);
	close(ledger->fd);
	free(ledger->setting);
	free(ledger);
}

struct berth_core *berth_ledger_core(struct berth_ledger *ledger)
{
	return ledger->core;
}

struct berth_store *berth_ledger_store(struct berth_ledger *ledger)
{
	return (struct berth_store *)ledger;
}

/* Strings of the fact, by its shape. */
static void copy_strings(struct berth_ledger *ledger, struct berth_fact *fact)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);

	for (const struct berth_field *f = shape->fields; f->type != BERTH_FIELD_END; f++)
		if (f->type == BERTH_FIELD_STR) {
			const char **at = (const char **)(void *)((char *)fact + f->offset);

			*at = berth_arena_strdup(&ledger->arena, *at);
			assert(*at);
		}
}

static void keep_blob(struct berth_ledger *ledger, const struct berth_blob *blob)
{
	struct blob *slot = &ledger->blob[ledger->n_blobs];

	for (size_t i = 0; i < ledger->n_blobs; i++)
		if (strcmp(ledger->blob[i].key, blob->key) == 0)
			return;
	assert(ledger->n_blobs < BLOBS_MAX);
	memcpy(slot->key, blob->key, sizeof(slot->key));
	slot->body = strndup(blob->body, blob->len);
	slot->len = blob->len;
	ledger->n_blobs++;
}

int berth_ledger_post(struct berth_ledger *ledger, const struct berth_post *post)
{
	struct post *slot = &ledger->post[ledger->n_posts];

	assert(ledger->n_posts < POSTS_MAX);
	*slot = (struct post){.n = post->n_facts, .done = post->done, .done_arg = post->done_arg};
	slot->facts = berth_arena_memdup(&ledger->arena, post->facts, post->n_facts * sizeof(*post->facts));
	assert(slot->facts);
	for (size_t i = 0; i < slot->n; i++)
		copy_strings(ledger, &slot->facts[i]);
	for (size_t i = 0; i < post->n_blobs && ledger->knobs.result == 0; i++)
		keep_blob(ledger, &post->blobs[i]);
	if (post->submission) {
		assert(strlen(post->submission->key) < sizeof(slot->key));
		memcpy(slot->key, post->submission->key, strlen(post->submission->key));
		slot->uid = post->submission->uid;
	}
	ledger->n_posts++;
	assert(eventfd_write(ledger->fd, 1) == 0);
	return 0;
}

int berth_ledger_submission_pending(const struct berth_ledger *ledger, uint32_t uid, const char *key)
{
	for (size_t i = 0; i < ledger->n_posts; i++)
		if (ledger->post[i].uid == uid && strcmp(ledger->post[i].key, key) == 0)
			return 1;
	return 0;
}

static void fold(struct berth_ledger *ledger, struct berth_fact *fact)
{
	int r;

	fact->seq = ++ledger->seq;
	fact->at_ms = ledger->host.now_ms(ledger->host.arg);
	if (fact->kind == BERTH_FACT_JOB_SUBMITTED && fact->u.submit.job == 0)
		fact->u.submit.job = berth_core_next_job(ledger->core);
	if (fact->kind == BERTH_FACT_DEVICE_SEEN && fact->u.device.device == 0)
		fact->u.device.device = berth_core_next_device(ledger->core);
	r = berth_core_reserve(ledger->core, fact, 1);
	assert(r == 0);
	r = berth_core_fold(ledger->core, fact);
	assert(r == 0 || r == -ESTALE);
	ledger->host.seen(ledger->host.arg, fact, r);
}

static void decide(struct berth_ledger *ledger)
{
	struct berth_plan plan;
	int r = berth_core_decide(ledger->core, ledger->host.now_ms(ledger->host.arg), &plan);

	assert(r == 0);
	for (size_t i = 0; i < plan.n; i++) {
		struct berth_fact *fact = berth_arena_memdup(&ledger->arena, &plan.facts[i], sizeof(*fact));

		copy_strings(ledger, fact);
		fold(ledger, fact);
		ledger->host.carry_out(ledger->host.arg, fact);
	}
}

static void commit(struct berth_ledger *ledger, struct post *post)
{
	const int result = ledger->knobs.result;

	for (size_t i = 0; i < post->n && result == 0; i++)
		fold(ledger, &post->facts[i]);
	if (result == 0 && post->key[0]) {
		struct sent *sent = &ledger->sent[ledger->n_sent++];

		assert(ledger->n_sent <= SUBMISSIONS_MAX);
		sent->uid = post->uid;
		sent->first = post->facts[0].u.submit.job;
		sent->n = (uint32_t)post->n;
		memcpy(sent->key, post->key, sizeof(sent->key));
	}
	if (post->done)
		post->done(post->done_arg, result, post->facts, post->n);
}

void berth_ledger_dispatch(struct berth_ledger *ledger)
{
	struct post posts[POSTS_MAX];
	const size_t n = ledger->n_posts;
	eventfd_t count;

	if (ledger->knobs.is_held)
		return;
	(void)eventfd_read(ledger->fd, &count);
	memcpy(posts, ledger->post, n * sizeof(posts[0]));
	ledger->n_posts = 0;
	for (size_t i = 0; i < n; i++)
		commit(ledger, &posts[i]);
	decide(ledger);
}

int berth_ledger_fd(const struct berth_ledger *ledger)
{
	return ledger->fd;
}

/* Nothing is ever due: what is posted is written at the next turn of the loop. */
uint64_t berth_ledger_wake_ms(const struct berth_ledger *ledger)
{
	return UINT64_MAX;
}

void berth_ledger_tick(struct berth_ledger *ledger)
{
}

/* --- the store's side ------------------------------------------------------------------------ */

/* Good enough a key for tests: two hashes. */
void berth_blob_make(struct berth_blob *blob, const void *body, size_t len)
{
	uint64_t h = 14695981039346656037u;
	uint64_t g = 88172645463325252u;

	for (size_t i = 0; i < len; i++) {
		h = (h ^ ((const unsigned char *)body)[i]) * 1099511628211u;
		g = g * 31 + ((const unsigned char *)body)[i];
	}
	(void)snprintf(blob->key, sizeof(blob->key), "%016llx%016llx%032x", (unsigned long long)h,
	               (unsigned long long)g, 0);
	blob->body = body;
	blob->len = len;
}

int berth_store_blob(struct berth_store *store, const char *key, void **ret, size_t *ret_len)
{
	const struct berth_ledger *ledger = of(store);

	for (size_t i = 0; i < ledger->n_blobs; i++)
		if (strcmp(ledger->blob[i].key, key) == 0) {
			*ret = strdup(ledger->blob[i].body);
			*ret_len = ledger->blob[i].len;
			return *ret ? 0 : -ENOMEM;
		}
	return -ENOENT;
}

size_t berth_double_blob_count(const struct berth_ledger *ledger)
{
	return ledger->n_blobs;
}

int berth_store_submission(struct berth_store *store, uint32_t uid, const char *key, uint64_t *ret_first,
                           uint32_t *ret_n)
{
	const struct berth_ledger *ledger = of(store);

	for (size_t i = 0; i < ledger->n_sent; i++)
		if (ledger->sent[i].uid == uid && strcmp(ledger->sent[i].key, key) == 0) {
			*ret_first = ledger->sent[i].first;
			*ret_n = ledger->sent[i].n;
			return 1;
		}
	return 0;
}

void berth_double_history_add(struct berth_ledger *ledger, uint64_t job, const char *user, const char *state,
                              const char *json)
{
	assert(ledger->n_rows < ROWS_MAX);
	ledger->row[ledger->n_rows++] = (struct row){job, strdup(user), strdup(state), strdup(json)};
}

int berth_store_history(struct berth_store *store, const struct berth_history_query *query,
                        int (*each)(void *arg, uint64_t job, const char *json), void *arg, struct berth_error *err)
{
	const struct berth_ledger *ledger = of(store);
	size_t given = 0;
	int r = 0;

	for (size_t i = 0; i < ledger->n_rows && given < query->limit && r == 0; i++) {
		const struct row *row = &ledger->row[i];

		if ((query->job && row->job != query->job) || (query->user && strcmp(query->user, row->user) != 0) ||
		    (query->state && strcmp(query->state, row->state) != 0) ||
		    (query->before_job && row->job >= query->before_job))
			continue;
		given++;
		r = each(arg, row->job, row->json);
	}
	return r;
}

int berth_store_setting_get(struct berth_store *store, const char *name, char **ret)
{
	const struct berth_ledger *ledger = of(store);

	if (!ledger->setting)
		return -ENOENT;
	*ret = strdup(ledger->setting);
	return *ret ? 0 : -ENOMEM;
}

int berth_store_setting_put(struct berth_store *store, const char *name, const char *value)
{
	free(of(store)->setting);
	of(store)->setting = strdup(value);
	return 0;
}
