#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include "api/ask.h"
#include "base/units.h"

#define NOW_MS UINT64_C(1796000000000)

static const struct berth_api_host host = {
	.default_limit_ms = 86400000, .default_grace_ms = 30000, .default_gpus = 1, .default_requeue = 2};

/* Parse a request; its result. text is kept alive in ret_root. */
static int parse(const char *text, bool is_alter, struct berth_ask *ret, json_t **ret_root, struct berth_error *err)
{
	*ret_root = json_loads(text, 0, NULL);
	assert_non_null(*ret_root);
	*ret = berth_ask_default(&host);
	return berth_ask_parse(*ret_root, is_alter, "jobs[3].", NOW_MS, ret, err);
}

static void test_defaults(void **state)
{
	struct berth_ask ask;
	json_t *root;

	assert_int_equal(parse("{}", false, &ask, &root, NULL), 0);
	assert_int_equal(ask.fields, 0);
	assert_int_equal(ask.request.gpus, 1);
	assert_int_equal(ask.request.limit_ms, 86400000);
	assert_int_equal(ask.grace_ms, 30000);
	assert_int_equal(ask.requeue_max, 2);
	assert_int_equal(ask.tier, BERTH_TIER_P2);
	assert_string_equal(ask.request.gpu_model, "");
	assert_string_equal(ask.name, "");
	assert_false(ask.is_held);
	json_decref(root);
}

static void test_every_field(void **state)
{
	struct berth_ask ask;
	json_t *root;

	assert_int_equal(parse("{\"name\":\"训练\",\"gpus\":2,\"gpu_model\":\"A100-80GB\",\"gpu_mem_bytes\":"
	                       "42949672960,\"gpu_index\":[3,5],"
	                       "\"limit_ms\":1000,\"tier\":\"p0\",\"hold\":true,\"begin\":\"2026-12-01T08:00:00+08:"
	                       "00\",\"grace_ms\":0,"
	                       "\"requeue\":5}",
	                       false, &ask, &root, NULL),
	                 0);
	assert_string_equal(ask.name, "训练");
	assert_int_equal(ask.request.gpus, 2);
	assert_string_equal(ask.request.gpu_model, "A100-80GB");
	assert_int_equal(ask.request.gpu_mem_bytes, UINT64_C(42949672960));
	assert_int_equal(ask.request.index_mask, 0x28);
	assert_int_equal(ask.request.limit_ms, 1000);
	assert_int_equal(ask.tier, BERTH_TIER_P0);
	assert_true(ask.is_held);
	assert_int_equal(ask.begin_ms, UINT64_C(1796083200000));
	assert_int_equal(ask.grace_ms, 0);
	assert_int_equal(ask.requeue_max, 5);
	assert_int_equal(ask.fields, BERTH_ALTER_NAME | BERTH_ALTER_GPUS | BERTH_ALTER_MODEL | BERTH_ALTER_GPU_MEM |
	                                     BERTH_ALTER_INDEX | BERTH_ALTER_LIMIT | BERTH_ALTER_TIER |
	                                     BERTH_ALTER_BEGIN | BERTH_ALTER_GRACE | BERTH_ALTER_REQUEUE);
	json_decref(root);
}

static void test_null_takes_back(void **state)
{
	struct berth_ask ask;
	json_t *root;

	assert_int_equal(
		parse("{\"gpu_model\":null,\"gpu_mem_bytes\":null,\"gpu_index\":null,\"limit_ms\":null,\"begin\":null}",
	              true, &ask, &root, NULL),
		0);
	assert_string_equal(ask.request.gpu_model, "");
	assert_int_equal(ask.request.gpu_mem_bytes, 0);
	assert_int_equal(ask.request.index_mask, 0);
	assert_int_equal(ask.request.limit_ms, BERTH_UNLIMITED_MS);
	assert_int_equal(ask.begin_ms, 0);
	json_decref(root);
}

/* What is refused, and what the refusal names. */
static void test_refusals_name_the_field(void **state)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{"{\"gpus\":0.5}", "jobs[3].gpus"},
		{"{\"gpus\":-1}", "jobs[3].gpus"},
		{"{\"gpus\":\"2\"}", "jobs[3].gpus"},
		{"{\"gpus\":9223372036854775807}", "jobs[3].gpus"},
		{"{\"gpus\":null}", "jobs[3].gpus"},
		{"{\"name\":\"\"}", "jobs[3].name"},
		{"{\"name\":7}", "jobs[3].name"},
		{"{\"name\":\"a\\nb\"}", "jobs[3].name"},
		{"{\"name\":\"\\u001b[31m\"}", "jobs[3].name"},
		{"{\"name\":\"\\u202egnp.exe\"}", "jobs[3].name"},
		{"{\"gpu_model\":1}", "jobs[3].gpu_model"},
		{"{\"gpu_mem_bytes\":0}", "jobs[3].gpu_mem_bytes"},
		{"{\"gpu_mem_bytes\":\"40G\"}", "jobs[3].gpu_mem_bytes"},
		{"{\"gpu_index\":[]}", "jobs[3].gpu_index"},
		{"{\"gpu_index\":[3,3]}", "jobs[3].gpu_index"},
		{"{\"gpu_index\":[64]}", "jobs[3].gpu_index"},
		{"{\"gpu_index\":[-1]}", "jobs[3].gpu_index"},
		{"{\"gpu_index\":3}", "jobs[3].gpu_index"},
		{"{\"limit_ms\":0}", "jobs[3].limit_ms"},
		{"{\"limit_ms\":-5}", "jobs[3].limit_ms"},
		{"{\"limit_ms\":9223372036854775807}", "jobs[3].limit_ms"},
		{"{\"tier\":\"P3\"}", "jobs[3].tier"},
		{"{\"tier\":1}", "jobs[3].tier"},
		{"{\"hold\":1}", "jobs[3].hold"},
		{"{\"begin\":\"tomorrow\"}", "jobs[3].begin"},
		{"{\"begin\":0}", "jobs[3].begin"},
		{"{\"grace_ms\":-1}", "jobs[3].grace_ms"},
		{"{\"grace_ms\":1.5}", "jobs[3].grace_ms"},
		{"{\"requeue\":1001}", "jobs[3].requeue"},
		{"{\"requeue\":true}", "jobs[3].requeue"},
		{"{\"gpsu\":1}", "did you mean gpus?"},
		{"{\"limit\":1}", "jobs[3].limit is not a field"},
		{"{\"user\":\"root\"}", "jobs[3].user is not a field"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct berth_error err = {0};
		struct berth_ask ask;
		json_t *root;

		assert_int_equal(parse(cases[i].text, false, &ask, &root, &err), -EINVAL);
		if (!strstr(err.text, cases[i].named))
			fail_msg("%s: %s", cases[i].text, err.text);
		json_decref(root);
	}
}

static void test_a_long_name(void **state)
{
	struct berth_ask ask;
	char text[200];
	json_t *root;

	(void)snprintf(text, sizeof(text), "{\"name\":\"%0128d\"}", 0);
	assert_int_equal(parse(text, false, &ask, &root, NULL), 0);
	json_decref(root);
	(void)snprintf(text, sizeof(text), "{\"name\":\"%0129d\"}", 0);
	assert_int_equal(parse(text, false, &ask, &root, NULL), -EINVAL);
	json_decref(root);
}

static void test_what_cannot_be_altered(void **state)
{
	struct berth_error err = {0};
	struct berth_ask ask;
	json_t *root;

	assert_int_equal(parse("{\"hold\":true}", true, &ask, &root, &err), -EINVAL);
	json_decref(root);
	assert_int_equal(parse("{\"spec\":{}}", true, &ask, &root, &err), -EINVAL);
	json_decref(root);
}

static void test_the_sites_limit(void **state)
{
	struct berth_ask ask = {.request = {.limit_ms = 7200000}};
	struct berth_error err = {0};

	assert_true(berth_ask_is_within(&ask, 7200000, &err));
	assert_true(berth_ask_is_within(&ask, 0, &err));
	assert_true(berth_ask_is_within(&ask, UINT64_MAX, &err));
	assert_false(berth_ask_is_within(&ask, 7199999, &err));
	assert_non_null(strstr(err.text, "2:00:00"));
	ask.request.limit_ms = BERTH_UNLIMITED_MS;
	assert_false(berth_ask_is_within(&ask, 7200000, &err));
	assert_true(berth_ask_is_within(&ask, BERTH_UNLIMITED_MS, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),        cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_null_takes_back), cmocka_unit_test(test_refusals_name_the_field),
		cmocka_unit_test(test_a_long_name),     cmocka_unit_test(test_what_cannot_be_altered),
		cmocka_unit_test(test_the_sites_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
