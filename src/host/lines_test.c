#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "base/hash.h"
#include "host/lines.h"

struct thing {
	uint64_t big;
	uint32_t small;
	int32_t sign;
	bool is_so;
	char word[8];
	uint32_t n;
	char list[3][4];
};

static const struct berth_line table[] = {
	{"big", BERTH_LINE_U64, offsetof(struct thing, big)},
	{"small", BERTH_LINE_U32, offsetof(struct thing, small)},
	{"sign", BERTH_LINE_I32, offsetof(struct thing, sign)},
	{"so", BERTH_LINE_BOOL, offsetof(struct thing, is_so)},
	{"word", BERTH_LINE_TEXT, offsetof(struct thing, word), 8},
	{"list", BERTH_LINE_TEXTS, offsetof(struct thing, list), 4, offsetof(struct thing, n), 3},
	{0},
};

static const struct thing full = {UINT64_MAX, UINT32_MAX, INT32_MIN, true, "a b  c", 2, {"one", ""}};

/* These lines with a right sum behind them. */
static char *summed(const char *lines)
{
	char *text = NULL;

	if (asprintf(&text, "%ssum %016" PRIx64 "\n", lines, berth_hash_bytes(BERTH_HASH_SEED, lines, strlen(lines))) <
	    0)
		abort();
	return text;
}

static int read_back(const char *text, struct thing *ret)
{
	*ret = (struct thing){0};
	return berth_lines_read(text, strlen(text), table, ret);
}

static void test_round_trip(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct thing back;

	assert_int_equal(berth_lines_write(&text, table, &full), 0);
	assert_int_equal(read_back(text.at, &back), 0);
	assert_memory_equal(&back, &full, sizeof(full));
}

static void test_signs(void **state)
{
	static const int32_t values[] = {0, -1, 1, INT32_MAX, INT32_MIN};

	for (size_t i = 0; i < 5; i++) {
		BERTH_AUTO_TEXT struct berth_text text = {0};
		struct thing back, thing = {.sign = values[i]};

		assert_int_equal(berth_lines_write(&text, table, &thing), 0);
		assert_int_equal(read_back(text.at, &back), 0);
		assert_int_equal(back.sign, values[i]);
	}
}

static void test_text_that_would_break_a_line(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct thing thing = {.word = "a\nb"};

	assert_int_equal(berth_lines_write(&text, table, &thing), -EINVAL);
	memset(thing.word, 'x', sizeof(thing.word));
	assert_int_equal(berth_lines_write(&text, table, &thing), -EINVAL);
}

/* Whatever single byte is changed, added or left out, it is noticed. */
static void test_every_flip(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct thing back;

	assert_int_equal(berth_lines_write(&text, table, &full), 0);
	for (size_t i = 0; i < text.len; i++) {
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			text.at[i] = (char)(text.at[i] ^ (char)bit);
			back = (struct thing){0};
			assert_int_equal(berth_lines_read(text.at, text.len, table, &back), -EBADMSG);
			text.at[i] = (char)(text.at[i] ^ (char)bit);
		}
	}
	for (size_t n = 0; n < text.len; n++) {
		char kept = text.at[n];

		text.at[n] = '\0';
		back = (struct thing){0};
		assert_int_equal(berth_lines_read(text.at, n, table, &back), -EBADMSG);
		text.at[n] = kept;
	}
	berth_text_add(&text, "x 1\n");
	assert_int_equal(berth_lines_read(text.at, text.len, table, &back), -EBADMSG);
}

static void test_unknown_and_missing_lines(void **state)
{
	BERTH_AUTO_FREE char *text = summed("of-a-newer-version 7 8 9\nsmall 5\n");
	struct thing back;

	assert_int_equal(read_back(text, &back), 0);
	assert_int_equal(back.small, 5);
	assert_int_equal(back.big, 0);
	assert_string_equal(back.word, "");
}

static void test_values_that_do_not_fit(void **state)
{
	static const char *const bad[] = {
		"small 4294967296\n",
		"small -1\n",
		"small\n",
		"small \n",
		"sign -2147483649\n",
		"sign 2147483648\n",
		"sign --1\n",
		"sign -\n",
		"so 2\n",
		"so yes\n",
		"word 12345678\n",
		"list four\n",
		"big 1x\n",
		" 1\n",
		"small 1",
		"list a\nlist b\nlist c\nlist d\n",
		"a-name-that-is-longer-than-any 1\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		BERTH_AUTO_FREE char *text = summed(bad[i]);
		struct thing back;

		if (read_back(text, &back) != -EBADMSG)
			fail_msg("accepted: %s", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_signs),
		cmocka_unit_test(test_text_that_would_break_a_line),
		cmocka_unit_test(test_every_flip),
		cmocka_unit_test(test_unknown_and_missing_lines),
		cmocka_unit_test(test_values_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
