#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "core/stage_test.h"

static int fold_into(void *arg, const struct berth_fact *fact)
{
	return berth_core_fold(arg, fact);
}

/* A site with a job in every state that a snapshot can meet. */
static void open_site(struct stage *stage)
{
	struct berth_fact fact;

	stage_open(stage, 5);
	stage_device(stage, 9, 3, 1, "H100", 94 * STAGE_GIB);
	for (uint64_t job = 1; job <= 5; job++)
		stage_submit(stage, 1, 10 * STAGE_MINUTE);
	stage_submit(stage, 1, 10 * STAGE_MINUTE); /* 6 */
	stage_settle(stage);
	stage_start(stage, 1);
	stage->now_ms += 1000;
	assert_int_equal(stage_wish(stage, BERTH_FACT_JOB_CANCEL_ASKED, 2), 0);
	stage_settle(stage);
	stage_end(stage, 3, 5, BERTH_STOP_NONE);
	stage_settle(stage);                       /* 3 failed */
	assert_int_equal(stage_health(stage, 4, BERTH_HEALTH_LOST), 0);
	assert_int_equal(stage_drain(stage, 9, true), 0);
	stage_submit(stage, 3, STAGE_MINUTE);      /* 7 waits */
	stage_submit(stage, 1, STAGE_MINUTE);      /* 8 will be held */
	assert_int_equal(stage_wish(stage, BERTH_FACT_JOB_HELD, 8), 0);
	stage_end(stage, 5, 0, BERTH_STOP_NONE);   /* 5 ended, nothing decided yet */
	fact = stage_submission(stage, 0, STAGE_MINUTE);
	fact.u.submit.name = "微调";
	fact.u.submit.spec = "deadbeef";
	fact.u.submit.begin_ms = stage->now_ms + 70000;
	assert_int_equal(stage_fold(stage, &fact), 0);
}

static void test_an_image_gives_the_same_state(void **state)
{
	struct berth_core *copy = berth_core_new();
	struct berth_plan a, b;
	struct stage stage;

	open_site(&stage);
	assert_int_equal(berth_core_image(stage.core, fold_into, copy), 0);
	assert_int_equal(berth_core_hash(copy), berth_core_hash(stage.core));
	assert_int_equal(berth_core_seq(copy), berth_core_seq(stage.core));
	assert_int_equal(berth_core_at_ms(copy), berth_core_at_ms(stage.core));
	assert_int_equal(berth_core_next_job(copy), berth_core_next_job(stage.core));
	assert_int_equal(berth_core_next_device(copy), berth_core_next_device(stage.core));
	for (size_t i = 0; i < berth_core_device_count(copy); i++) {
		assert_int_equal(berth_core_device_at(copy, i)->since_ms,
		                 berth_core_device_at(stage.core, i)->since_ms);
		assert_int_equal(berth_core_device_at(copy, i)->job, berth_core_device_at(stage.core, i)->job);
	}
	assert_int_equal(berth_core_decide(stage.core, stage.now_ms, &a), 0);
	assert_int_equal(berth_core_decide(copy, stage.now_ms, &b), 0);
	assert_int_equal(a.n, b.n);
	assert_in_range(a.n, 2, 10);
	assert_int_equal(a.wake_ms, b.wake_ms);
	berth_core_free(copy);
	stage_close(&stage);
}

struct tampering {
	struct berth_core *core;
	size_t at, n;           /* which field of all to change, how many were seen */
	bool is_changed;
};

static void change(const struct berth_field *field, char *at)
{
	struct berth_share_set *set = (struct berth_share_set *)(void *)at;

	if (field->type == BERTH_FIELD_STR)
		*(const char **)(void *)at = "changed";
	else if (field->type == BERTH_FIELD_BOOL)
		*at = !*at;
	else if (field->type == BERTH_FIELD_SHARES)
		set->share[set->n ? 0 : set->n++].device += 3;
	else if (field->type == BERTH_FIELD_ENUM)
		*(uint32_t *)(void *)at = (*(uint32_t *)(void *)at + 1) % field->n_names;
	else
		*(uint32_t *)(void *)at += 1;
}

static int fold_tampered(void *arg, const struct berth_fact *fact)
{
	struct tampering *tampering = arg;
	struct berth_fact copy = *fact;

	for (const struct berth_field *field = berth_fact_shape(fact->kind)->fields; field->type != BERTH_FIELD_END;
	     field++) {
		if (tampering->n++ != tampering->at)
			continue;
		change(field, (char *)&copy + field->offset);
		tampering->is_changed = true;
	}
	return berth_core_fold(tampering->core, &copy);
}

/* Change any one field of the image: either the fold refuses it or the hash is another. */
static void test_the_hash_sees_every_field(void **state)
{
	struct tampering tampering = { .is_changed = true };
	struct stage stage;
	uint64_t hash;
	size_t refused = 0;

	open_site(&stage);
	hash = berth_core_hash(stage.core);
	for (; tampering.is_changed; tampering.at++) {
		struct berth_core *copy = berth_core_new();

		tampering.core = copy;
		tampering.n = 0;
		tampering.is_changed = false;
		if (berth_core_image(stage.core, fold_tampered, &tampering) < 0)
			refused++;
		else if (tampering.is_changed && berth_core_hash(copy) == hash)
			fail_msg("field %zu of the image does not count", tampering.at);
		berth_core_free(copy);
	}
	assert_in_range(tampering.at, 400, 2000);
	assert_in_range(refused, 5, tampering.at / 3);
	stage_close(&stage);
}

static void test_the_hash_counts_no_journal_number(void **state)
{
	struct stage stage;
	uint64_t hash;

	open_site(&stage);
	hash = berth_core_hash(stage.core);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_RELEASED, 1), -ESTALE);
	assert_int_equal(berth_core_hash(stage.core), hash);
	stage_close(&stage);
}

static int stop_at_third(void *arg, const struct berth_fact *fact)
{
	size_t *n = arg;

	return ++*n == 3 ? -ENOSPC : 0;
}

static void test_an_image_ends_when_told(void **state)
{
	struct stage stage;
	size_t n = 0;

	open_site(&stage);
	assert_int_equal(berth_core_image(stage.core, stop_at_third, &n), -ENOSPC);
	assert_int_equal(n, 3);
	stage_close(&stage);
}

static int take_job_image(void *arg, const struct berth_fact *fact)
{
	if (fact->kind == BERTH_FACT_JOB_IMAGE && fact->u.image.state == BERTH_JOB_RUNNING)
		*(struct berth_fact *)arg = *fact;
	return 0;
}

/* Records that no history makes would break what the core relies on. */
static void test_impossible_records_are_refused(void **state)
{
	struct berth_fact image, fact;
	struct stage stage, other;

	open_site(&stage);
	stage_open(&other, 2);
	assert_int_equal(berth_core_image(stage.core, take_job_image, &image), 0);
	fact = image;
	fact.u.image.set.share[0].device = 77;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	fact.u.image.set.n = 0;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	fact.u.image.attempt = 0;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	fact.u.image.state = BERTH_JOB_COMPLETED;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	fact.u.image.state = BERTH_JOB_UNKNOWN;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	fact.u.image.asked.request.limit_ms = 0;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL);
	fact = image;
	assert_int_equal(stage_fold(&other, &fact), 0);
	fact = image;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL); /* the id is taken */
	fact.u.image.id = 50;
	assert_int_equal(stage_fold(&other, &fact), -EINVAL); /* so is the device */
	stage_close(&other);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_gives_the_same_state),
		cmocka_unit_test(test_the_hash_sees_every_field),
		cmocka_unit_test(test_the_hash_counts_no_journal_number),
		cmocka_unit_test(test_an_image_ends_when_told),
		cmocka_unit_test(test_impossible_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
