#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "host/claim.h"
#include "host/place_test.h"

static const struct berth_claim claim = {
	.id = {12, 3},
	.boot_id = "0b6d2a38-1f0a-4d5e-9a3f-111122223333",
	.shim_pid = 4711,
	.shim_start = 99,
	.leader_pid = 4712,
	.leader_start = 100,
	.group = "/sys/fs/cgroup/berth-0-x/12.3 with a blank",
	.n_uuid = 2,
	.uuid = {"GPU-1", "GPU-2"},
};

static const struct berth_record record = {
	.id = {12, 3},
	.exit_code = 7,
	.cause = 5,
	.how = "ExecFailed",
	.error = 2,
	.is_done = true,
	.pid = 4712,
	.started_ms = 1,
	.ended_ms = 2,
	.witness = "shim",
};

static void test_take_and_read(void **state)
{
	struct place *place = *state;
	struct berth_claim back;
	BERTH_AUTO_CLOSE int fd = berth_claim_take(place->dir, &claim);

	assert_true(fd >= 0);
	assert_int_equal(berth_claim_read(place->dir, &claim.id, &back, NULL), 0);
	assert_memory_equal(&back, &claim, sizeof(claim));
	assert_int_equal(berth_claim_is_locked(place->dir, &claim.id), 1);
}

static void test_only_one_takes_it(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = berth_claim_take(place->dir, &claim);

	assert_true(fd >= 0);
	assert_int_equal(berth_claim_take(place->dir, &claim), -EEXIST);
	assert_int_equal(berth_claim_is_locked(place->dir, &claim.id), 1);
	/* Also when the first owner is long gone. */
	(void)close(BERTH_TAKE_FD(fd));
	assert_int_equal(berth_claim_take(place->dir, &claim), -EEXIST);
	assert_int_equal(berth_claim_is_locked(place->dir, &claim.id), 0);
}

/* Of many that race for it one wins. */
static void test_race(void **state)
{
	struct place *place = *state;
	int go[2], winners = 0;

	assert_int_equal(pipe(go), 0);
	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			char byte;

			(void)close(go[1]);
			(void)!read(go[0], &byte, 1);
			_exit(berth_claim_take(place->dir, &claim) >= 0 ? 42 : 0);
		}
	}
	(void)close(go[0]);
	(void)close(go[1]);
	for (int i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		winners += WEXITSTATUS(status) == 42;
	}
	assert_int_equal(winners, 1);
}

/* The lock belongs to the open file: a forked copy keeps it. */
static void test_lock_outlives_one_of_two_holders(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = berth_claim_take(place->dir, &claim);
	BERTH_AUTO_CLOSE int copy = dup(fd);

	(void)close(BERTH_TAKE_FD(fd));
	assert_int_equal(berth_claim_is_locked(place->dir, &claim.id), 1);
	(void)close(BERTH_TAKE_FD(copy));
	assert_int_equal(berth_claim_is_locked(place->dir, &claim.id), 0);
}

static void test_no_temporary_stays(void **state)
{
	struct place *place = *state;
	BERTH_AUTO_CLOSE int fd = berth_claim_take(place->dir, &claim);

	assert_true(fd >= 0);
	assert_int_equal(berth_claim_take(place->dir, &claim), -EEXIST);
	assert_int_equal(unlinkat(place->dir, "12.3.claim", 0), 0);
	/* Empty now, or this fails. */
	assert_int_equal(rmdir(place->path), 0);
	assert_int_equal(mkdir(place->path, 0700), 0);
}

static void test_record_round_trip(void **state)
{
	struct place *place = *state;
	struct berth_record back;

	assert_int_equal(berth_record_read(place->dir, &record.id, &back, NULL), -ENOENT);
	assert_int_equal(berth_record_write(place->dir, &record), 0);
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, NULL), 0);
	assert_memory_equal(&back, &record, sizeof(record));
}

static void test_unknown_code_stays_unknown(void **state)
{
	struct place *place = *state;
	struct berth_record back,
		unknown = {.id = {1, 1}, .exit_code = -1, .how = "ExitCodeUnknown", .witness = "none"};

	assert_int_equal(berth_record_write(place->dir, &unknown), 0);
	assert_int_equal(berth_record_read(place->dir, &unknown.id, &back, NULL), 0);
	assert_int_equal(back.exit_code, -1);
	assert_string_equal(back.how, "ExitCodeUnknown");
}

static void test_damage_is_named(void **state)
{
	struct place *place = *state;
	struct berth_error err;
	struct berth_record back = {.exit_code = 77};
	struct berth_claim claim_back;

	place_write(place, "12.3.record", "job 12\nattempt 3\nexit-code 0\n");
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "12.3.record"));
	assert_int_equal(back.exit_code, 77);
	place_write(place, "12.3.record", "");
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, &err), -EBADMSG);
	place_write(place, "12.3.claim", "job 12\n");
	assert_int_equal(berth_claim_read(place->dir, &claim.id, &claim_back, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "12.3.claim"));
}

static void test_something_else_in_its_place(void **state)
{
	struct place *place = *state;
	struct berth_record back;

	assert_int_equal(mkdirat(place->dir, "12.3.record", 0700), 0);
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, NULL), -EBADMSG);
	assert_int_equal(unlinkat(place->dir, "12.3.record", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("/nowhere", place->dir, "12.3.record"), 0);
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, NULL), -EBADMSG);
	assert_int_equal(unlinkat(place->dir, "12.3.record", 0), 0);
	assert_int_equal(mkfifoat(place->dir, "12.3.record", 0600), 0);
	assert_int_equal(berth_record_read(place->dir, &record.id, &back, NULL), -EBADMSG);
}

static void test_record_of_another_attempt(void **state)
{
	struct place *place = *state;
	struct berth_record back;
	struct berth_error err;

	assert_int_equal(berth_record_write(place->dir, &record), 0);
	assert_int_equal(renameat(place->dir, "12.3.record", place->dir, "12.4.record"), 0);
	assert_int_equal(berth_record_read(place->dir, &(struct berth_attempt_id){12, 4}, &back, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "12.3"));
}

/* No descriptor left: an error of its own, not absence. */
static void test_out_of_descriptors(void **state)
{
	struct place *place = *state;
	struct rlimit old, none;
	struct berth_record back;
	int read_result, take_result, lock_result;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){(rlim_t)place->dir + 1, old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	read_result = berth_record_read(place->dir, &record.id, &back, NULL);
	take_result = berth_claim_take(place->dir, &claim);
	lock_result = berth_claim_is_locked(place->dir, &claim.id);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(read_result, -EMFILE);
	assert_int_equal(take_result, -EMFILE);
	assert_int_equal(lock_result, -EMFILE);
}

static void test_no_room(void **state)
{
	struct place *place = *state;
	struct rlimit old, none;
	int taken, written;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = (struct rlimit){0, old.rlim_max};
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	taken = berth_claim_take(place->dir, &claim);
	written = berth_record_write(place->dir, &record);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(taken, -EFBIG);
	assert_int_equal(written, -EFBIG);
	assert_false(place_has(place, "12.3.claim"));
	assert_false(place_has(place, "12.3.record"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_make, place_remove)
	const struct CMUnitTest tests[] = {
		TEST(test_take_and_read),
		TEST(test_only_one_takes_it),
		TEST(test_race),
		TEST(test_lock_outlives_one_of_two_holders),
		TEST(test_no_temporary_stays),
		TEST(test_record_round_trip),
		TEST(test_unknown_code_stays_unknown),
		TEST(test_damage_is_named),
		TEST(test_something_else_in_its_place),
		TEST(test_record_of_another_attempt),
		TEST(test_out_of_descriptors),
		TEST(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
