#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include "core/stage_test.h"

/* The linker sends every allocation of this program through here. */
static size_t calls;            /* so far */
static size_t fail_at;          /* the call that fails, and all after it; 0 = none */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t n);

static bool fails(void)
{
	calls++;
	return fail_at && calls >= fail_at;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *at, size_t n)
{
	return fails() ? NULL : __real_realloc(at, n);
}

enum { BATCH = 700 };

static void make_seen(struct berth_fact *fact, uint32_t id, char *uuid, size_t size)
{
	(void)snprintf(uuid, size, "GPU-%u", id);
	berth_fact_init(fact, BERTH_FACT_DEVICE_SEEN);
	fact->u.device = (struct berth_fact_device){ id, 1, id, uuid, "gpu", uuid, STAGE_GIB };
}

/* Submits with names of their own, devices, nodes, and alterations that make new shapes. */
static void make_batch(const struct stage *stage, struct berth_fact *batch, char (*text)[32], uint64_t first)
{
	for (uint32_t i = 0; i < BATCH; i++) {
		struct berth_fact *fact = &batch[i];

		if (i % 10 == 8) {
			make_seen(fact, berth_core_next_device(stage->core) + i, text[i], sizeof(text[i]));
		} else if (i % 10 == 9) {
			berth_fact_init(fact, BERTH_FACT_JOB_ALTERED);
			fact->u.alter.job = first;
			fact->u.alter.fields = BERTH_ALTER_LIMIT | BERTH_ALTER_NAME | BERTH_ALTER_MODEL;
			(void)snprintf(text[i], sizeof(text[i]), "Altered-%u", i);
			fact->u.alter.name = text[i];
			fact->u.alter.request = (struct berth_request){ .limit_ms = 1000000 + i, .gpu_model = text[i] };
		} else {
			berth_fact_init(fact, BERTH_FACT_JOB_SUBMITTED);
			(void)snprintf(text[i], sizeof(text[i]), "Name-%u", i);
			fact->u.submit = (struct berth_fact_submit){
				.job = first + i, .user = text[i], .name = text[i], .spec = text[i]
			};
			fact->u.submit.request =
				(struct berth_request){ .gpus = 1, .limit_ms = 1 + i, .gpu_model = text[i] };
		}
		fact->at_ms = stage->now_ms;
	}
}

/* After a reserve, folding the batch allocates nothing at all. */
static void test_a_reserved_batch_folds_without_memory(void **state)
{
	static struct berth_fact batch[BATCH];
	static char text[BATCH][32];
	struct stage stage;

	stage_open(&stage, 1);
	for (uint64_t round = 0; round < 4; round++) {
		make_batch(&stage, batch, text, berth_core_next_job(stage.core));
		assert_int_equal(berth_core_reserve(stage.core, batch, BATCH), 0);
		calls = 0;
		fail_at = 1;
		for (size_t i = 0; i < BATCH; i++)
			assert_int_equal(stage_fold(&stage, &batch[i]), 0);
		fail_at = 0;
		assert_int_equal(calls, 0);
	}
	stage_close(&stage);
}

/* The last holder of a string goes, and a later fact of the batch needs it again. */
static void test_what_is_given_up_meanwhile_stays(void **state)
{
	struct berth_fact batch[2];
	struct berth_fact first;
	struct stage stage;

	stage_open(&stage, 1);
	first = stage_submission(&stage, 1, STAGE_MINUTE);
	first.u.submit.name = "only here";
	assert_int_equal(stage_fold(&stage, &first), 0);
	assert_int_equal(stage_wish(&stage, BERTH_FACT_JOB_CANCEL_ASKED, 1), 0);
	stage_decide(&stage);
	berth_fact_init(&batch[0], BERTH_FACT_JOB_FORGOTTEN);
	batch[0].u.job.job = 1;
	batch[1] = first;
	batch[1].u.submit.job = 2;
	assert_int_equal(berth_core_reserve(stage.core, batch, 2), 0);
	fail_at = calls + 1;
	assert_int_equal(stage_fold(&stage, &batch[0]), 0);
	assert_int_equal(stage_fold(&stage, &batch[1]), 0);
	fail_at = 0;
	assert_string_equal(stage_job(&stage, 2)->asked.name, "only here");
	stage_close(&stage);
}

/* Whichever allocation fails, reserve says so, the state is as it was, and with memory it works. */
static void test_a_failed_reserve_changes_nothing(void **state)
{
	static struct berth_fact batch[BATCH];
	static char text[BATCH][32];
	size_t n_failed = 0;

	for (size_t step = 1;; step++) {
		struct stage stage;
		uint64_t hash;
		int r;

		stage_open(&stage, 1);
		make_batch(&stage, batch, text, 1);
		hash = berth_core_hash(stage.core);
		calls = 0;
		fail_at = step;
		r = berth_core_reserve(stage.core, batch, BATCH);
		fail_at = 0;
		assert_int_equal(berth_core_hash(stage.core), hash);
		if (r == 0 && calls < step) {
			stage_close(&stage);
			break;
		}
		/* A hash table of strings that could not grow is only slower, so not every failure is one. */
		n_failed += r == -ENOMEM;
		if (step % 50 == 0) {
			assert_int_equal(berth_core_reserve(stage.core, batch, BATCH), 0);
			for (size_t i = 0; i < BATCH; i++)
				assert_int_equal(stage_fold(&stage, &batch[i]), 0);
		}
		stage_close(&stage);
		step += step > 40 ? 13 : 0;
	}
	assert_in_range(n_failed, 20, SIZE_MAX);
}

static void test_a_fold_without_room_says_so(void **state)
{
	struct berth_fact fact;
	struct stage stage;
	uint64_t hash;

	stage_open(&stage, 1);
	fact = stage_submission(&stage, 1, STAGE_MINUTE);
	fact.u.submit.name = "never seen before";
	hash = berth_core_hash(stage.core);
	fail_at = calls + 1;
	assert_int_equal(stage_fold(&stage, &fact), -ENOMEM);
	fail_at = 0;
	assert_int_equal(berth_core_hash(stage.core), hash);
	assert_int_equal(stage_fold(&stage, &fact), 0);
	stage_close(&stage);
}

/* Decisions and questions fail with -ENOMEM at every allocation, and answer when asked again. */
static void test_answers_without_memory(void **state)
{
	struct berth_outlook row[8];
	struct berth_plan plan;
	struct berth_why why;
	struct stage stage;

	for (size_t step = 1; step < 40; step++) {
		bool failed = false;
		int r;

		stage_open(&stage, 2);
		for (uint64_t i = 0; i < 6; i++)
			stage_submit(&stage, 1, 1 + i);
		calls = 0;
		fail_at = step;
		r = berth_core_decide(stage.core, stage.now_ms, &plan);
		failed |= r == -ENOMEM;
		assert_true(r == 0 || r == -ENOMEM);
		r = berth_core_why(stage.core, 1, stage.now_ms, &why);
		failed |= r == -ENOMEM;
		assert_true(r == 0 || r == -ENOMEM);
		r = (int)berth_core_outlook(stage.core, stage.now_ms, row, 8);
		failed |= r == -ENOMEM;
		assert_true(r == 6 || r == -ENOMEM);
		fail_at = 0;
		assert_int_equal(failed, calls >= step);
		assert_int_equal(stage_decide(&stage), 2);
		stage_close(&stage);
	}
	fail_at = 1;
	assert_null(berth_core_new());
	fail_at = 0;
	berth_core_free(NULL);
}

/* A year of jobs with names of their own leaves no names behind. */
static void test_forgotten_jobs_leave_nothing(void **state)
{
	struct berth_fact fact;
	struct stage stage;
	char name[32];
	size_t warm = 0;

	stage_open(&stage, 1);
	berth_fact_init(&fact, BERTH_FACT_POLICY_SET);
	assert_int_equal(stage_fold(&stage, &fact), 0); /* finished jobs are forgotten at once */
	for (uint32_t i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "train-%06u", i);
		fact = stage_submission(&stage, 1, STAGE_MINUTE + i);
		fact.u.submit.name = name;
		assert_int_equal(stage_fold(&stage, &fact), 0);
		stage_settle(&stage);
		stage_end(&stage, fact.u.submit.job, 0, BERTH_STOP_NONE);
		stage_settle(&stage);
		if (i == 500)
			warm = calls;
	}
	/* For each job its name and its user, who has no other; tables, pages and arenas have stopped growing. */
	assert_in_range(calls - warm, 2 * 2499, 2 * 2499 + 10);
	assert_int_equal(berth_core_job_count(stage.core), 0);
	stage_close(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reserved_batch_folds_without_memory),
		cmocka_unit_test(test_what_is_given_up_meanwhile_stays),
		cmocka_unit_test(test_a_failed_reserve_changes_nothing),
		cmocka_unit_test(test_a_fold_without_room_says_so),
		cmocka_unit_test(test_answers_without_memory),
		cmocka_unit_test(test_forgotten_jobs_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
