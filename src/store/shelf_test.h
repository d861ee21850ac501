#ifndef BERTH_STORE_SHELF_TEST_H
#define BERTH_STORE_SHELF_TEST_H
/* A directory of its own with an open store, and facts to put into it, for the unit tests of the store. Everything that
 * goes wrong here fails the test that uses it. */
#include "store/store.h"

struct shelf {
	char dir[64];
	struct berth_store *store; /* NULL while closed */
	uint64_t seq;              /* of the last committed fact */
	uint64_t at_ms;
};

/* cmocka's set-up and tear-down: *state is a struct shelf, open. */
int shelf_set_up(void **state);
int shelf_tear_down(void **state);
void shelf_open(struct shelf *shelf);
void shelf_close(struct shelf *shelf);
/* The path of a file in it; valid until the next call. */
const char *shelf_path(struct shelf *shelf, const char *name);

/* Commit and wait: the result. */
int shelf_commit(struct shelf *shelf, const struct berth_transaction *tx);
/* Commit n submissions of user "lin", named "job N", in one transaction; must go well. */
void shelf_submit(struct shelf *shelf, uint32_t n);
/* The next fact: a submission with the next number and the moment of the shelf. name is borrowed. */
struct berth_fact shelf_fact(struct shelf *shelf, const char *name);
/* Write a snapshot of n facts as of now, images of jobs with this specification, and wait until it counts. */
void shelf_snapshot(struct shelf *shelf, uint32_t n, const char *spec);

/* A number of the database as another connection sees it, with sql a SELECT of one number. */
int64_t shelf_number(struct shelf *shelf, const char *sql);
/* Wait until it is that number: what is removed behind a snapshot takes its time. */
void shelf_await(struct shelf *shelf, const char *sql, int64_t number);
/* Run sql on the closed database. */
void shelf_sql(struct shelf *shelf, const char *sql);

/* A hash of all that the store gives back: facts, history, specifications named by them, settings. */
uint64_t shelf_content(struct shelf *shelf);
#endif
