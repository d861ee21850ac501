#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "device/answer.h"

#define NUMBER 7

static struct berth_answer answer; /* large; begun anew by each test */

static struct berth_probe_answer packet_of(uint32_t kind, uint32_t n_all, uint32_t first, uint32_t n)
{
	return (struct berth_probe_answer){.magic = BERTH_PROBE_MAGIC,
	                                   .version = BERTH_PROBE_VERSION,
	                                   .kind = kind,
	                                   .number = NUMBER,
	                                   .n_all = n_all,
	                                   .first = first,
	                                   .n = n};
}

static int take(const struct berth_probe_answer *packet)
{
	struct berth_error err = {0};
	int r = berth_answer_take(&answer, packet, sizeof(*packet), &err);

	assert_int_equal(r < 0, err.text[0] != '\0');
	return r;
}

/* Devices first.. of n_all, with different UUIDs. */
static struct berth_probe_answer devices(uint32_t n_all, uint32_t first, uint32_t n)
{
	struct berth_probe_answer packet = packet_of(BERTH_PROBE_SCAN, n_all, first, n);

	for (uint32_t i = 0; i < n && i < BERTH_PROBE_DEVICES_PER_PACKET; i++)
		(void)snprintf(packet.u.device[i].uuid, sizeof(packet.u.device[i].uuid), "SIM-%u", first + i);
	return packet;
}

static void test_devices_in_several_packets(void **state)
{
	struct berth_probe_answer packet = devices(6, 0, 4);

	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), 0);
	packet = devices(6, 4, 2);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.n, 6);
	assert_int_equal(answer.result, 0);
	assert_string_equal(answer.device[0].uuid, "SIM-0");
	assert_string_equal(answer.device[5].uuid, "SIM-5");
}

static void test_a_total_that_shrinks_is_refused(void **state)
{
	struct berth_probe_answer packet = devices(6, 0, 4);

	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), 0);
	packet = devices(2, 4, 4);
	assert_int_equal(take(&packet), -EPROTO);
	assert_int_equal(answer.n, 4);
}

static void test_no_devices_is_an_answer(void **state)
{
	const struct berth_probe_answer packet = devices(0, 0, 0);

	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.n, 0);
}

static void test_refusal(void **state)
{
	struct berth_probe_answer packet = packet_of(BERTH_PROBE_SCAN, 0, 0, 0);

	packet.result = -ENODEV;
	(void)snprintf(packet.u.text, sizeof(packet.u.text), "no card here");
	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.result, -ENODEV);
	assert_int_equal(answer.err.code, -ENODEV);
	assert_string_equal(answer.err.text, "no card here");
	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(answer.result, 0);
	memset(packet.u.text, 'x', sizeof(packet.u.text));
	assert_int_equal(take(&packet), -EPROTO);
}

static void test_a_foreign_packet_is_refused(void **state)
{
	const struct berth_probe_answer good = devices(1, 0, 1);
	struct berth_probe_answer packet = good;

	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	packet.magic++;
	assert_int_equal(take(&packet), -EPROTO);
	packet = good;
	packet.version++;
	assert_int_equal(take(&packet), -EPROTO);
	packet = good;
	packet.kind = BERTH_PROBE_LINKS;
	assert_int_equal(take(&packet), -EPROTO);
	packet = good;
	packet.number--;
	assert_int_equal(take(&packet), -EPROTO);
	assert_int_equal(berth_answer_take(&answer, &good, sizeof(good) - 1, NULL), -EPROTO);
	assert_int_equal(berth_answer_take(&answer, &good, sizeof(good) + 1, NULL), -EPROTO);
	assert_int_equal(answer.n, 0);
	assert_int_equal(take(&good), 1);
}

static void test_wrong_counts_are_refused(void **state)
{
	static const struct {
		uint32_t n_all, first, n;
	} wrong[] = {{6, 1, 4},          {6, 0, 0}, {6, 0, 5},         {2, 0, 3}, {BERTH_DEVICES_MAX + 1, 0, 4},
	             {UINT32_MAX, 0, 4}, {0, 0, 1}, {1, UINT32_MAX, 2}};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct berth_probe_answer packet = devices(wrong[i].n_all, wrong[i].first, wrong[i].n);

		berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
		if (take(&packet) != -EPROTO)
			fail_msg("%u of %u from %u is taken", wrong[i].n, wrong[i].n_all, wrong[i].first);
	}
}

static void test_unsound_devices_are_refused(void **state)
{
	struct berth_probe_answer packet = devices(2, 0, 2);

	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	packet.u.device[1].uuid[0] = '\0';
	assert_int_equal(take(&packet), -EPROTO);
	packet = devices(2, 0, 2);
	memset(packet.u.device[1].model, 'x', sizeof(packet.u.device[1].model));
	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), -EPROTO);
	packet = devices(2, 0, 2);
	memcpy(packet.u.device[1].uuid, packet.u.device[0].uuid, sizeof(packet.u.device[0].uuid));
	berth_answer_begin(&answer, BERTH_PROBE_SCAN, NUMBER);
	assert_int_equal(take(&packet), -EPROTO);
}

static void test_links(void **state)
{
	struct berth_probe_answer packet = packet_of(BERTH_PROBE_LINKS, 1, 0, 1);

	packet.u.link[0] = (struct berth_link){.a = 0, .b = 1, .kind = BERTH_LINK_NVLINK, .mbyte_per_s = 50000};
	berth_answer_begin(&answer, BERTH_PROBE_LINKS, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.link[0].mbyte_per_s, 50000);
	for (unsigned i = 0; i < 3; i++) {
		struct berth_probe_answer wrong = packet;

		wrong.u.link[0].a = i == 0 ? 1 : 0;
		wrong.u.link[0].b = i == 1 ? BERTH_DEVICES_MAX : 1;
		if (i == 2)
			wrong.u.link[0].kind = BERTH_LINK_NVSWITCH + 1;
		berth_answer_begin(&answer, BERTH_PROBE_LINKS, NUMBER);
		assert_int_equal(take(&wrong), -EPROTO);
	}
}

static void test_sample_values_out_of_range_are_unknown(void **state)
{
	struct berth_probe_answer packet = packet_of(BERTH_PROBE_SAMPLE, 1, 0, 1);

	packet.u.sample = (struct berth_sample){.valid = BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM | BERTH_SAMPLE_HEALTH,
	                                        .util_permille = 1000,
	                                        .mem_used_bytes = 5,
	                                        .health = BERTH_DEVICE_HEALTH_OK};
	berth_answer_begin(&answer, BERTH_PROBE_SAMPLE, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.sample.valid, BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM | BERTH_SAMPLE_HEALTH);
	packet.u.sample.util_permille = 1001;
	berth_answer_begin(&answer, BERTH_PROBE_SAMPLE, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.sample.valid, BERTH_SAMPLE_MEM | BERTH_SAMPLE_HEALTH);
	packet.u.sample.health = BERTH_DEVICE_HEALTH_LOST + 1;
	berth_answer_begin(&answer, BERTH_PROBE_SAMPLE, NUMBER);
	assert_int_equal(take(&packet), 1);
	assert_int_equal(answer.sample.valid, BERTH_SAMPLE_MEM);
}

static void test_one_sample_and_only_one(void **state)
{
	struct berth_probe_answer packet = packet_of(BERTH_PROBE_SAMPLE, 0, 0, 0);

	berth_answer_begin(&answer, BERTH_PROBE_SAMPLE, NUMBER);
	assert_int_equal(take(&packet), -EPROTO);
	packet = packet_of(BERTH_PROBE_LOAD, 1, 0, 1);
	berth_answer_begin(&answer, BERTH_PROBE_LOAD, NUMBER);
	assert_int_equal(take(&packet), -EPROTO);
	packet = packet_of(BERTH_PROBE_LOAD, 0, 0, 0);
	assert_int_equal(take(&packet), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices_in_several_packets),
		cmocka_unit_test(test_a_total_that_shrinks_is_refused),
		cmocka_unit_test(test_no_devices_is_an_answer),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_a_foreign_packet_is_refused),
		cmocka_unit_test(test_wrong_counts_are_refused),
		cmocka_unit_test(test_unsound_devices_are_refused),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_sample_values_out_of_range_are_unknown),
		cmocka_unit_test(test_one_sample_and_only_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
