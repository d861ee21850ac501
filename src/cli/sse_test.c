#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "cli/sse.h"

static void assert_next(struct berth_text *text, const char *name, const char *data)
{
	struct berth_sse event;

	assert_true(berth_sse_take(text, &event));
	assert_string_equal(event.name, name);
	assert_string_equal(event.data, data);
	free(event.data);
}

static void test_events_come_out_in_order(void **state)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_sse event;

	berth_text_add(&text, ": a comment\n\nevent: job\nid: 7\ndata: {\"id\":1}\n\ndata:two\ndata: lines\n\n"
	                      "event: nothing\n\nevent: gpu\r\ndata: {}\r\n\r\nevent: job\ndata: half");
	assert_next(&text, "job", "{\"id\":1}");
	assert_next(&text, "message", "two\nlines");
	assert_next(&text, "gpu", "{}");
	assert_false(berth_sse_take(&text, &event));
	berth_text_add(&text, " and half\n");
	assert_false(berth_sse_take(&text, &event));
	berth_text_add(&text, "\n");
	assert_next(&text, "job", "half and half");
	assert_int_equal(text.len, 0);
	assert_false(berth_sse_take(&text, &event));
}

static void test_a_byte_at_a_time(void **state)
{
	static const char stream[] = ":\n\nevent: progress\ndata: 1\n\nevent: averyveryverylongname\ndata\n\n";
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_sse event;
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(stream) - 1; i++) {
		berth_text_add_n(&text, stream + i, 1);
		while (berth_sse_take(&text, &event)) {
			assert_string_equal(event.name, n == 0 ? "progress" : "averyveryverylo");
			assert_string_equal(event.data, n == 0 ? "1" : "");
			free(event.data);
			n++;
		}
	}
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_come_out_in_order),
		cmocka_unit_test(test_a_byte_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
