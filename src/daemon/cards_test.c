#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "daemon/cards.h"

static struct berth_cards list(const char *const *items)
{
	struct berth_cards cards = {0};

	for (; *items; items++)
		assert_int_equal(berth_cards_add(&cards, *items, NULL), 0);
	return cards;
}

static void test_chooses_by_index_range_and_uuid(void **state)
{
	struct berth_cards cards = list((const char *const[]){"4-6", "0", "63", "SIM-b", NULL});
	static const uint32_t in[] = {0, 4, 5, 6, 63}, out[] = {1, 2, 3, 7, 62, 64, 1000};
	char buf[64];

	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		assert_true(berth_cards_has(&cards, in[i], "x"));
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++)
		assert_false(berth_cards_has(&cards, out[i], "x"));
	assert_true(berth_cards_has(&cards, 1, "SIM-b"));
	assert_false(berth_cards_has(&cards, 1, "SIM-bb"));
	assert_string_equal(berth_cards_format(&cards, buf, sizeof(buf)), "0,4-6,63,SIM-b");
	assert_string_equal(berth_cards_format(&cards, buf, 6), "0,4-6"); /* cut, not overrun */
}

static void test_all_and_none(void **state)
{
	struct berth_cards all = berth_cards_all(), none = {0};
	char buf[64];

	assert_true(berth_cards_has(&all, 77, "x"));
	assert_false(berth_cards_has(&none, 0, "x"));
	assert_string_equal(berth_cards_format(&all, buf, sizeof(buf)), "all");
	assert_string_equal(berth_cards_format(&none, buf, sizeof(buf)), "");
}

static void test_equality(void **state)
{
	struct berth_cards a = list((const char *const[]){"0-3", "GPU-1", NULL}),
			   b = list((const char *const[]){"0-3", "GPU-1", NULL});
	struct berth_cards all = berth_cards_all();

	assert_true(berth_cards_equal(&a, &b));
	assert_true(berth_cards_equal(&all, &all));
	assert_false(berth_cards_equal(&a, &all));
	b.index_mask ^= 16;
	assert_false(berth_cards_equal(&a, &b));
	b = list((const char *const[]){"0-3", "GPU-2", NULL});
	assert_false(berth_cards_equal(&a, &b));
	b = list((const char *const[]){"0-3", NULL});
	assert_false(berth_cards_equal(&a, &b));
}

static void test_refuses_nonsense_and_repeats(void **state)
{
	static const char *const bad[] = {"",
	                                  "-",
	                                  "3-",
	                                  "-3",
	                                  "64",
	                                  "0-64",
	                                  "3-1",
	                                  "1,2",
	                                  "1 ",
	                                  "0x1",
	                                  "99999999999999999999",
	                                  "123456789-3",
	                                  "1-2-3",
	                                  "*"};
	struct berth_cards cards = list((const char *const[]){"2-3", "GPU-1", NULL}), before = cards;
	struct berth_error err = {0};
	char uuid[BERTH_CARDS_UUID_LEN + 1];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err = (struct berth_error){0};
		if (berth_cards_add(&cards, bad[i], &err) != -EINVAL)
			fail_msg("\"%s\" was taken", bad[i]);
		assert_true(err.text[0]);
	}
	assert_int_equal(berth_cards_add(&cards, "3", &err), -EEXIST);
	assert_non_null(strstr(err.text, "twice"));
	assert_int_equal(berth_cards_add(&cards, "0-2", &err), -EEXIST);
	assert_int_equal(berth_cards_add(&cards, "GPU-1", &err), -EEXIST);
	memset(uuid, 'a', sizeof(uuid) - 1);
	uuid[sizeof(uuid) - 1] = '\0';
	assert_int_equal(berth_cards_add(&cards, uuid, &err), -EINVAL);
	assert_true(berth_cards_equal(&cards, &before));
	for (int i = 1; i < BERTH_CARDS_UUIDS_MAX; i++) {
		(void)snprintf(uuid, sizeof(uuid), "SIM-%d", i);
		assert_int_equal(berth_cards_add(&cards, uuid, NULL), 0);
	}
	assert_int_equal(berth_cards_add(&cards, "SIM-last", &err), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chooses_by_index_range_and_uuid),
		cmocka_unit_test(test_all_and_none),
		cmocka_unit_test(test_equality),
		cmocka_unit_test(test_refuses_nonsense_and_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
