/* Damage: bytes changed in the database, a write-ahead log lost, cut or changed. Either the store notices, or what it
 * gives back is exactly what was put in. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "store/shelf_test.h"

#define N_FLIPS 300
#define N_LOGS 80

struct image { /* a file, whole */
	char *bytes;
	size_t n;
};

static struct image read_image(struct shelf *shelf, const char *name)
{
	struct image image = {0};

	assert_int_equal(berth_file_read_at(AT_FDCWD, shelf_path(shelf, name), (size_t)1 << 26, &image.bytes, &image.n),
	                 0);
	return image;
}

static void write_image(struct shelf *shelf, const char *name, const char *bytes, size_t n)
{
	int fd = open(shelf_path(shelf, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(berth_fd_write_all(fd, bytes, n), 0);
	(void)close(fd);
}

/* Some of everything: journal, two snapshots, history, specifications, submissions, a setting; the last part only in
 * the journal. */
static void fill(struct shelf *shelf)
{
	struct berth_blob blobs[20];
	char bodies[20][300];
	struct berth_history_row rows[40];
	const struct berth_submission submission = {1000, "key", 3, 4, 1000000};
	const struct berth_transaction tx = {.blobs = blobs,
	                                     .n_blobs = 20,
	                                     .history = rows,
	                                     .n_history = 40,
	                                     .submissions = &submission,
	                                     .n_submissions = 1};

	for (int i = 0; i < 20; i++) {
		memset(bodies[i], 'a' + i, sizeof(bodies[i]));
		berth_blob_make(&blobs[i], bodies[i], sizeof(bodies[i]));
	}
	for (uint64_t i = 0; i < 40; i++)
		rows[i] = (struct berth_history_row){
			i + 1, 1000, "lin", "train", "COMPLETED", 10, 20, 30 + i, "{\"a\":\"some json\"}"};
	shelf_submit(shelf, 60);
	shelf_snapshot(shelf, 50, "");
	assert_int_equal(shelf_commit(shelf, &tx), 0);
	shelf_submit(shelf, 60);
	shelf_snapshot(shelf, 60, blobs[0].key);
	shelf_await(shelf, "SELECT min(seq) FROM journal", 61);
	shelf_await(shelf, "SELECT count(*) FROM spec", 1);
	assert_int_equal(shelf_commit(shelf, &(struct berth_transaction){.blobs = blobs, .n_blobs = 20}), 0);
	assert_int_equal(berth_store_setting_put(shelf->store, "secret", "an elephant"), 0);
	shelf_submit(shelf, 100);
}

/* Open what lies there: 1 its content is this one, 0 refused as damaged with a place that a person can use. */
static int open_and_compare(struct shelf *shelf, uint64_t content, const char *what, size_t at)
{
	struct berth_error err = {0};
	int r = berth_store_open(shelf->dir, &shelf->store, &err);

	if (r == 0) {
		if (shelf_content(shelf) != content)
			fail_msg("%s %zu: changed content passed unnoticed", what, at);
		shelf_close(shelf);
		return 1;
	}
	if (r != -EBADMSG || !strstr(err.text, "berth.db: "))
		fail_msg("%s %zu: %d: %s", what, at, r, err.text);
	if (!strstr(err.text, "table ") && !strstr(err.text, "page"))
		fail_msg("%s %zu: the message names no place: %s", what, at, err.text);
	return 0;
}

static void forget_side_files(struct shelf *shelf)
{
	(void)unlink(shelf_path(shelf, "berth.db-wal"));
	(void)unlink(shelf_path(shelf, "berth.db-shm"));
}

static uint64_t content_of_closed(struct shelf *shelf)
{
	uint64_t content;

	shelf_open(shelf);
	content = shelf_content(shelf);
	shelf_close(shelf);
	return content;
}

static void test_no_flipped_byte_of_the_database_passes_unnoticed(void **state)
{
	struct shelf *shelf = *state;
	uint64_t seed = 42, content;
	struct image image;
	size_t n_found = 0;

	fill(shelf);
	shelf_close(shelf);
	content = content_of_closed(shelf);
	image = read_image(shelf, "berth.db");
	assert_true(image.n / 4096 > 12); /* every table has a page of its own */
	for (size_t i = 0; i < N_FLIPS; i++) {
		/* every page in turn, and the first bytes of the file and of pages more often: they steer the rest */
		const uint64_t r = berth_hash_u64(seed++);
		const size_t page = i % (image.n / 4096) * 4096;
		const size_t at = page + (r >> 8) % (i % 4 == 0 ? 112 : 4096);
		const char was = image.bytes[at];

		image.bytes[at] ^= (char)(i % 3 == 0 ? 1 + (r >> 40) % 255 : UINT64_C(1) << (r >> 40) % 8);
		write_image(shelf, "berth.db", image.bytes, image.n);
		forget_side_files(shelf);
		n_found += open_and_compare(shelf, content, "byte", at) == 0;
		image.bytes[at] = was;
	}
	/* that most are found shows that the flips hit something */
	assert_in_range(n_found, N_FLIPS / 3, N_FLIPS);
	write_image(shelf, "berth.db", image.bytes, image.n);
	forget_side_files(shelf);
	assert_int_equal(open_and_compare(shelf, content, "nothing", 0), 1);
	free(image.bytes);
}

/* --- the write-ahead log --------------------------------------------------------------------------------- */

struct crash { /* the files as a killed process leaves them */
	struct image db, log, head;
	uint64_t content;
};

/* Copied while the store is open: the database of before, the rest in the log. */
static void crash(struct shelf *shelf, struct crash *ret)
{
	for (int i = 0; i < 8; i++)
		shelf_submit(shelf, 5);
	ret->db = read_image(shelf, "berth.db");
	ret->log = read_image(shelf, "berth.db-wal");
	ret->head = read_image(shelf, "berth.head");
	/* the room written beforehand says nothing */
	while (ret->log.n > 0 && ret->log.bytes[ret->log.n - 1] == '\0')
		ret->log.n--;
	shelf_close(shelf);
	ret->content = content_of_closed(shelf);
}

static void restore(struct shelf *shelf, const struct crash *crash, const char *log, size_t n)
{
	forget_side_files(shelf);
	write_image(shelf, "berth.db", crash->db.bytes, crash->db.n);
	write_image(shelf, "berth.db-wal", log, n);
	write_image(shelf, "berth.head", crash->head.bytes, crash->head.n);
}

static void forget(struct crash *crash)
{
	free(crash->db.bytes);
	free(crash->log.bytes);
	free(crash->head.bytes);
}

static void test_a_log_after_a_crash_is_whole(void **state)
{
	struct shelf *shelf = *state;
	struct crash c;

	crash(shelf, &c);
	restore(shelf, &c, c.log.bytes, c.log.n);
	assert_int_equal(open_and_compare(shelf, c.content, "whole log", 0), 1);
	forget(&c);
}

static void assert_names_missing_row(struct shelf *shelf, const char *row)
{
	struct berth_store *store = NULL;
	struct berth_error err = {0};

	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
	if (!strstr(err.text, row) || !strstr(err.text, "berth.head") || !strstr(err.text, "is missing"))
		fail_msg("%s", err.text);
}

static void test_a_lost_log_is_noticed_by_the_head(void **state)
{
	struct shelf *shelf = *state;
	struct crash c;

	shelf_submit(shelf, 7);
	shelf_close(shelf);
	shelf_open(shelf); /* rows 1 to 7 are in the database */
	crash(shelf, &c);
	restore(shelf, &c, "", 0);
	assert_names_missing_row(shelf, "table journal, row 8 is missing (berth.head knows of row 47)");
	/* going on with it knowingly: then it is an older healthy database */
	assert_int_equal(unlink(shelf_path(shelf, "berth.head")), 0);
	shelf_open(shelf);
	shelf_close(shelf);
	/* the whole database gone */
	forget_side_files(shelf);
	assert_int_equal(unlink(shelf_path(shelf, "berth.db")), 0);
	write_image(shelf, "berth.head", c.head.bytes, c.head.n);
	assert_names_missing_row(shelf, "row 1 is missing");
	forget(&c);
}

static void test_a_cut_or_zeroed_log_is_a_refused_prefix(void **state)
{
	struct shelf *shelf = *state;
	struct crash c;
	struct image log;
	size_t n_refused = 0;

	crash(shelf, &c);
	log.bytes = calloc(1, c.log.n);
	for (size_t i = 0; i < N_LOGS; i++) {
		const size_t at = c.log.n * i / N_LOGS;

		memcpy(log.bytes, c.log.bytes, at);
		memset(log.bytes + at, 0, c.log.n - at);
		restore(shelf, &c, log.bytes, i % 2 ? at : c.log.n);
		n_refused += open_and_compare(shelf, c.content, "cut log", at) == 0;
	}
	assert_int_equal(n_refused, N_LOGS); /* each lacks at least the last transaction */
	free(log.bytes);
	forget(&c);
}

static void test_a_flipped_log_is_a_refused_prefix_or_whole(void **state)
{
	struct shelf *shelf = *state;
	struct crash c;
	size_t n_refused = 0;
	uint64_t seed = 4242;

	crash(shelf, &c);
	for (size_t i = 0; i < N_LOGS; i++) {
		const uint64_t r = berth_hash_u64(seed++);
		const size_t at = (r >> 8) % c.log.n;

		c.log.bytes[at] ^= (char)(1 << (r & 7));
		restore(shelf, &c, c.log.bytes, c.log.n);
		n_refused += open_and_compare(shelf, c.content, "flipped log", at) == 0;
		c.log.bytes[at] ^= (char)(1 << (r & 7));
	}
	assert_in_range(n_refused, N_LOGS / 2, N_LOGS);
	forget(&c);
}

static void test_a_torn_or_older_head_does_no_harm(void **state)
{
	struct shelf *shelf = *state;
	struct image old;

	shelf_submit(shelf, 3);
	old = read_image(shelf, "berth.head");
	shelf_submit(shelf, 3);
	shelf_close(shelf);
	write_image(shelf, "berth.head", old.bytes, old.n);
	shelf_open(shelf);
	shelf_close(shelf);
	write_image(shelf, "berth.head", old.bytes, old.n / 2);
	shelf_open(shelf); /* and is put right */
	shelf_close(shelf);
	free(old.bytes);
	old = read_image(shelf, "berth.head");
	assert_non_null(strstr(old.bytes, "00000000000000000006 "));
	free(old.bytes);
}

static void test_another_database_in_this_place_is_noticed(void **state)
{
	struct shelf *shelf = *state;
	struct berth_store *store = NULL;
	struct berth_error err = {0};
	struct image head;

	shelf_submit(shelf, 5);
	shelf_close(shelf);
	head = read_image(shelf, "berth.head");
	assert_int_equal(unlink(shelf_path(shelf, "berth.head")), 0);
	assert_int_equal(unlink(shelf_path(shelf, "berth.db")), 0);
	shelf->seq = 0;
	shelf->at_ms++;
	shelf_open(shelf);
	shelf_submit(shelf, 9);
	shelf_close(shelf);
	write_image(shelf, "berth.head", head.bytes, head.n);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "table journal, row 5 is not the one"));
	free(head.bytes);
}

/* --- each table by name ---------------------------------------------------------------------------------- */

static void test_every_table_is_named_with_its_row(void **state)
{
	static const struct {
		const char *sql, *word;
	} cases[] = {
		{"UPDATE journal SET body = replace(body, 'job 150', 'job 151') WHERE seq = 150",
	         "table journal, row 150 is damaged"},
		{"UPDATE journal SET at_ms = at_ms + 1 WHERE seq = 150", "table journal, row 150 is damaged"},
		{"UPDATE journal SET kind = 'JobHeld' WHERE seq = 150", "table journal, row 150 is damaged"},
		{"DELETE FROM journal WHERE seq = 150", "table journal, row 150 is missing"},
		{"DELETE FROM journal WHERE seq > 118", "table journal, row 119 is missing"},
		{"DELETE FROM journal WHERE seq = 61", "table journal, row 61 is missing"},
		{"UPDATE journal SET seal = (SELECT seal FROM journal WHERE seq = 149) WHERE seq = 150",
	         "table journal, row 150 is damaged"},
		{"UPDATE snapshot SET n = n - 1 WHERE seq = 120", "table snapshot, row 120 is damaged"},
		{"UPDATE snapshot SET digest = zeroblob(32) WHERE seq = 60", "table snapshot, row 60 is damaged"},
		{"UPDATE snapshot_fact SET body = '{}' WHERE id = 70", "table snapshot_fact, row 70 is damaged"},
		{"DELETE FROM snapshot_fact WHERE id = 70", "table snapshot_fact, row 70 is missing"},
		{"DELETE FROM snapshot_fact WHERE id = 110", "table snapshot_fact, row 110 is missing"},
		{"UPDATE spec SET body = zeroblob(300) WHERE id = (SELECT max(id) FROM spec)", "table spec, row "},
		{"UPDATE spec SET key = zeroblob(32) WHERE id = (SELECT max(id) FROM spec)", "table spec, row "},
		{"UPDATE history SET state = 'FAILED' WHERE job = 7", "table history, row 7 is damaged"},
		{"UPDATE history SET uid = 0 WHERE job = 40", "table history, row 40 is damaged"},
		{"UPDATE submission SET first_job = 9", "table submission, row 1000 is damaged"},
		{"UPDATE setting SET value = 'a mouse' WHERE name = 'secret'", "table setting, row secret is damaged"},
	};
	struct shelf *shelf = *state;
	struct image image;

	fill(shelf);
	shelf_close(shelf);
	image = read_image(shelf, "berth.db");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct berth_store *store = NULL;
		struct berth_error err = {0};

		write_image(shelf, "berth.db", image.bytes, image.n);
		shelf_sql(shelf, cases[i].sql);
		assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].word))
			fail_msg("%s: \"%s\" does not say %s", cases[i].sql, err.text, cases[i].word);
		forget_side_files(shelf);
	}
	free(image.bytes);
}

static void test_a_damaged_file_is_left_as_it_was(void **state)
{
	struct shelf *shelf = *state;
	struct berth_store *store = NULL;
	struct berth_error err;
	struct image before, after;

	fill(shelf);
	shelf_close(shelf);
	shelf_sql(shelf, "UPDATE history SET uid = 0 WHERE job = 40");
	before = read_image(shelf, "berth.db");
	for (int i = 0; i < 2; i++)
		assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
	after = read_image(shelf, "berth.db");
	assert_int_equal(after.n, before.n);
	assert_memory_equal(after.bytes, before.bytes, before.n);
	free(before.bytes);
	free(after.bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, shelf_set_up, shelf_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_flipped_byte_of_the_database_passes_unnoticed),
		TEST(test_a_log_after_a_crash_is_whole),
		TEST(test_a_lost_log_is_noticed_by_the_head),
		TEST(test_a_cut_or_zeroed_log_is_a_refused_prefix),
		TEST(test_a_flipped_log_is_a_refused_prefix_or_whole),
		TEST(test_a_torn_or_older_head_does_no_harm),
		TEST(test_another_database_in_this_place_is_noticed),
		TEST(test_every_table_is_named_with_its_row),
		TEST(test_a_damaged_file_is_left_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
