#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "store/fact_copy.h"
#include "store/store.h"

/* --- random facts of every kind, made from the shapes ---------------------------------------------------- */

static uint64_t draw(uint64_t *seed)
{
	*seed += 0x9e3779b97f4a7c15u;
	return berth_hash_u64(*seed);
}

static const char *const words[] = {
	"",
	"lin",
	"job with spaces",
	"\xe8\xae\xad\xe7\xbb\x83",
	"quote \" and \\ and / slash",
	"tab\tnewline\nbell\x07 escape\x1b",
	"\xf0\x9f\x9a\xa2 ship",
	"\x7f delete",
	"{\"json\":true}",
	"a\xcc\x81",
};

static uint64_t draw_number(uint64_t *seed)
{
	static const uint64_t edges[] = {0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, 1700000000000u};
	const uint64_t choice = draw(seed);

	return choice % 2 ? edges[choice / 2 % 6] : draw(seed) >> (draw(seed) % 64);
}

static void fill_field(uint64_t *seed, const struct berth_field *field, void *at)
{
	struct berth_share_set *set = at;

	switch (field->type) {
	case BERTH_FIELD_U64:
		*(uint64_t *)at = draw_number(seed);
		break;
	case BERTH_FIELD_U32:
	case BERTH_FIELD_I32:
		*(uint32_t *)at = (uint32_t)draw_number(seed);
		break;
	case BERTH_FIELD_BOOL:
		*(bool *)at = draw(seed) % 2;
		break;
	case BERTH_FIELD_STR:
		*(const char **)at = words[draw(seed) % (sizeof(words) / sizeof(*words))];
		break;
	case BERTH_FIELD_ENUM:
		*(uint32_t *)at = (uint32_t)(draw(seed) % field->n_names);
		break;
	case BERTH_FIELD_SHARES:
		set->n = (uint32_t)(draw(seed) % (BERTH_NODE_DEVICES_MAX + 1));
		for (uint32_t i = 0; i < set->n; i++)
			set->share[i].device = (uint32_t)draw(seed);
		break;
	case BERTH_FIELD_END:
		break;
	}
}

static struct berth_fact draw_fact(uint64_t *seed, enum berth_fact_kind kind)
{
	struct berth_fact fact;

	berth_fact_init(&fact, kind);
	fact.seq = draw(seed);
	fact.at_ms = draw(seed);
	for (const struct berth_field *field = berth_fact_shape(kind)->fields; field->type != BERTH_FIELD_END; field++)
		fill_field(seed, field, (char *)&fact + field->offset);
	return fact;
}

static bool is_equal_field(const struct berth_field *field, const void *a, const void *b)
{
	const struct berth_share_set *x = a, *y = b;

	switch (field->type) {
	case BERTH_FIELD_U64:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case BERTH_FIELD_U32:
	case BERTH_FIELD_I32:
	case BERTH_FIELD_ENUM:
		return *(const uint32_t *)a == *(const uint32_t *)b;
	case BERTH_FIELD_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case BERTH_FIELD_STR:
		return strcmp(*(const char *const *)a, *(const char *const *)b) == 0;
	case BERTH_FIELD_SHARES:
		return x->n == y->n && memcmp(x->share, y->share, x->n * sizeof(*x->share)) == 0;
	case BERTH_FIELD_END:
		break;
	}
	return false;
}

static void assert_equal_facts(const struct berth_fact *a, const struct berth_fact *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(a->seq == b->seq && a->at_ms == b->at_ms);
	for (const struct berth_field *field = berth_fact_shape(a->kind)->fields; field->type != BERTH_FIELD_END;
	     field++) {
		if (!is_equal_field(field, (const char *)a + field->offset, (const char *)b + field->offset))
			fail_msg("%s.%s differs", berth_fact_shape(a->kind)->name, field->name);
	}
}

static void test_every_kind_comes_back_as_it_went(void **state)
{
	uint64_t seed = 20260101;

	for (unsigned round = 0; round < 200; round++) {
		for (unsigned kind = 1; kind < BERTH_FACT_COUNT; kind++) {
			BERTH_AUTO_ARENA struct berth_arena arena = {0};
			const struct berth_fact fact = draw_fact(&seed, (enum berth_fact_kind)kind);
			BERTH_AUTO_FREE char *json = berth_fact_to_json(&fact);
			struct berth_fact back = {.kind = fact.kind, .seq = fact.seq, .at_ms = fact.at_ms};
			struct berth_error err = {0};

			assert_non_null(json);
			if (berth_fact_from_json(&back, json, &arena, &err) < 0)
				fail_msg("%s: %s", err.text, json);
			assert_equal_facts(&fact, &back);
		}
	}
}

static void test_a_copy_owns_its_strings(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	struct berth_copy_memory *memory = calloc(1, sizeof(*memory));
	uint64_t seed = 7;

	for (unsigned round = 0; round < 50; round++) {
		const struct berth_fact fact = draw_fact(&seed, BERTH_FACT_JOB_IMAGE);
		struct berth_fact plain, remembered;

		assert_int_equal(berth_fact_copy(&plain, &fact, &arena, NULL), 0);
		assert_int_equal(berth_fact_copy(&remembered, &fact, &arena, memory), 0);
		assert_equal_facts(&fact, &plain);
		assert_equal_facts(&fact, &remembered);
		if (*fact.u.image.asked.user)
			assert_ptr_not_equal(plain.u.image.asked.user, fact.u.image.asked.user);
	}
	free(memory);
}

static void test_text_that_is_no_utf8_is_the_same_in_memory_and_journal(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	BERTH_AUTO_FREE char *from_raw = NULL;
	BERTH_AUTO_FREE char *from_copy = NULL;
	struct berth_fact fact, copy;

	berth_fact_init(&fact, BERTH_FACT_JOB_HELD);
	fact.u.job.job = 1;
	fact.u.job.by = "M\xfcller \xe8\xae \xed\xa0\x80 \xe8\xae\xad";
	assert_int_equal(berth_fact_copy(&copy, &fact, &arena, NULL), 0);
	assert_string_equal(copy.u.job.by, "M?ller ?? ??? \xe8\xae\xad");
	from_raw = berth_fact_to_json(&fact);
	from_copy = berth_fact_to_json(&copy);
	assert_string_equal(from_raw, "{\"job\":1,\"by\":\"M?ller ?? ??? \xe8\xae\xad\"}");
	assert_string_equal(from_copy, from_raw);
}

/* --- the form, word for word ----------------------------------------------------------------------------- */

static void test_the_form_of_a_row(void **state)
{
	BERTH_AUTO_FREE char *assigned = NULL;
	BERTH_AUTO_FREE char *ended = NULL;
	BERTH_AUTO_FREE char *limit = NULL;
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ASSIGNED);
	fact.u.assigned = (struct berth_fact_assigned){.job = 12, .attempt = 1, .set = {2, {{3}, {5}}}};
	assigned = berth_fact_to_json(&fact);
	assert_string_equal(assigned, "{\"job\":12,\"attempt\":1,\"devices\":[3,5]}");
	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended = (struct berth_fact_ended){
		.job = 12, .attempt = 1, .exit_code = -1, .signal = 9, .how = BERTH_REASON_OUT_OF_MEMORY};
	ended = berth_fact_to_json(&fact);
	assert_non_null(
		strstr(ended, "\"exit_code\":-1,\"signal\":9,\"cause\":\"none\",\"how\":\"OutOfMemory\",\"error\":0"));
	berth_fact_init(&fact, BERTH_FACT_LIMIT_SET);
	fact.u.limit = (struct berth_fact_limit){.job = 12, .attempt = 1, .limit_ms = UINT64_MAX};
	limit = berth_fact_to_json(&fact);
	assert_string_equal(limit, "{\"job\":12,\"attempt\":1,\"limit_ms\":\"18446744073709551615\"}");
}

static void test_an_image_leaves_out_what_is_zero(void **state)
{
	BERTH_AUTO_FREE char *json = NULL;
	BERTH_AUTO_FREE char *empty = NULL;
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_IMAGE);
	empty = berth_fact_to_json(&fact);
	assert_string_equal(empty, "{}");
	fact.u.image.id = 3;
	fact.u.image.state = BERTH_JOB_PENDING;
	fact.u.image.asked.tier = BERTH_TIER_P2;
	json = berth_fact_to_json(&fact);
	assert_string_equal(json, "{\"job\":3,\"state\":\"PENDING\",\"tier\":\"P2\"}");
}

/* --- what is read ---------------------------------------------------------------------------------------- */

static int read_as(enum berth_fact_kind kind, const char *json, struct berth_fact *ret, struct berth_arena *arena,
                   struct berth_error *err)
{
	*ret = (struct berth_fact){.kind = kind};
	*err = (struct berth_error){0};
	return berth_fact_from_json(ret, json, arena, err);
}

static void test_missing_fields_are_zero_and_unknown_ones_ignored(void **state)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	struct berth_error err;
	struct berth_fact fact;

	assert_int_equal(
		read_as(BERTH_FACT_JOB_SUBMITTED, "{\"job\":4,\"colour\":\"blue\",\"deep\":[{}]}", &fact, &arena, &err),
		0);
	assert_int_equal(fact.u.submit.job, 4);
	assert_int_equal(fact.u.submit.uid, 0);
	assert_string_equal(fact.u.submit.user, "");
	assert_string_equal(fact.u.submit.request.gpu_model, "");
}

static void test_what_cannot_be_right_is_refused_by_name(void **state)
{
	static const struct {
		enum berth_fact_kind kind;
		const char *json, *word;
	} cases[] = {
		{BERTH_FACT_JOB_HELD, "", "JobHeld"},
		{BERTH_FACT_JOB_HELD, "[1]", "no JSON object"},
		{BERTH_FACT_JOB_HELD, "{\"job\":1", "no JSON object"},
		{BERTH_FACT_JOB_HELD, "{\"job\":1}x", "no JSON object"},
		{BERTH_FACT_JOB_HELD, "{\"job\":1,\"job\":2}", "no JSON object"},
		{BERTH_FACT_JOB_HELD, "{\"job\":-1}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":1.5}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":\"\"}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":\"12a\"}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":\"18446744073709551616\"}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":null}", "\"job\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":1,\"by\":5}", "\"by\""},
		{BERTH_FACT_JOB_HELD, "{\"job\":1,\"by\":\"a\\u0000b\"}", "no JSON object"},
		{BERTH_FACT_JOB_HELD, "{\"job\":1,\"by\":\"\xff\"}", "no JSON object"},
		{BERTH_FACT_ATTEMPT_STARTED, "{\"attempt\":4294967296}", "\"attempt\""},
		{BERTH_FACT_ATTEMPT_STARTED, "{\"pid\":2147483648}", "\"pid\""},
		{BERTH_FACT_ATTEMPT_STARTED, "{\"pid\":\"1\"}", "\"pid\""},
		{BERTH_FACT_DEVICE_DRAIN, "{\"is_draining\":1}", "\"is_draining\""},
		{BERTH_FACT_DEVICE_HEALTH, "{\"health\":\"tired\"}", "\"health\""},
		{BERTH_FACT_DEVICE_HEALTH, "{\"health\":1}", "\"health\""},
		{BERTH_FACT_ATTEMPT_ASSIGNED, "{\"devices\":3}", "\"devices\""},
		{BERTH_FACT_ATTEMPT_ASSIGNED, "{\"devices\":[-1]}", "\"devices\""},
		{BERTH_FACT_ATTEMPT_ASSIGNED, "{\"devices\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]}",
	         "\"devices\""},
		{BERTH_FACT_UNKNOWN, "{}", "unknown kind"},
		{BERTH_FACT_COUNT, "{}", "unknown kind"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		BERTH_AUTO_ARENA struct berth_arena arena = {0};
		struct berth_error err;
		struct berth_fact fact;

		assert_int_equal(read_as(cases[i].kind, cases[i].json, &fact, &arena, &err), -EBADMSG);
		if (!strstr(err.text, cases[i].word))
			fail_msg("%s: \"%s\" does not say %s", cases[i].json, err.text, cases[i].word);
	}
}

static void test_a_fact_of_no_kind_is_not_written(void **state)
{
	const struct berth_fact fact = {0};

	assert_null(berth_fact_to_json(&fact));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_comes_back_as_it_went),
		cmocka_unit_test(test_a_copy_owns_its_strings),
		cmocka_unit_test(test_text_that_is_no_utf8_is_the_same_in_memory_and_journal),
		cmocka_unit_test(test_the_form_of_a_row),
		cmocka_unit_test(test_an_image_leaves_out_what_is_zero),
		cmocka_unit_test(test_missing_fields_are_zero_and_unknown_ones_ignored),
		cmocka_unit_test(test_what_cannot_be_right_is_refused_by_name),
		cmocka_unit_test(test_a_fact_of_no_kind_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
