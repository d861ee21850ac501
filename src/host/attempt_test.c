#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include "host/claim.h"
#include "host/place_test.h"

static const struct berth_attempt_id id = {12, 3};
static const struct berth_claim claim = {.id = {12, 3}, .boot_id = "x"};
static const struct berth_record record = {.id = {12, 3}, .exit_code = 0, .witness = "shim"};

static void test_names(void **state)
{
	char name[BERTH_ATTEMPT_NAME_MAX];
	const struct berth_attempt_id longest = {UINT64_MAX, UINT32_MAX};

	assert_string_equal(berth_attempt_file_name(&id, BERTH_ATTEMPT_CLAIM, name), "12.3.claim");
	for (unsigned file = 0; file < BERTH_ATTEMPT_FILES; file++) {
		struct berth_attempt_id back;
		enum berth_attempt_file back_file;

		(void)berth_attempt_file_name(&longest, (enum berth_attempt_file)file, name);
		assert_true(berth_attempt_parse_name(name, &back, &back_file));
		assert_true(berth_attempt_is_same(&back, &longest));
		assert_int_equal(back_file, file);
	}
}

static void test_names_of_others(void **state)
{
	static const char *const strange[] = {
		"",
		".",
		"..",
		"12",
		"12.",
		"12.3",
		"12.3.",
		"12.3.claims",
		"12.3.cla",
		"0.3.claim",
		"12.0.claim",
		"012.3.claim",
		"12.03.claim",
		"-1.3.claim",
		" 1.3.claim",
		"12.3.claim.tmp",
		"x.3.claim",
		"12.x.claim",
		"18446744073709551616.1.claim",
		"1.4294967296.claim",
		".berth-00.tmp",
	};

	for (size_t i = 0; i < sizeof(strange) / sizeof(*strange); i++) {
		struct berth_attempt_id back;
		enum berth_attempt_file file;

		if (berth_attempt_parse_name(strange[i], &back, &file))
			fail_msg("taken for ours: %s", strange[i]);
	}
}

static void test_life(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = -1;

	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_NEVER);
	fd = berth_claim_take(place->dir, &claim);
	assert_true(fd >= 0);
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ALIVE);
	assert_int_equal(berth_record_write(place->dir, &record), 0);
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_OVER);
	(void)close(BERTH_TAKE_FD(fd));
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_OVER);
	assert_int_equal(berth_attempt_remove(place->dir, &id), 0);
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_NEVER);
}

static void test_orphan(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = berth_claim_take(place->dir, &claim);

	(void)close(BERTH_TAKE_FD(fd));
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ORPHAN);
}

static void test_damaged_record(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = -1;

	/* Without a claim it did run all the same. */
	place_write(place, "12.3.record", "torn");
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ORPHAN);
	fd = berth_claim_take(place->dir, &claim);
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ALIVE);
	(void)close(BERTH_TAKE_FD(fd));
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ORPHAN);
}

static void test_damaged_claim(void **state)
{
	struct place *place = *state;

	place_write(place, "12.3.claim", "torn");
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_ORPHAN);
}

/* What cannot be looked at is unknown, neither over nor absent. */
static void test_unknown(void **state)
{
	struct place *place = *state;
	struct rlimit old, none;
	enum berth_attempt_state without_claim, with_claim;
	BERTH_AUTO_CLOSE int fd = -1;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){(rlim_t)place->dir + 1, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	without_claim = berth_attempt_look(place->dir, &id);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	fd = berth_claim_take(place->dir, &claim);
	none.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	with_claim = berth_attempt_look(place->dir, &id);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(without_claim, BERTH_ATTEMPT_UNKNOWN);
	assert_int_equal(with_claim, BERTH_ATTEMPT_UNKNOWN);
}

static void test_remove_takes_all_and_only_its_own(void **state)
{
	struct place *place = *state;

	for (unsigned file = 0; file < BERTH_ATTEMPT_FILES; file++) {
		char name[BERTH_ATTEMPT_NAME_MAX];

		place_write(place, berth_attempt_file_name(&id, (enum berth_attempt_file)file, name), "");
	}
	place_write(place, "12.30.claim", "");
	assert_int_equal(berth_attempt_remove(place->dir, &id), 0);
	assert_int_equal(berth_attempt_remove(place->dir, &id), 0);
	for (unsigned file = 0; file < BERTH_ATTEMPT_FILES; file++) {
		char name[BERTH_ATTEMPT_NAME_MAX];

		assert_false(place_has(place, berth_attempt_file_name(&id, (enum berth_attempt_file)file, name)));
	}
	assert_true(place_has(place, "12.30.claim"));
}

/* A file that does not go keeps claim and record, so that the attempt is not taken for one that never was. */
static void test_what_does_not_go_keeps_claim_and_record(void **state)
{
	struct place *place = *state;

	place_write(place, "12.3.claim", "");
	place_write(place, "12.3.record", "");
	assert_int_equal(mkdirat(place->dir, "12.3.done", 0700), 0);
	assert_int_equal(berth_attempt_remove(place->dir, &id), -EISDIR);
	assert_true(place_has(place, "12.3.claim"));
	assert_true(place_has(place, "12.3.record"));
}

/* Without its record a claim would look like that of a shim that died: the record goes last. */
static void test_a_removal_under_way_does_not_look_like_a_death(void **state)
{
	struct place *place = *state;

	assert_int_equal(berth_record_write(place->dir, &record), 0);
	assert_int_equal(mkdirat(place->dir, "12.3.claim", 0700), 0);
	assert_int_equal(berth_attempt_remove(place->dir, &id), -EISDIR);
	assert_int_equal(berth_attempt_look(place->dir, &id), BERTH_ATTEMPT_OVER);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_of_others),
		TEST(test_life),
		TEST(test_orphan),
		TEST(test_damaged_record),
		TEST(test_damaged_claim),
		TEST(test_unknown),
		TEST(test_remove_takes_all_and_only_its_own),
		TEST(test_what_does_not_go_keeps_claim_and_record),
		TEST(test_a_removal_under_way_does_not_look_like_a_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
