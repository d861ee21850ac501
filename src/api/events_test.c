#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "api/events.h"

static int set_up(void **state)
{
	*state = berth_events_new(100);
	assert_non_null(*state);
	return 0;
}

static int tear_down(void **state)
{
	berth_events_free(*state);
	return 0;
}

static void change_job(struct berth_events *events, uint64_t seq, uint64_t job)
{
	const struct berth_change change = {.kind = BERTH_CHANGE_JOB, .id = job};

	berth_events_change(events, seq, &change, 1);
}

static void test_the_end_shows_only_what_comes(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor cursor;
	struct berth_change change;

	change_job(events, 101, 1);
	cursor = berth_events_end(events);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 0);
	change_job(events, 102, 2);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 1);
	assert_int_equal(change.seq, 102);
	assert_int_equal(change.id, 2);
	assert_true(change.is_last);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 0);
}

static void test_resume_behind_a_fact(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor cursor;
	struct berth_change change;

	for (uint64_t seq = 101; seq <= 140; seq += 2)
		change_job(events, seq, seq);
	for (uint64_t since = 100; since <= 140; since++) {
		uint64_t expected = since + 1 + since % 2;

		assert_true(berth_events_seek(events, since, 140, &cursor));
		for (; berth_events_next_change(events, &cursor, &change) == 1; expected += 2)
			assert_int_equal(change.seq, expected);
		assert_int_equal(expected, 141);
	}
}

static void test_what_is_not_held_is_a_reset(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor cursor;
	struct berth_change change;

	change_job(events, 101, 1);
	assert_false(berth_events_seek(events, 99, 101, &cursor)); /* before the daemon started */
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 0);
	assert_false(berth_events_seek(events, 102, 101, &cursor)); /* of another journal */
	assert_true(berth_events_seek(events, 100, 101, &cursor));
	assert_true(berth_events_seek(events, 101, 101, &cursor));
}

/* Ids are given only where a fact is told whole: a reader that breaks off in its middle gets it again. */
static void test_a_fact_of_many_changes(void **state)
{
	struct berth_events *events = *state;
	const struct berth_change changes[] = {{.kind = BERTH_CHANGE_GPU, .id = 1},
	                                       {.kind = BERTH_CHANGE_GPU, .id = 2},
	                                       {.kind = BERTH_CHANGE_JOB, .id = 1}};
	struct berth_cursor cursor = berth_events_end(events);
	struct berth_change change;

	berth_events_change(events, 101, changes, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(berth_events_next_change(events, &cursor, &change), 1);
		assert_int_equal(change.kind, changes[i].kind);
		assert_int_equal(change.id, changes[i].id);
		assert_int_equal(change.is_last, i == 2);
	}
	berth_events_change(events, 102, changes, 0);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 0);
}

static void test_repeats_are_left_out(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor cursor = berth_events_end(events);
	struct berth_change change;

	change_job(events, 101, 1);
	change_job(events, 102, 2);
	change_job(events, 103, 1);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 1);
	assert_int_equal(change.seq, 102);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 1);
	assert_int_equal(change.seq, 103);
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 0);
}

/* A job and a GPU with one number are not each other. */
static void test_kinds_are_kept_apart(void **state)
{
	struct berth_events *events = *state;
	const struct berth_change changes[] = {{.kind = BERTH_CHANGE_GPU, .id = 1},
	                                       {.kind = BERTH_CHANGE_JOB, .id = 1}};
	struct berth_cursor cursor = berth_events_end(events);
	struct berth_change change;
	size_t n = 0;

	berth_events_change(events, 101, changes, 2);
	while (berth_events_next_change(events, &cursor, &change) == 1)
		n++;
	assert_int_equal(n, 2);
}

static void test_the_ring_overtakes_a_reader(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor slow = berth_events_end(events);
	struct berth_cursor cursor;
	struct berth_change change;

	for (uint64_t i = 1; i <= BERTH_EVENTS_CHANGES; i++)
		change_job(events, 100 + i, i);
	cursor = slow;
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 1); /* full to the brim: all are there */
	assert_int_equal(change.seq, 101);
	change_job(events, 100 + BERTH_EVENTS_CHANGES + 1, 1);
	assert_int_equal(berth_events_next_change(events, &slow, &change), -ESTALE);
	assert_int_equal(berth_events_next_change(events, &slow, &change), 0);
	/* Of fact 101 something is gone; 101 itself may be named as known, 100 not. */
	assert_false(berth_events_seek(events, 100, 100 + BERTH_EVENTS_CHANGES + 1, &cursor));
	assert_true(berth_events_seek(events, 101, 100 + BERTH_EVENTS_CHANGES + 1, &cursor));
	assert_int_equal(berth_events_next_change(events, &cursor, &change), 1);
	assert_int_equal(change.seq, 102);
}

static void test_notices(void **state)
{
	struct berth_events *events = *state;
	struct berth_cursor cursor = berth_events_end(events);
	const struct berth_notice *notice;
	char text[32];

	assert_null(berth_events_next_notice(events, &cursor));
	berth_events_notice(events, "progress", "{\"id\":1}");
	notice = berth_events_next_notice(events, &cursor);
	assert_non_null(notice);
	assert_string_equal(notice->name, "progress");
	assert_string_equal(notice->data, "{\"id\":1}");
	assert_null(berth_events_next_notice(events, &cursor));
	/* A slow reader misses the oldest and goes on. */
	for (unsigned i = 0; i < BERTH_EVENTS_NOTICES + 10; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		berth_events_notice(events, "sample", text);
	}
	assert_string_equal(berth_events_next_notice(events, &cursor)->data, "10");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_end_shows_only_what_comes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_resume_behind_a_fact, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_is_not_held_is_a_reset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_fact_of_many_changes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_repeats_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kinds_are_kept_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_ring_overtakes_a_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_notices, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
