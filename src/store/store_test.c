#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "store/faulty_test.h"
#include "store/shelf_test.h"

/* --- facts ----------------------------------------------------------------------------------------------- */

struct loaded {
	uint64_t first_seq, last_seq, first_ms;
	size_t n, n_images;
	char name[64];
	int stop_at;
};

static int note_fact(void *arg, const struct berth_fact *fact)
{
	struct loaded *loaded = arg;

	if (loaded->n == 0) {
		loaded->first_seq = fact->seq;
		loaded->first_ms = fact->at_ms;
	}
	loaded->last_seq = fact->seq;
	loaded->n++;
	if (fact->kind == BERTH_FACT_JOB_IMAGE)
		loaded->n_images++;
	else
		(void)snprintf(loaded->name, sizeof(loaded->name), "%s", fact->u.submit.name);
	return loaded->stop_at && loaded->n == (size_t)loaded->stop_at ? 77 : 0;
}

static struct loaded load(struct shelf *shelf)
{
	struct loaded loaded = {0};
	struct berth_error err = {0};

	if (berth_store_load(shelf->store, note_fact, &loaded, &err) < 0)
		fail_msg("%s", err.text);
	return loaded;
}

static void test_a_new_store_is_empty_and_private(void **state)
{
	struct shelf *shelf = *state;
	struct stat st;

	assert_int_equal(load(shelf).n, 0);
	assert_int_equal(stat(shelf_path(shelf, "berth.db"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(shelf_path(shelf, "berth.db-wal"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 4 << 20); /* written beforehand: a flush of a file that grows costs more */
	assert_int_equal(shelf_number(shelf, "PRAGMA user_version"), 1);
}

static void test_facts_come_back_in_order_with_their_strings(void **state)
{
	struct shelf *shelf = *state;
	struct loaded loaded;

	shelf_submit(shelf, 3);
	shelf->at_ms += 5;
	shelf_submit(shelf, 100);
	shelf_close(shelf);
	shelf_open(shelf);
	loaded = load(shelf);
	assert_int_equal(loaded.n, 103);
	assert_int_equal(loaded.first_seq, 1);
	assert_int_equal(loaded.first_ms, 1000000);
	assert_int_equal(loaded.last_seq, 103);
	assert_string_equal(loaded.name, "job 103");
	shelf_submit(shelf, 1); /* and it goes on from there */
}

static void test_loading_ends_when_told(void **state)
{
	struct shelf *shelf = *state;
	struct loaded loaded = {.stop_at = 2};

	shelf_submit(shelf, 3);
	assert_int_equal(berth_store_load(shelf->store, note_fact, &loaded, NULL), 77);
	assert_int_equal(loaded.n, 2);
}

static void test_one_transaction_at_a_time(void **state)
{
	struct shelf *shelf = *state;
	const struct berth_transaction empty = {0};
	struct berth_error err;
	int result = 1;

	assert_false(berth_store_is_busy(shelf->store));
	assert_int_equal(berth_store_take(shelf->store, &result, &err), 0);
	assert_int_equal(berth_store_commit(shelf->store, &empty), 0);
	assert_int_equal(berth_store_commit(shelf->store, &empty), -EBUSY);
	assert_int_equal(berth_store_setting_put(shelf->store, "a", "b"), -EBUSY);
	berth_store_wait(shelf->store);
	assert_true(berth_store_is_busy(shelf->store)); /* decided, but not taken */
	assert_int_equal(berth_store_take(shelf->store, &result, &err), 1);
	assert_int_equal(result, 0);
	assert_false(berth_store_is_busy(shelf->store));
	assert_int_equal(berth_store_take(shelf->store, &result, &err), 0);
}

static void test_numbers_must_follow_the_journal(void **state)
{
	struct shelf *shelf = *state;
	struct berth_fact fact = shelf_fact(shelf, "gap");
	const struct berth_transaction tx = {.facts = &fact, .n_facts = 1};

	fact.seq = 2;
	assert_int_equal(shelf_commit(shelf, &tx), -EINVAL);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM journal"), 0);
}

/* --- one opener ------------------------------------------------------------------------------------------ */

static void test_a_second_opener_is_told_who_is_there(void **state)
{
	struct shelf *shelf = *state;
	struct berth_store *second = NULL;
	struct berth_error err = {0};
	char pid[16];

	assert_int_equal(berth_store_open(shelf->dir, &second, &err), -EBUSY);
	assert_null(second);
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_non_null(strstr(err.text, pid));
	assert_non_null(strstr(err.text, shelf->dir));
	shelf_close(shelf);
	shelf_open(shelf);
}

static void test_what_is_no_database_is_refused(void **state)
{
	struct shelf *shelf = *state;
	struct berth_store *store = NULL;
	struct berth_error err = {0};
	FILE *file;

	shelf_close(shelf);
	file = fopen(shelf_path(shelf, "berth.db"), "w");
	for (int i = 0; i < 1000; i++)
		assert_true(fprintf(file, "not a database %d\n", i) > 0);
	(void)fclose(file);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "berth.db"));
	assert_int_equal(unlink(shelf_path(shelf, "berth.db")), 0);
	assert_int_equal(mkdir(shelf_path(shelf, "berth.db"), 0700), 0);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EISDIR);
	assert_int_equal(rmdir(shelf_path(shelf, "berth.db")), 0);
	assert_int_equal(symlink("/etc/passwd", shelf_path(shelf, "berth.db")), 0);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -ELOOP);
}

/* --- specifications, submissions, settings --------------------------------------------------------------- */

static void put_blob(struct shelf *shelf, const void *body, size_t n, struct berth_blob *ret)
{
	const struct berth_transaction tx = {.blobs = ret, .n_blobs = 1};

	berth_blob_make(ret, body, n);
	assert_int_equal(shelf_commit(shelf, &tx), 0);
}

static void test_a_specification_is_kept_once_under_its_hash(void **state)
{
	struct shelf *shelf = *state;
	struct berth_blob blob, empty;
	char *body = NULL;
	size_t n = 99;

	put_blob(shelf, "argv\0env", 8, &blob);
	put_blob(shelf, "argv\0env", 8, &blob);
	put_blob(shelf, "", 0, &empty);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM spec"), 2);
	assert_int_equal(berth_store_blob(shelf->store, blob.key, (void **)&body, &n), 0);
	assert_int_equal(n, 8);
	assert_memory_equal(body, "argv\0env", 8);
	free(body);
	assert_int_equal(berth_store_blob(shelf->store, empty.key, (void **)&body, &n), 0);
	assert_int_equal(n, 0);
	free(body);
	blob.key[0] = blob.key[0] == '0' ? '1' : '0';
	assert_int_equal(berth_store_blob(shelf->store, blob.key, (void **)&body, &n), -ENOENT);
	assert_int_equal(berth_store_blob(shelf->store, "nonsense", (void **)&body, &n), -ENOENT);
}

static void test_a_key_that_is_not_of_its_body_is_refused(void **state)
{
	struct shelf *shelf = *state;
	struct berth_blob blob;
	const struct berth_transaction tx = {.blobs = &blob, .n_blobs = 1};

	berth_blob_make(&blob, "body", 4);
	blob.body = "bodi";
	assert_int_equal(shelf_commit(shelf, &tx), -EINVAL);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM spec"), 0);
}

static void test_a_submission_is_found_by_user_and_key(void **state)
{
	struct shelf *shelf = *state;
	const struct berth_submission given[] = {{1000, "key-1", 5, 10, 1000000}, {1001, "key-1", 15, 1, 1000000}};
	const struct berth_submission again = {1000, "key-1", 77, 1, 1000001};
	const struct berth_transaction tx = {.submissions = given, .n_submissions = 2};
	const struct berth_transaction retry = {.submissions = &again, .n_submissions = 1};
	uint64_t first = 0;
	uint32_t n = 0;

	assert_int_equal(shelf_commit(shelf, &tx), 0);
	assert_int_equal(shelf_commit(shelf, &retry), 0);
	assert_int_equal(berth_store_submission(shelf->store, 1000, "key-1", &first, &n), 1);
	assert_int_equal(first, 5);
	assert_int_equal(n, 10);
	assert_int_equal(berth_store_submission(shelf->store, 1001, "key-1", &first, &n), 1);
	assert_int_equal(first, 15);
	assert_int_equal(berth_store_submission(shelf->store, 1000, "key-2", &first, &n), 0);
	assert_int_equal(berth_store_submission(shelf->store, 1002, "key-1", &first, &n), 0);
}

static void test_settings_last_and_can_be_changed(void **state)
{
	struct shelf *shelf = *state;
	char *value = NULL;

	assert_int_equal(berth_store_setting_get(shelf->store, "secret", &value), -ENOENT);
	assert_int_equal(berth_store_setting_put(shelf->store, "secret", "one"), 0);
	assert_int_equal(berth_store_setting_put(shelf->store, "secret", "two"), 0);
	shelf_close(shelf);
	shelf_open(shelf);
	assert_int_equal(berth_store_setting_get(shelf->store, "secret", &value), 0);
	assert_string_equal(value, "two");
	free(value);
}

/* --- history --------------------------------------------------------------------------------------------- */

static int collect(void *arg, uint64_t job, const char *json)
{
	char *text = arg, expected[32];

	(void)snprintf(expected, sizeof(expected), "{\"id\":%" PRIu64 "}", job);
	assert_string_equal(json, expected);
	(void)snprintf(text + strlen(text), 64 - strlen(text), "%" PRIu64 " ", job);
	return job == 100 ? 5 : 0;
}

static void put_history(struct shelf *shelf, uint64_t job, const char *user, const char *state, uint64_t end_ms)
{
	char json[32];
	const struct berth_history_row row = {job, 1000, user, "name", state, 1, end_ms ? 2 : 0, end_ms, json};
	const struct berth_transaction tx = {.history = &row, .n_history = 1};

	(void)snprintf(json, sizeof(json), "{\"id\":%" PRIu64 "}", job);
	assert_int_equal(shelf_commit(shelf, &tx), 0);
}

static void assert_query(struct shelf *shelf, struct berth_history_query query, const char *expected)
{
	char found[64] = "";
	struct berth_error err = {0};

	query.limit = query.limit ? query.limit : 100;
	if (berth_store_history(shelf->store, &query, collect, found, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(found, expected);
}

static void test_history_is_found_by_each_condition_and_paged(void **state)
{
	struct shelf *shelf = *state;
	char found[64] = "";
	const struct berth_history_query all = {.limit = 100};

	put_history(shelf, 1, "lin", "COMPLETED", 100);
	put_history(shelf, 2, "ann", "FAILED", 300);
	put_history(shelf, 3, "lin", "FAILED", 200);
	put_history(shelf, 4, "x' OR '1'='1", "COMPLETED", 400);
	assert_query(shelf, all, "4 3 2 1 ");
	assert_query(shelf, (struct berth_history_query){.job = 3}, "3 ");
	assert_query(shelf, (struct berth_history_query){.job = 9}, "");
	assert_query(shelf, (struct berth_history_query){.user = "lin"}, "3 1 ");
	assert_query(shelf, (struct berth_history_query){.user = "x' OR '1'='1"}, "4 ");
	assert_query(shelf, (struct berth_history_query){.state = "FAILED"}, "3 2 ");
	assert_query(shelf, (struct berth_history_query){.since_ms = 200}, "4 3 2 ");
	assert_query(shelf, (struct berth_history_query){.before_job = 3}, "2 1 ");
	assert_query(shelf,
	             (struct berth_history_query){.user = "lin", .state = "FAILED", .since_ms = 1, .before_job = 9},
	             "3 ");
	assert_query(shelf, (struct berth_history_query){.limit = 2}, "4 3 ");
	assert_query(shelf, (struct berth_history_query){.limit = 2, .before_job = 3}, "2 1 ");
	put_history(shelf, 100, "lin", "COMPLETED", 1);
	assert_int_equal(berth_store_history(shelf->store, &all, collect, found, NULL), 5);
	assert_string_equal(found, "100 ");
}

static void test_a_job_has_one_end(void **state)
{
	struct shelf *shelf = *state;
	const struct berth_history_row row = {7, 1000, "lin", "n", "FAILED", 1, 2, 3, "{}"};
	const struct berth_transaction tx = {.history = &row, .n_history = 1};

	assert_int_equal(shelf_commit(shelf, &tx), 0);
	assert_int_equal(shelf_commit(shelf, &tx), -EEXIST);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM history"), 1);
}

/* --- snapshots ------------------------------------------------------------------------------------------- */

static void test_a_snapshot_stands_for_the_journal_before_it(void **state)
{
	struct shelf *shelf = *state;
	struct loaded loaded;

	shelf_submit(shelf, 50);
	shelf->at_ms += 500;
	shelf_submit(shelf, 1);
	shelf_snapshot(shelf, 2500, ""); /* several slices */
	shelf_submit(shelf, 7);
	shelf_close(shelf);
	shelf_open(shelf);
	loaded = load(shelf);
	assert_int_equal(loaded.n_images, 2500);
	assert_int_equal(loaded.n, 2507);
	assert_int_equal(loaded.first_seq, 51);
	assert_int_equal(loaded.first_ms, 1000500);
	assert_int_equal(loaded.last_seq, 58);
}

static void test_the_last_two_snapshots_and_the_journal_from_the_elder_stay(void **state)
{
	struct shelf *shelf = *state;

	shelf_submit(shelf, 10);
	shelf_snapshot(shelf, 10, "");
	shelf_submit(shelf, 10);
	shelf_snapshot(shelf, 20, "");
	shelf_await(shelf, "SELECT min(seq) FROM journal", 11);
	shelf_submit(shelf, 10);
	shelf_snapshot(shelf, 30, "");
	shelf_await(shelf, "SELECT min(seq) FROM journal", 21);
	shelf_await(shelf, "SELECT count(*) FROM snapshot", 2);
	shelf_await(shelf, "SELECT count(*) FROM snapshot_fact", 50);
	shelf_close(shelf);
	shelf_open(shelf); /* the chain is checked from the elder one on */
	assert_int_equal(load(shelf).n_images, 30);
}

static void test_a_snapshot_that_was_not_finished_counts_for_nothing(void **state)
{
	struct shelf *shelf = *state;

	shelf_submit(shelf, 10);
	shelf_snapshot(shelf, 5, "");
	shelf_close(shelf);
	shelf_sql(shelf, "INSERT INTO snapshot_fact SELECT id + 1000, kind, body, seal FROM snapshot_fact");
	shelf_open(shelf);
	assert_int_equal(load(shelf).n_images, 5);
	shelf_await(shelf, "SELECT count(*) FROM snapshot_fact", 5);
	shelf_submit(shelf, 1);
	shelf_snapshot(shelf, 6, "");
	shelf_await(shelf, "SELECT count(*) FROM snapshot_fact", 11);
}

static void test_a_snapshot_of_another_moment_is_refused(void **state)
{
	struct shelf *shelf = *state;
	struct berth_snapshot *late = calloc(1, sizeof(*late)), *early = calloc(1, sizeof(*early));
	const struct berth_transaction empty = {0};
	struct berth_error err;
	int result;

	shelf_submit(shelf, 2);
	late->seq = 3;
	assert_int_equal(berth_store_snapshot(shelf->store, late), -EINVAL);
	early->seq = 2;
	assert_int_equal(berth_store_commit(shelf->store, &empty), 0);
	assert_int_equal(berth_store_snapshot(shelf->store, early), -EBUSY);
	berth_store_wait(shelf->store);
	assert_int_equal(berth_store_take(shelf->store, &result, &err), 1);
}

static void test_specifications_go_when_no_job_names_them(void **state)
{
	struct shelf *shelf = *state;
	struct berth_blob live, dead;

	put_blob(shelf, "live", 4, &live);
	put_blob(shelf, "dead", 4, &dead);
	shelf_submit(shelf, 3);
	shelf_snapshot(shelf, 3, live.key);
	shelf_await(shelf, "SELECT count(*) FROM spec", 1);
	{
		void *body = NULL;
		size_t n;

		assert_int_equal(berth_store_blob(shelf->store, live.key, &body, &n), 0);
		free(body);
	}
	/* one that is asked for again is there again */
	put_blob(shelf, "dead", 4, &dead);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM spec"), 2);
}

static struct berth_snapshot *make_snapshot(struct shelf *shelf, size_t n)
{
	struct berth_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	snapshot->facts = berth_arena_alloc(&snapshot->arena, n * sizeof(*snapshot->facts));
	snapshot->n = n;
	snapshot->seq = shelf->seq;
	snapshot->at_ms = shelf->at_ms;
	for (size_t i = 0; i < n; i++)
		berth_fact_init(&snapshot->facts[i], BERTH_FACT_JOB_IMAGE);
	return snapshot;
}

/* No job of the snapshot names it, but one that was submitted while the snapshot was being written. */
static void test_a_specification_asked_for_during_a_snapshot_stays(void **state)
{
	struct shelf *shelf = *state;
	struct berth_blob again, dead;
	void *body = NULL;
	size_t n;

	put_blob(shelf, "again", 5, &again);
	put_blob(shelf, "dead", 4, &dead);
	shelf_submit(shelf, 1);
	assert_int_equal(berth_store_snapshot(shelf->store, make_snapshot(shelf, 20000)), 0);
	put_blob(shelf, "again", 5, &again);
	shelf_await(shelf, "SELECT count(*) FROM spec", 1);
	assert_int_equal(berth_store_blob(shelf->store, again.key, &body, &n), 0);
	free(body);
}

/* Commits go on while a snapshot is written, none waiting for more than a slice of it, and nothing is lost between. */
static void test_commits_go_on_while_a_snapshot_is_written(void **state)
{
	struct shelf *shelf = *state;
	struct loaded loaded;
	unsigned during = 0;

	shelf_submit(shelf, 10);
	assert_int_equal(berth_store_snapshot(shelf->store, make_snapshot(shelf, 20000)), 0);
	while (berth_store_is_snapshotting(shelf->store)) {
		shelf_submit(shelf, 1);
		during++;
	}
	/* A slice has 1,000 facts, and between two of them stands at most one transaction. */
	assert_in_range(during, 1, 22);
	assert_int_equal(berth_store_snapshot_seq(shelf->store), 10);
	shelf_close(shelf);
	shelf_open(shelf);
	loaded = load(shelf);
	assert_int_equal(loaded.n_images, 20000);
	assert_int_equal(loaded.n - loaded.n_images, during);
}

static void test_a_snapshot_cut_off_by_closing_is_swept_up_later(void **state)
{
	struct shelf *shelf = *state;

	shelf_submit(shelf, 10);
	assert_int_equal(berth_store_snapshot(shelf->store, make_snapshot(shelf, 20000)), 0);
	shelf_submit(shelf, 1);
	shelf_close(shelf);
	shelf_open(shelf);
	assert_int_equal(berth_store_snapshot_seq(shelf->store), 0);
	assert_int_equal(load(shelf).n, 11);
	shelf_await(shelf, "SELECT count(*) FROM snapshot_fact", 0);
	shelf_snapshot(shelf, 3, "");
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM snapshot_fact"), 3);
}

static void test_a_snapshot_of_the_same_moment_is_not_written_twice(void **state)
{
	struct shelf *shelf = *state;

	shelf_submit(shelf, 10);
	shelf_snapshot(shelf, 3, "");
	assert_int_equal(berth_store_snapshot(shelf->store, make_snapshot(shelf, 3)), 0);
	assert_false(berth_store_is_snapshotting(shelf->store));
	shelf_submit(shelf, 1);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM snapshot"), 1);
}

static void test_old_submission_keys_go_with_a_snapshot(void **state)
{
	struct shelf *shelf = *state;
	const uint64_t now_ms = 30 * UINT64_C(86400000);
	const struct berth_submission given[] = {{1000, "old", 1, 1, now_ms - BERTH_SUBMISSION_KEPT_MS - 1},
	                                         {1000, "new", 2, 1, now_ms - BERTH_SUBMISSION_KEPT_MS + 1}};
	const struct berth_transaction tx = {.submissions = given, .n_submissions = 2};
	uint64_t first = 0;
	uint32_t n = 0;

	shelf->at_ms = now_ms;
	assert_int_equal(shelf_commit(shelf, &tx), 0);
	shelf_submit(shelf, 1);
	shelf_snapshot(shelf, 1, "");
	shelf_await(shelf, "SELECT count(*) FROM submission", 1);
	assert_int_equal(berth_store_submission(shelf->store, 1000, "new", &first, &n), 1);
}

/* --- a disk that fails ----------------------------------------------------------------------------------- */

static void test_a_full_disk_refuses_and_recovers_by_itself(void **state)
{
	struct shelf *shelf = *state;
	struct berth_fact fact;
	const struct berth_transaction tx = {.facts = &fact, .n_facts = 1}, empty = {0};

	shelf_submit(shelf, 5);
	faulty_set_full(true);
	fact = shelf_fact(shelf, "no room");
	assert_int_equal(shelf_commit(shelf, &tx), -ENOSPC);
	assert_int_equal(shelf_commit(shelf, &tx), -ENOSPC);
	assert_int_equal(shelf_commit(shelf, &empty), -ENOSPC);
	faulty_set_full(false);
	assert_int_equal(shelf_commit(shelf, &empty), 0);
	assert_int_equal(shelf_commit(shelf, &tx), 0);
	shelf_close(shelf);
	shelf_open(shelf);
	assert_int_equal(load(shelf).n, 6);
}

/* A file system of 6 MiB in a mount namespace of our own; false when we may not. */
static bool mount_small_disk(const char *dir)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("small", dir, "tmpfs", 0, "size=6m,mode=0700") == 0;
}

/* The same on a file system that really runs full, under the log, its index and the database alike. */
static void test_a_file_system_that_runs_full(void **state)
{
	struct shelf *shelf = *state;
	struct berth_fact fact;
	const struct berth_transaction tx = {.facts = &fact, .n_facts = 1}, empty = {0};
	char name[60000];
	int r = 0;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	shelf_close(shelf);
	if (!mount_small_disk(shelf->dir)) {
		print_message("no mount namespace of our own: skipped\n");
		skip();
	}
	shelf_open(shelf);
	for (int i = 0; i < 200 && r == 0; i++) {
		fact = shelf_fact(shelf, name);
		r = shelf_commit(shelf, &tx);
	}
	assert_int_equal(r, -ENOSPC);
	assert_true(shelf->seq > 10);
	assert_int_equal(shelf_commit(shelf, &tx), -ENOSPC);
	assert_int_equal(mount(NULL, shelf->dir, NULL, MS_REMOUNT, "size=30m"), 0);
	assert_int_equal(shelf_commit(shelf, &empty), 0);
	fact = shelf_fact(shelf, "there is room again");
	assert_int_equal(shelf_commit(shelf, &tx), 0);
	shelf_close(shelf);
	shelf_open(shelf);
	assert_int_equal(load(shelf).n, shelf->seq);
	shelf_close(shelf);
	assert_int_equal(umount(shelf->dir), 0);
}

static void test_a_snapshot_on_a_full_disk_is_given_up_without_harm(void **state)
{
	struct shelf *shelf = *state;
	const struct timespec pause = {.tv_nsec = 1000000};

	shelf_submit(shelf, 5);
	faulty_set_full(true);
	assert_int_equal(berth_store_snapshot(shelf->store, make_snapshot(shelf, 1)), 0);
	for (int i = 0; i < 5000 && berth_store_is_snapshotting(shelf->store); i++)
		(void)nanosleep(&pause, NULL);
	assert_false(berth_store_is_snapshotting(shelf->store));
	assert_int_equal(berth_store_snapshot_seq(shelf->store), 0);
	faulty_set_full(false);
	shelf_submit(shelf, 5);
	shelf_snapshot(shelf, 10, "");
	shelf_close(shelf);
	shelf_open(shelf);
	assert_int_equal(load(shelf).n_images, 10);
}

static void test_a_lost_flush_poisons_and_is_never_tried_again(void **state)
{
	struct shelf *shelf = *state;
	struct berth_fact fact;
	const struct berth_transaction tx = {.facts = &fact, .n_facts = 1};

	shelf_submit(shelf, 5);
	fact = shelf_fact(shelf, "lost");
	faulty_set_sync_error(true);
	assert_int_equal(shelf_commit(shelf, &tx), -EIO);
	assert_int_equal(faulty_failed_syncs(), 1);
	faulty_set_sync_error(false);
	assert_int_equal(shelf_commit(shelf, &tx), -EIO);
	assert_int_equal(shelf_commit(shelf, &tx), -EIO);
	assert_int_equal(berth_store_setting_put(shelf->store, "a", "b"), -EIO);
	assert_int_equal(faulty_failed_syncs(), 1);
	shelf_close(shelf);
	shelf_open(shelf); /* the truth is what the disk says now: the fact is there, or it is not */
	assert_in_range(load(shelf).n, 5, 6);
}

static void test_one_flush_per_transaction(void **state)
{
	struct shelf *shelf = *state;
	uint64_t commits = 0, fsyncs = 0, commits_before = 0, fsyncs_before = 0;

	shelf_submit(shelf, 1); /* the first one begins the log */
	berth_store_counts(shelf->store, &commits_before, &fsyncs_before);
	faulty_reset();
	for (int i = 0; i < 50; i++)
		shelf_submit(shelf, 10);
	assert_int_equal(faulty_syncs(), 50);
	berth_store_counts(shelf->store, &commits, &fsyncs);
	assert_int_equal(commits - commits_before, 50);
	assert_int_equal(fsyncs - fsyncs_before, 50);
}

static void test_a_long_log_is_copied_when_nobody_waits_and_flushes_are_counted(void **state)
{
	struct shelf *shelf = *state;
	const struct timespec pause = {.tv_nsec = 5000000};
	uint64_t commits, fsyncs = 0, begun = 0;

	shelf_submit(shelf, 1);
	berth_store_counts(shelf->store, &commits, &begun);
	faulty_reset();
	for (int i = 0; i < 10; i++)
		shelf_submit(shelf, 2000); /* some 1,500 pages */
	for (int i = 0; i < 400 && fsyncs < begun + 12; i++) {
		(void)nanosleep(&pause, NULL);
		berth_store_counts(shelf->store, &commits, &fsyncs);
	}
	assert_int_equal(fsyncs, begun + 12); /* ten transactions, the log, the database */
	shelf_submit(shelf, 1);               /* begins the log anew: its header is flushed too */
	berth_store_counts(shelf->store, &commits, &fsyncs);
	assert_int_equal(fsyncs, begun + 14);
	assert_int_equal(faulty_syncs(), 14);
}

static int set_up(void **state)
{
	faulty_reset();
	return shelf_set_up(state);
}

static int install(void **state)
{
	faulty_install();
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, shelf_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_new_store_is_empty_and_private),
		TEST(test_facts_come_back_in_order_with_their_strings),
		TEST(test_loading_ends_when_told),
		TEST(test_one_transaction_at_a_time),
		TEST(test_numbers_must_follow_the_journal),
		TEST(test_a_second_opener_is_told_who_is_there),
		TEST(test_what_is_no_database_is_refused),
		TEST(test_a_specification_is_kept_once_under_its_hash),
		TEST(test_a_key_that_is_not_of_its_body_is_refused),
		TEST(test_a_submission_is_found_by_user_and_key),
		TEST(test_settings_last_and_can_be_changed),
		TEST(test_history_is_found_by_each_condition_and_paged),
		TEST(test_a_job_has_one_end),
		TEST(test_a_snapshot_stands_for_the_journal_before_it),
		TEST(test_the_last_two_snapshots_and_the_journal_from_the_elder_stay),
		TEST(test_a_snapshot_that_was_not_finished_counts_for_nothing),
		TEST(test_a_snapshot_of_another_moment_is_refused),
		TEST(test_specifications_go_when_no_job_names_them),
		TEST(test_a_specification_asked_for_during_a_snapshot_stays),
		TEST(test_commits_go_on_while_a_snapshot_is_written),
		TEST(test_a_snapshot_cut_off_by_closing_is_swept_up_later),
		TEST(test_a_snapshot_of_the_same_moment_is_not_written_twice),
		TEST(test_old_submission_keys_go_with_a_snapshot),
		TEST(test_a_full_disk_refuses_and_recovers_by_itself),
		TEST(test_a_file_system_that_runs_full),
		TEST(test_a_snapshot_on_a_full_disk_is_given_up_without_harm),
		TEST(test_a_lost_flush_poisons_and_is_never_tried_again),
		TEST(test_one_flush_per_transaction),
		TEST(test_a_long_log_is_copied_when_nobody_waits_and_flushes_are_counted),
	};

	return cmocka_run_group_tests(tests, install, NULL);
}
