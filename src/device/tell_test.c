#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "device/tell.h"

/* Ask the next entry under this number. */
static struct berth_probe_question asked(struct berth_tell_book *book, uint32_t number)
{
	struct berth_tell *tell = berth_tell_next(book);

	assert_non_null(tell);
	tell->question.number = number;
	return tell->question;
}

/* All that waits, told. Returns how many there were. */
static unsigned tell_all(struct berth_tell_book *book)
{
	static uint32_t number = 1000;
	unsigned n = 0;

	while (berth_tell_is_waiting(book)) {
		(void)asked(book, ++number);
		(void)berth_tell_answered(book, number, 0);
		n++;
	}
	return n;
}

static void inject(struct berth_tell_book *book, const char *uuid, const char *what)
{
	assert_int_equal(berth_tell_inject(book, uuid, what, 100, 1), 0);
}

static void test_empty_book(void **state)
{
	struct berth_tell_book book = {0};

	assert_null(berth_tell_next(&book));
	assert_false(berth_tell_is_waiting(&book));
	assert_int_equal(berth_tell_answered(&book, 1, 0), 0);
	berth_tell_restart(&book, 0);
	berth_tell_fini(&book);
}

static void test_told_in_order_with_their_tickets(void **state)
{
	struct berth_tell_book book = {0};
	struct berth_probe_question question;

	assert_int_equal(berth_tell_load(&book, "A", "1.1", "0:5:1G", 50), 0);
	assert_int_equal(berth_tell_inject(&book, "B", "lost", 60, 17), 0);
	question = asked(&book, 1);
	assert_int_equal(question.kind, BERTH_PROBE_LOAD);
	assert_string_equal(question.uuid, "A");
	assert_string_equal(question.holder, "1.1");
	assert_string_equal(question.text, "0:5:1G");
	assert_int_equal(question.at_ms, 50);
	assert_int_equal(berth_tell_answered(&book, 1, 0), 0);
	question = asked(&book, 2);
	assert_int_equal(question.kind, BERTH_PROBE_INJECT);
	assert_string_equal(question.text, "lost");
	assert_int_equal(berth_tell_answered(&book, 3, 0), 0);
	assert_int_equal(berth_tell_answered(&book, 2, 0), 17);
	assert_int_equal(berth_tell_answered(&book, 2, 0), 0);
	assert_false(berth_tell_is_waiting(&book));
	berth_tell_fini(&book);
}

static void test_a_new_probe_is_told_what_holds(void **state)
{
	struct berth_tell_book book = {0};

	assert_int_equal(berth_tell_load(&book, "A", "1.1", "", 50), 0);
	assert_int_equal(berth_tell_load(&book, "A", "2.1", "", 50), 0);
	inject(&book, "A", "util 50");
	inject(&book, "B", "lost");
	assert_int_equal(tell_all(&book), 4);
	assert_int_equal(berth_tell_load(&book, "A", "1.1", NULL, 70), 0);
	assert_int_equal(tell_all(&book), 1);
	berth_tell_restart(&book, 200);
	assert_int_equal(book.n, 3);
	assert_string_equal(asked(&book, 9).holder, "2.1");
	assert_int_equal(asked(&book, 9).at_ms, 50);
	assert_int_equal(tell_all(&book), 3);
	berth_tell_fini(&book);
}

static void test_a_load_told_twice_is_told_once(void **state)
{
	struct berth_tell_book book = {0};

	assert_int_equal(berth_tell_load(&book, "A", "1.1", "0:5:1G", 50), 0);
	assert_int_equal(tell_all(&book), 1);
	assert_int_equal(berth_tell_load(&book, "A", "1.1", "0:5:1G", 90), 0);
	assert_false(berth_tell_is_waiting(&book));
	assert_int_equal(berth_tell_load(&book, "A", "1.1", "0:9:1G", 90), 0);
	assert_int_equal(asked(&book, 5).at_ms, 90);
	assert_int_equal(book.n, 1);
	/* Who was never there does not leave. */
	assert_int_equal(berth_tell_load(&book, "B", "1.1", NULL, 90), 0);
	assert_int_equal(book.n, 1);
	berth_tell_fini(&book);
}

static void test_an_entry_that_changed_while_asked_still_waits(void **state)
{
	struct berth_tell_book book = {0};

	assert_int_equal(berth_tell_load(&book, "A", "1.1", "0:5:1G", 50), 0);
	(void)asked(&book, 1);
	assert_int_equal(berth_tell_load(&book, "A", "1.1", NULL, 60), 0);
	assert_int_equal(berth_tell_answered(&book, 1, 0), 0);
	assert_int_equal(asked(&book, 2).kind, BERTH_PROBE_LEAVE);
	assert_int_equal(berth_tell_answered(&book, 2, 0), 0);
	assert_int_equal(book.n, 0);
	berth_tell_fini(&book);
}

static void test_leaving_is_not_told_to_a_new_probe(void **state)
{
	struct berth_tell_book book = {0};

	assert_int_equal(berth_tell_load(&book, "A", "1.1", "", 50), 0);
	assert_int_equal(tell_all(&book), 1);
	assert_int_equal(berth_tell_load(&book, "A", "1.1", NULL, 60), 0);
	berth_tell_restart(&book, 70);
	assert_int_equal(book.n, 0);
	berth_tell_fini(&book);
}

static void test_refused_is_gone(void **state)
{
	struct berth_tell_book book = {0};

	assert_int_equal(berth_tell_inject(&book, "A", "mem 900G", 60, 3), 0);
	(void)asked(&book, 1);
	assert_int_equal(berth_tell_answered(&book, 1, -EINVAL), 3);
	assert_int_equal(book.n, 0);
	berth_tell_fini(&book);
}

static void test_later_words_end_earlier_ones(void **state)
{
	static const struct {
		const char *first, *second;
		size_t left; /* entries that a new probe must be told */
	} cases[] = {
		{"util 50", "util 60", 1},  {"util 50", "util auto", 0}, {"mem 1G", "mem auto", 0},
		{"mem 1G", "util auto", 1}, {"lost", "lost", 1},         {"lost", "recover", 0},
		{"hang 99", "recover", 0},  {"util 50", "recover", 1},   {"recover", "lost", 1},
		{"lost", "hang 9", 2},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct berth_tell_book book = {0};

		inject(&book, "A", cases[i].first);
		assert_int_equal(tell_all(&book), 1);
		inject(&book, "B", "util 1");
		assert_int_equal(tell_all(&book), 1);
		inject(&book, "A", cases[i].second);
		assert_int_equal(tell_all(&book), 1);
		berth_tell_restart(&book, 200);
		if (book.n != cases[i].left + 1)
			fail_msg("%s, %s: %zu entries", cases[i].first, cases[i].second, book.n);
		berth_tell_fini(&book);
	}
}

static void test_an_earlier_word_holds_until_the_later_is_told(void **state)
{
	struct berth_tell_book book = {0};

	inject(&book, "A", "util 50");
	inject(&book, "A", "util auto");
	(void)asked(&book, 1);
	assert_int_equal(berth_tell_answered(&book, 1, 0), 1);
	berth_tell_restart(&book, 200);
	assert_int_equal(book.n, 2);
	assert_int_equal(tell_all(&book), 2);
	assert_int_equal(book.n, 0);
	berth_tell_fini(&book);
}

static void test_a_hang_that_is_over_is_not_told_again(void **state)
{
	struct berth_tell_book book = {0};

	inject(&book, "A", "hang 10");
	berth_tell_restart(&book, 99999);
	assert_int_equal(book.n, 1); /* somebody still waits to hear that it was told */
	assert_int_equal(tell_all(&book), 1);
	berth_tell_restart(&book, 10099);
	assert_int_equal(book.n, 1);
	assert_int_equal(tell_all(&book), 1);
	berth_tell_restart(&book, 10100);
	assert_int_equal(book.n, 0);
	berth_tell_fini(&book);
}

static void test_bounds(void **state)
{
	struct berth_tell_book book = {0};
	char text[BERTH_PROBE_TEXT_MAX + 1];

	memset(text, 'x', sizeof(text));
	text[BERTH_PROBE_TEXT_MAX] = '\0';
	assert_int_equal(berth_tell_load(&book, "A", "1.1", text, 1), -EINVAL);
	assert_int_equal(berth_tell_load(&book, text, "1.1", "", 1), -EINVAL);
	assert_int_equal(berth_tell_load(&book, "A", text, "", 1), -EINVAL);
	assert_int_equal(berth_tell_inject(&book, "A", text, 1, 1), -EINVAL);
	assert_int_equal(book.n, 0);
	text[BERTH_PROBE_TEXT_MAX - 1] = '\0';
	assert_int_equal(berth_tell_load(&book, "A", "1.1", text, 1), 0);
	for (unsigned i = 0; i < BERTH_TELLS_WAITING_MAX; i++)
		inject(&book, "A", "lost");
	assert_int_equal(berth_tell_inject(&book, "A", "lost", 1, 1), -EAGAIN);
	assert_int_equal(tell_all(&book), BERTH_TELLS_WAITING_MAX + 1);
	assert_int_equal(book.n, 2);
	berth_tell_fini(&book);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_book),
		cmocka_unit_test(test_told_in_order_with_their_tickets),
		cmocka_unit_test(test_a_new_probe_is_told_what_holds),
		cmocka_unit_test(test_a_load_told_twice_is_told_once),
		cmocka_unit_test(test_an_entry_that_changed_while_asked_still_waits),
		cmocka_unit_test(test_leaving_is_not_told_to_a_new_probe),
		cmocka_unit_test(test_refused_is_gone),
		cmocka_unit_test(test_later_words_end_earlier_ones),
		cmocka_unit_test(test_an_earlier_word_holds_until_the_later_is_told),
		cmocka_unit_test(test_a_hang_that_is_over_is_not_told_again),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
