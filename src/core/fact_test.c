#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "core/fact.h"

static void test_every_kind_has_a_shape(void **state)
{
	assert_null(berth_fact_shape(BERTH_FACT_UNKNOWN));
	assert_null(berth_fact_shape(BERTH_FACT_COUNT));
	assert_null(berth_fact_shape((enum berth_fact_kind)4000000));
	for (unsigned kind = 1; kind < BERTH_FACT_COUNT; kind++) {
		const struct berth_fact_shape *shape = berth_fact_shape(kind);

		assert_non_null(shape->name);
		assert_non_null(shape->fields);
		assert_int_equal(berth_fact_kind_from_name(shape->name), kind);
		assert_int_equal(shape->is_decision,
		                 kind >= BERTH_FACT_ATTEMPT_ASSIGNED && kind <= BERTH_FACT_JOB_FORGOTTEN);
	}
	assert_int_equal(berth_fact_kind_from_name("NoSuchFact"), BERTH_FACT_UNKNOWN);
	assert_int_equal(berth_fact_kind_from_name(""), BERTH_FACT_UNKNOWN);
}

static size_t size_of(enum berth_field_type type)
{
	switch (type) {
	case BERTH_FIELD_U64:
		return 8;
	case BERTH_FIELD_BOOL:
		return sizeof(bool);
	case BERTH_FIELD_STR:
		return sizeof(char *);
	case BERTH_FIELD_SHARES:
		return sizeof(struct berth_share_set);
	default:
		return 4;
	}
}

/* Fields lie inside the fact, apart from each other, aligned, and have names of their own. */
static void test_fields_do_not_overlap(void **state)
{
	for (unsigned kind = 1; kind < BERTH_FACT_COUNT; kind++) {
		const struct berth_field *fields = berth_fact_shape(kind)->fields;

		for (const struct berth_field *a = fields; a->type != BERTH_FIELD_END; a++) {
			assert_in_range(a->offset, offsetof(struct berth_fact, u),
			                sizeof(struct berth_fact) - size_of(a->type));
			assert_int_equal(a->offset % (size_of(a->type) < 8 ? size_of(a->type) : 4), 0);
			for (const struct berth_field *b = fields; b < a; b++) {
				assert_string_not_equal(a->name, b->name);
				assert_true(a->offset + size_of(a->type) <= b->offset ||
				            b->offset + size_of(b->type) <= a->offset);
			}
		}
	}
}

static void test_enumerations_have_names(void **state)
{
	for (unsigned kind = 1; kind < BERTH_FACT_COUNT; kind++) {
		for (const struct berth_field *field = berth_fact_shape(kind)->fields; field->type != BERTH_FIELD_END;
		     field++) {
			assert_int_equal(field->type == BERTH_FIELD_ENUM, field->names != NULL);
			for (uint32_t i = 0; i < field->n_names; i++)
				assert_non_null(field->names[i]);
		}
	}
}

static void test_init_leaves_no_string_null(void **state)
{
	for (unsigned kind = 0; kind <= BERTH_FACT_COUNT; kind++) {
		const struct berth_fact_shape *shape = berth_fact_shape(kind);
		struct berth_fact fact;

		memset(&fact, 0xff, sizeof(fact));
		berth_fact_init(&fact, kind);
		assert_int_equal(fact.kind, kind);
		assert_int_equal(fact.seq, 0);
		for (const struct berth_field *field = shape ? shape->fields : NULL;
		     field && field->type != BERTH_FIELD_END; field++) {
			if (field->type == BERTH_FIELD_STR)
				assert_string_equal(*(const char *const *)((const char *)&fact + field->offset), "");
		}
	}
}

/* A snapshot that forgets a member would lose it at every restart. Here every byte of a job that is not padding, or
 * known to be the job's own id, must belong to a field. */
static void test_the_image_tells_the_whole_job(void **state)
{
	unsigned char told[sizeof(struct berth_job)] = { 0 };
	size_t untold = 0;

	for (const struct berth_field *field = berth_fact_shape(BERTH_FACT_JOB_IMAGE)->fields;
	     field->type != BERTH_FIELD_END; field++)
		memset(told + field->offset - offsetof(struct berth_fact, u.image), 1, size_of(field->type));
	memset(told + offsetof(struct berth_job, asked.job), 1, sizeof(uint64_t));
	memset(told + offsetof(struct berth_job, last.job), 1, sizeof(uint64_t));
	for (size_t i = 0; i < sizeof(told); i++)
		untold += !told[i];
	/* Padding only: behind bools, and where a 4-byte member stands before an 8-byte one. */
	assert_in_range(untold, 0, 60);
	for (size_t i = 0; i + 8 <= sizeof(told); i += 8)
		assert_true(memchr(told + i, 1, 8) != NULL);
}

static void test_states(void **state)
{
	assert_string_equal(berth_job_state_name(BERTH_JOB_STARTING), "STARTING");
	assert_string_equal(berth_job_state_public_name(BERTH_JOB_STARTING), "PENDING");
	assert_string_equal(berth_job_state_public_name(BERTH_JOB_ENDED), "STOPPING");
	assert_string_equal(berth_job_state_public_name(BERTH_JOB_OUT_OF_MEMORY), "OUT_OF_MEMORY");
	assert_string_equal(berth_job_state_name((enum berth_job_state)99), "UNKNOWN");
	for (unsigned s = 0; s < BERTH_JOB_STATE_COUNT; s++) {
		assert_non_null(berth_job_state_name(s));
		assert_false(berth_job_state_is_final(s) && berth_job_state_is_live(s));
	}
	assert_true(berth_job_state_is_final(BERTH_JOB_COMPLETED));
	assert_true(berth_job_state_is_final(BERTH_JOB_NODE_FAIL));
	assert_false(berth_job_state_is_final(BERTH_JOB_ENDED));
	assert_false(berth_job_state_is_final((enum berth_job_state)99));
	assert_true(berth_job_state_is_live(BERTH_JOB_STOPPING));
	assert_false(berth_job_state_is_live(BERTH_JOB_ENDED));
}

static void test_reasons(void **state)
{
	for (unsigned code = 0; code < BERTH_REASON_COUNT; code++) {
		const char *const *params = berth_reason_param_names(code);

		assert_non_null(berth_reason_name(code));
		assert_int_equal(berth_reason_from_name(berth_reason_name(code)), code);
		assert_false(params[1] && !params[0]);
		assert_false(params[2] && !params[1]);
	}
	assert_string_equal(berth_reason_name((enum berth_reason_code)4000), "");
	assert_int_equal(berth_reason_from_name("nonsense"), BERTH_REASON_COUNT);
	assert_string_equal(berth_reason_name(BERTH_REASON_RESOURCES), "Resources");
	assert_string_equal(berth_reason_param_names(BERTH_REASON_RESOURCES)[1], "free");
	assert_null(berth_reason_param_names((enum berth_reason_code)4000)[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_has_a_shape),     cmocka_unit_test(test_fields_do_not_overlap),
		cmocka_unit_test(test_enumerations_have_names),    cmocka_unit_test(test_init_leaves_no_string_null),
		cmocka_unit_test(test_the_image_tells_the_whole_job), cmocka_unit_test(test_states),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
