#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "base/file.h"
#include "store/clean.h"
#include "store/db.h"
#include "store/head.h"
#include "store/seal.h"

static void assert_hex(const struct berth_seal *seal, const char *hex)
{
	char text[BERTH_SEAL_HEX + 1];

	berth_seal_write_hex(seal, text);
	assert_string_equal(text, hex);
}

static void test_content_is_hashed_by_sha256(void **state)
{
	struct berth_seal seal;

	/* FIPS 180-2, appendix B.1, and the hash of nothing */
	berth_seal_content("abc", 3, &seal);
	assert_hex(&seal, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	berth_seal_content(NULL, 0, &seal);
	assert_hex(&seal, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* The form is written down in the header; tools may check a journal by it. */
static void test_the_form_of_a_seal(void **state)
{
	const struct berth_value row[] = {berth_value_number(258), berth_value_text("ab"), berth_value_blob("\x00", 1)};
	static const uint8_t bytes[] = "t\0"
				       "\x01\x02\x01\0\0\0\0\0\0"
				       "\x03\x02\0\0\0\0\0\0\0ab"
				       "\x04\x01\0\0\0\0\0\0\0\0";
	struct berth_seal seal, expected, chained;

	berth_seal_make("t", NULL, row, 3, &seal);
	berth_seal_content(bytes, sizeof(bytes) - 1, &expected);
	assert_memory_equal(&seal, &expected, sizeof(seal));
	berth_seal_make("t", &seal, row, 3, &chained);
	assert_memory_not_equal(&chained, &seal, sizeof(seal));
}

static void test_every_part_of_a_row_counts(void **state)
{
	const struct berth_value rows[][2] = {
		{berth_value_number(1), berth_value_text("ab")}, {berth_value_number(2), berth_value_text("ab")},
		{berth_value_number(1), berth_value_text("ac")}, {berth_value_number(1), berth_value_blob("ab", 2)},
		{berth_value_text("1"), berth_value_text("ab")}, {berth_value_text("1a"), berth_value_text("b")},
		{berth_value_text(""), berth_value_text("1ab")},
	};
	const size_t n = sizeof(rows) / sizeof(*rows);
	struct berth_seal seals[sizeof(rows) / sizeof(*rows) + 1];

	for (size_t i = 0; i < n; i++)
		berth_seal_make("t", NULL, rows[i], 2, &seals[i]);
	berth_seal_make("u", NULL, rows[0], 2, &seals[n]);
	for (size_t i = 0; i <= n; i++)
		for (size_t k = 0; k < i; k++)
			assert_memory_not_equal(&seals[i], &seals[k], sizeof(*seals));
}

static void test_hex_goes_both_ways_and_nothing_else_does(void **state)
{
	char hex[BERTH_SEAL_HEX + 2] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	struct berth_seal seal;

	assert_true(berth_seal_read_hex(hex, &seal));
	assert_hex(&seal, hex);
	hex[BERTH_SEAL_HEX] = '0';
	assert_false(berth_seal_read_hex(hex, &seal));
	hex[BERTH_SEAL_HEX] = '\0';
	hex[63] = 'G';
	assert_false(berth_seal_read_hex(hex, &seal));
	hex[62] = '\0';
	assert_false(berth_seal_read_hex(hex, &seal));
	assert_false(berth_seal_read_hex("", &seal));
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static sqlite3 *open_table(void)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(berth_db_exec(db, "CREATE TABLE t(a INTEGER, b TEXT, c BLOB, seal BLOB)", NULL), 0);
	return db;
}

static void insert_row(sqlite3 *db)
{
	const struct berth_value row[] = {berth_value_number(7), berth_value_text("name"), berth_value_blob(NULL, 0)};
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;

	assert_int_equal(berth_db_prepare(db, "INSERT INTO t VALUES(?, ?, ?, ?)", &stmt, NULL), 0);
	assert_int_equal(berth_row_insert(stmt, "t", NULL, row, 3, NULL), SQLITE_DONE);
}

static bool is_row_sound(sqlite3 *db)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;

	assert_int_equal(berth_db_prepare(db, "SELECT a, b, c, seal FROM t", &stmt, NULL), 0);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	return berth_row_is_sound(stmt, "t", NULL, 3, NULL);
}

static void test_a_row_is_sound_until_it_is_changed(void **state)
{
	static const char *const changes[] = {
		"UPDATE t SET a = 8",
		"UPDATE t SET b = 'nama'",
		"UPDATE t SET b = CAST(b AS BLOB)",
		"UPDATE t SET c = x'00'",
		"UPDATE t SET c = NULL",
		"UPDATE t SET seal = zeroblob(32)",
		"UPDATE t SET seal = NULL",
		"UPDATE t SET a = 7.0",
		"UPDATE t SET seal = substr(seal, 1, 31)",
		"UPDATE t SET a = CAST(a AS TEXT) || 'x'",
	};

	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		sqlite3 *db = open_table();

		insert_row(db);
		assert_true(is_row_sound(db));
		assert_int_equal(berth_db_exec(db, changes[i], NULL), 0);
		/* an INTEGER column turns 7.0 back into 7: that is no change */
		assert_int_equal(is_row_sound(db), strstr(changes[i], "7.0") != NULL);
		berth_db_close(db);
	}
}

static void test_what_sqlite_says_in_our_words(void **state)
{
	sqlite3 *db = open_table();
	struct berth_error err = {0};
	sqlite3_stmt *stmt = NULL;
	int64_t number = 0;

	assert_int_equal(berth_db_code(db, SQLITE_OK), 0);
	assert_int_equal(berth_db_code(db, SQLITE_DONE), 0);
	assert_int_equal(berth_db_code(db, SQLITE_FULL), -ENOSPC);
	assert_int_equal(berth_db_code(db, SQLITE_NOMEM), -ENOMEM);
	assert_int_equal(berth_db_code(db, SQLITE_CORRUPT_INDEX), -EBADMSG);
	assert_int_equal(berth_db_code(db, SQLITE_NOTADB), -EBADMSG);
	assert_int_equal(berth_db_code(db, SQLITE_BUSY_SNAPSHOT), -EBUSY);
	assert_int_equal(berth_db_code(db, SQLITE_IOERR_FSYNC), -EIO);
	assert_int_equal(berth_db_code(db, SQLITE_IOERR_NOMEM), -ENOMEM);
	assert_int_equal(berth_db_code(db, SQLITE_CANTOPEN), -EACCES);
	assert_int_equal(berth_db_code(db, SQLITE_CONSTRAINT_PRIMARYKEY), -EEXIST);
	assert_int_equal(berth_db_code(db, SQLITE_MISUSE), -EIO);
	assert_int_equal(berth_db_prepare(db, "SELECT nothing FROM t", &stmt, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "nothing"));
	assert_int_equal(berth_db_exec(db, "INSERT INTO nowhere VALUES(1)", &err), -EIO);
	assert_non_null(strstr(err.text, "nowhere"));
	assert_int_equal(berth_db_number(db, "SELECT a FROM t", &number, NULL), -ENOENT);
	assert_int_equal(berth_db_number(db, "SELECT 41 + 1", &number, NULL), 0);
	assert_int_equal(number, 42);
	berth_db_close(db);
}

/* --- text that can be read back -------------------------------------------------------------------------- */

static void test_only_what_is_no_utf8_is_replaced(void **state)
{
	char good[] = "\xe8\xae\xad\xe7\xbb\x83 \xf0\x9f\x9a\xa2 a", bad[] = "a\xff\xe8\xae", cut[] = "\xf0\x9f\x9a";

	berth_clean_text(good);
	assert_string_equal(good, "\xe8\xae\xad\xe7\xbb\x83 \xf0\x9f\x9a\xa2 a");
	berth_clean_text(bad);
	assert_string_equal(bad, "a???");
	berth_clean_text(cut);
	assert_string_equal(cut, "???");
	assert_int_equal(berth_clean_step("a"), 1);
	assert_int_equal(berth_clean_step("\xf0\x9f\x9a\xa2"), 4);
	assert_int_equal(berth_clean_step(""), 0);
	assert_int_equal(berth_clean_step("\xc0\x80"), 0);
}

/* --- the head file --------------------------------------------------------------------------------------- */

struct headroom {
	char dir[64];
	int dirfd;
};

static int make_dir(void **state)
{
	struct headroom *room = calloc(1, sizeof(*room));

	(void)snprintf(room->dir, sizeof(room->dir), "%s/berth-head-XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(room->dir));
	room->dirfd = open(room->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(room->dirfd >= 0);
	*state = room;
	return 0;
}

static int drop_dir(void **state)
{
	struct headroom *room = *state;

	(void)close(room->dirfd);
	assert_int_equal(berth_dir_remove(room->dir), 0);
	free(room);
	return 0;
}

static bool read_head(const struct headroom *room, struct berth_head *ret)
{
	bool is_known = true;
	int fd = -1;

	assert_int_equal(berth_head_open(room->dirfd, &fd, ret, &is_known, NULL), 0);
	(void)close(fd);
	return is_known;
}

static void write_head(const struct headroom *room, uint64_t seq)
{
	struct berth_head head = {0};
	bool is_known;
	int fd = -1;

	assert_int_equal(berth_head_open(room->dirfd, &fd, &head, &is_known, NULL), 0);
	head.seq = seq;
	berth_seal_content(&seq, sizeof(seq), &head.seal);
	berth_head_write(fd, &head);
	(void)close(fd);
}

static void test_a_head_is_read_as_it_was_written(void **state)
{
	static const uint64_t seqs[] = {UINT64_MAX, 0, 12345678901234567u, 7};
	struct headroom *room = *state;
	struct berth_head head;

	assert_false(read_head(room, &head));
	for (size_t i = 0; i < sizeof(seqs) / sizeof(*seqs); i++) {
		struct berth_seal seal;

		write_head(room, seqs[i]);
		assert_true(read_head(room, &head));
		assert_true(head.seq == seqs[i]);
		berth_seal_content(&seqs[i], sizeof(seqs[i]), &seal);
		assert_memory_equal(&head.seal, &seal, sizeof(seal));
	}
}

static void test_a_head_with_any_bit_changed_or_cut_says_nothing(void **state)
{
	struct headroom *room = *state;
	BERTH_AUTO_FREE char *whole = NULL;
	struct berth_head head;
	size_t n = 0;

	write_head(room, 4711);
	assert_int_equal(berth_file_read_at(room->dirfd, BERTH_HEAD_NAME, 4096, &whole, &n), 0);
	assert_true(n > 100 && whole[n - 1] == '\n');
	for (size_t i = 0; i < n - 1; i++) {
		whole[i] ^= 1;
		assert_int_equal(berth_file_replace_at(room->dirfd, BERTH_HEAD_NAME, whole, n, 0600), 0);
		assert_false(read_head(room, &head));
		whole[i] ^= 1;
	}
	assert_int_equal(berth_file_replace_at(room->dirfd, BERTH_HEAD_NAME, whole, n / 2, 0600), 0);
	assert_false(read_head(room, &head));
	assert_int_equal(berth_file_replace_at(room->dirfd, BERTH_HEAD_NAME, whole, n, 0600), 0);
	assert_true(read_head(room, &head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_content_is_hashed_by_sha256),
		cmocka_unit_test(test_the_form_of_a_seal),
		cmocka_unit_test(test_every_part_of_a_row_counts),
		cmocka_unit_test(test_hex_goes_both_ways_and_nothing_else_does),
		cmocka_unit_test(test_a_row_is_sound_until_it_is_changed),
		cmocka_unit_test(test_what_sqlite_says_in_our_words),
		cmocka_unit_test(test_only_what_is_no_utf8_is_replaced),
		cmocka_unit_test_setup_teardown(test_a_head_is_read_as_it_was_written, make_dir, drop_dir),
		cmocka_unit_test_setup_teardown(test_a_head_with_any_bit_changed_or_cut_says_nothing, make_dir,
	                                        drop_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
