#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "store/shelf_test.h"

int shelf_set_up(void **state)
{
	struct shelf *shelf = calloc(1, sizeof(*shelf));
	struct berth_error err = {0};

	assert_non_null(shelf);
	/* In memory where that can be: nothing here asks how fast or how durable the disk is. */
	(void)snprintf(shelf->dir, sizeof(shelf->dir), "%s/berth-store-XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(shelf->dir));
	shelf->at_ms = 1000000;
	*state = shelf;
	if (berth_store_open(shelf->dir, &shelf->store, &err) == 0)
		return 0;
	/* cmocka tears down nothing whose set-up failed */
	print_error("%s\n", err.text);
	(void)shelf_tear_down(state);
	return -1;
}

int shelf_tear_down(void **state)
{
	struct shelf *shelf = *state;

	shelf_close(shelf);
	assert_int_equal(berth_dir_remove(shelf->dir), 0);
	free(shelf);
	return 0;
}

void shelf_open(struct shelf *shelf)
{
	struct berth_error err = {0};

	assert_null(shelf->store);
	if (berth_store_open(shelf->dir, &shelf->store, &err) < 0)
		fail_msg("%s", err.text);
}

void shelf_close(struct shelf *shelf)
{
	berth_store_close(shelf->store);
	shelf->store = NULL;
}

const char *shelf_path(struct shelf *shelf, const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", shelf->dir, name);
	return path;
}

int shelf_commit(struct shelf *shelf, const struct berth_transaction *tx)
{
	struct pollfd fd = {.fd = berth_store_fd(shelf->store), .events = POLLIN};
	struct berth_error err = {0};
	int result = 1;

	assert_int_equal(berth_store_commit(shelf->store, tx), 0);
	assert_int_equal(poll(&fd, 1, 20000), 1);
	assert_int_equal(berth_store_take(shelf->store, &result, &err), 1);
	assert_int_equal(err.code, result);
	if (result == 0)
		shelf->seq += tx->n_facts;
	return result;
}

struct berth_fact shelf_fact(struct shelf *shelf, const char *name)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.seq = shelf->seq + 1;
	fact.at_ms = shelf->at_ms;
	fact.u.submit.job = shelf->seq + 1;
	fact.u.submit.uid = 1000;
	fact.u.submit.user = "lin";
	fact.u.submit.name = name;
	fact.u.submit.request.gpus = 1;
	fact.u.submit.request.limit_ms = UINT64_MAX;
	return fact;
}

void shelf_submit(struct shelf *shelf, uint32_t n)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	struct berth_fact *facts = berth_arena_alloc(&arena, n * sizeof(*facts));
	const struct berth_transaction tx = {.facts = facts, .n_facts = n};

	for (uint32_t i = 0; i < n; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "job %" PRIu64, shelf->seq + 1 + i);
		facts[i] = shelf_fact(shelf, berth_arena_strdup(&arena, name));
		facts[i].seq += i;
		facts[i].u.submit.job += i;
	}
	assert_int_equal(shelf_commit(shelf, &tx), 0);
}

static void wait_for_snapshot(struct shelf *shelf)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 10000 && berth_store_is_snapshotting(shelf->store); i++)
		(void)nanosleep(&pause, NULL);
	assert_false(berth_store_is_snapshotting(shelf->store));
	assert_int_equal(berth_store_snapshot_seq(shelf->store), shelf->seq);
}

void shelf_snapshot(struct shelf *shelf, uint32_t n, const char *spec)
{
	struct berth_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	snapshot->facts = berth_arena_alloc(&snapshot->arena, n * sizeof(*snapshot->facts));
	snapshot->seq = shelf->seq;
	snapshot->at_ms = shelf->at_ms;
	for (uint32_t i = 0; i < n; i++) {
		struct berth_fact *fact = &snapshot->facts[snapshot->n++];

		berth_fact_init(fact, BERTH_FACT_JOB_IMAGE);
		fact->u.image.id = i + 1;
		fact->u.image.state = BERTH_JOB_PENDING;
		fact->u.image.asked.spec = berth_arena_strdup(&snapshot->arena, spec);
	}
	assert_int_equal(berth_store_snapshot(shelf->store, snapshot), 0);
	wait_for_snapshot(shelf);
}

static sqlite3 *connect(struct shelf *shelf)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open_v2(shelf_path(shelf, "berth.db"), &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
	return db;
}

int64_t shelf_number(struct shelf *shelf, const char *sql)
{
	sqlite3 *db = connect(shelf);
	sqlite3_stmt *stmt = NULL;
	int64_t number;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	(void)sqlite3_finalize(stmt);
	(void)sqlite3_close(db);
	return number;
}

void shelf_await(struct shelf *shelf, const char *sql, int64_t number)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	for (int i = 0; i < 5000 && shelf_number(shelf, sql) != number; i++)
		(void)nanosleep(&pause, NULL);
	assert_int_equal(shelf_number(shelf, sql), number);
}

void shelf_sql(struct shelf *shelf, const char *sql)
{
	sqlite3 *db;

	assert_null(shelf->store);
	db = connect(shelf);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	(void)sqlite3_close(db);
}

/* --- content --------------------------------------------------------------------------------------------- */

struct sum {
	struct shelf *shelf;
	uint64_t hash;
};

static void add_text(struct sum *sum, const char *text)
{
	sum->hash = berth_hash_bytes(sum->hash, text, strlen(text) + 1);
}

static void add_spec(struct sum *sum, const char *key)
{
	void *body = NULL;
	size_t n = 0;
	int r = berth_store_blob(sum->shelf->store, key, &body, &n);

	sum->hash = r == 0 ? berth_hash_bytes(sum->hash, body, n) : berth_hash_u64(sum->hash - 1);
	free(body);
}

static int add_fact(void *arg, const struct berth_fact *fact)
{
	struct sum *sum = arg;
	char *json = berth_fact_to_json(fact);

	sum->hash = berth_hash_bytes(sum->hash, &fact->seq, sizeof(fact->seq));
	sum->hash = berth_hash_bytes(sum->hash, &fact->at_ms, sizeof(fact->at_ms));
	add_text(sum, json);
	if (fact->kind == BERTH_FACT_JOB_SUBMITTED && *fact->u.submit.spec)
		add_spec(sum, fact->u.submit.spec);
	free(json);
	return 0;
}

static int add_history(void *arg, uint64_t job, const char *json)
{
	struct sum *sum = arg;

	sum->hash = berth_hash_bytes(sum->hash, &job, sizeof(job));
	add_text(sum, json);
	return 0;
}

uint64_t shelf_content(struct shelf *shelf)
{
	const struct berth_history_query all = {.limit = 100000};
	struct sum sum = {shelf, BERTH_HASH_SEED};
	uint64_t first = 0;
	uint32_t n = 0;
	char *setting = NULL;

	assert_int_equal(berth_store_load(shelf->store, add_fact, &sum, NULL), 0);
	assert_int_equal(berth_store_history(shelf->store, &all, add_history, &sum, NULL), 0);
	if (berth_store_setting_get(shelf->store, "secret", &setting) == 0)
		add_text(&sum, setting);
	if (berth_store_submission(shelf->store, 1000, "key", &first, &n) == 1)
		sum.hash = berth_hash_u64(sum.hash ^ first ^ (uint64_t)n << 32);
	free(setting);
	return sum.hash;
}
