#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "store/db.h"
#include "store/migrate.h"
#include "store/shelf_test.h"

/* The steps of a berth to come: one more table, one more column, filled from what is there. */
static const char *const later[] = {
	NULL, /* our first step: filled in below */
	"CREATE TABLE team(name TEXT PRIMARY KEY) STRICT; ALTER TABLE history ADD COLUMN team TEXT NOT NULL DEFAULT "
        "'none';"
	"INSERT INTO team SELECT DISTINCT user FROM history;",
	"CREATE INDEX history_team ON history(team);",
};
static const char *const broken[] = {NULL,
                                     "CREATE TABLE team(name TEXT PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES(1);"};

static void fill(const char *ret[], const char *const *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = i == 0 ? berth_migrations[0] : from[i];
}

static sqlite3 *open_db(struct shelf *shelf)
{
	struct berth_error err = {0};
	sqlite3 *db = NULL;

	if (berth_db_open(shelf_path(shelf, "berth.db"), &db, &err) < 0)
		fail_msg("%s", err.text);
	return db;
}

static void put_history(struct shelf *shelf)
{
	const struct berth_history_row row = {1, 1000, "lin", "n", "FAILED", 1, 2, 3, "{}"};
	const struct berth_transaction tx = {.history = &row, .n_history = 1};

	assert_int_equal(shelf_commit(shelf, &tx), 0);
}

static void test_an_older_database_is_copied_and_brought_up(void **state)
{
	struct shelf *shelf = *state;
	const char *steps[3];
	struct berth_error err = {0};
	int64_t number = 0;
	sqlite3 *db;

	put_history(shelf);
	shelf_close(shelf);
	fill(steps, later, 3);
	db = open_db(shelf);
	if (berth_migrate(db, shelf->dir, steps, 3, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(berth_db_number(db, "PRAGMA user_version", &number, NULL), 0);
	assert_int_equal(number, 3);
	assert_int_equal(berth_db_number(db, "SELECT count(*) FROM team WHERE name = 'lin'", &number, NULL), 0);
	assert_int_equal(number, 1);
	assert_int_equal(berth_migrate_verify(db, steps, 3, &err), 0);
	assert_int_equal(berth_migrate(db, shelf->dir, steps, 3, &err), 0); /* a second time there is nothing to do */
	berth_db_close(db);
	db = NULL;
	assert_int_equal(berth_db_open(shelf_path(shelf, "berth-before-2.db"), &db, &err), 0);
	assert_int_equal(berth_migrate_verify(db, steps, 1, &err), 0);
	assert_int_equal(berth_db_number(db, "SELECT count(*) FROM history", &number, NULL), 0);
	assert_int_equal(number, 1);
	berth_db_close(db);
}

static void test_a_newer_database_is_refused_and_left_alone(void **state)
{
	struct shelf *shelf = *state;
	const char *steps[3];
	struct berth_error err = {0};
	struct berth_store *store = NULL;
	sqlite3 *db;

	shelf_close(shelf);
	fill(steps, later, 3);
	db = open_db(shelf);
	assert_int_equal(berth_migrate(db, shelf->dir, steps, 3, &err), 0);
	berth_db_close(db);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "version 3"));
	assert_non_null(strstr(err.text, "newer berth"));
	assert_int_equal(shelf_number(shelf, "PRAGMA user_version"), 3);
}

static void test_a_step_that_fails_leaves_the_database_as_it_was(void **state)
{
	struct shelf *shelf = *state;
	const char *steps[2];
	struct berth_error err = {0};
	sqlite3 *db;

	put_history(shelf);
	shelf_close(shelf);
	fill(steps, broken, 2);
	db = open_db(shelf);
	assert_true(berth_migrate(db, shelf->dir, steps, 2, &err) < 0);
	assert_non_null(strstr(err.text, "nowhere"));
	berth_db_close(db);
	assert_int_equal(shelf_number(shelf, "SELECT count(*) FROM sqlite_schema WHERE name = 'team'"), 0);
	shelf_open(shelf);
}

static void assert_refused(struct shelf *shelf, const char *sql, const char *word)
{
	struct berth_store *store = NULL;
	struct berth_error err = {0};

	shelf_close(shelf);
	shelf_sql(shelf, sql);
	assert_int_equal(berth_store_open(shelf->dir, &store, &err), -EBADMSG);
	if (!strstr(err.text, word))
		fail_msg("\"%s\" does not say %s", err.text, word);
}

static void test_a_version_that_the_seal_contradicts(void **state)
{
	struct shelf *shelf = *state;

	assert_refused(shelf, "PRAGMA user_version=2", "schema version");
	assert_refused(shelf, "PRAGMA user_version=0", "version 0");
	assert_refused(shelf, "PRAGMA user_version=1; DELETE FROM setting", "schema version");
}

static void test_a_file_of_another_program(void **state)
{
	assert_refused(*state, "PRAGMA application_id=7", "not one of berth");
}

static void test_tables_that_are_not_word_for_word_ours(void **state)
{
	struct shelf *shelf = *state;

	assert_refused(shelf, "CREATE INDEX stray ON history(name)", "stray");
	assert_refused(shelf, "DROP INDEX stray; DROP INDEX history_user", "history_user");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, shelf_set_up, shelf_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_an_older_database_is_copied_and_brought_up),
		TEST(test_a_newer_database_is_refused_and_left_alone),
		TEST(test_a_step_that_fails_leaves_the_database_as_it_was),
		TEST(test_a_version_that_the_seal_contradicts),
		TEST(test_a_file_of_another_program),
		TEST(test_tables_that_are_not_word_for_word_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
