#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "checkpoint.h"

static char dir[] = "/tmp/berth-checkpoint-XXXXXX";
static char path[4200];

static struct job job_in(unsigned seconds)
{
	return (struct job){.name = "test", .dir = dir, .seconds = seconds};
}

static const char *file(const char *name)
{
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static bool is_there(const char *name)
{
	return access(file(name), F_OK) == 0;
}

static void read_file(const char *name, char *ret, size_t cap)
{
	FILE *f = fopen(file(name), "re");
	size_t n;

	assert_non_null(f);
	n = fread(ret, 1, cap - 1, f);
	ret[n] = '\0';
	(void)fclose(f);
}

static void test_saved_is_loaded(void **state)
{
	const struct job job = job_in(5);
	const double saved[3] = {1.5, -2.25, 1e300};
	double loaded[3] = {0};

	assert_false(checkpoint_load(&job, loaded, sizeof(loaded)));
	assert_true(checkpoint_save(&job, saved, sizeof(saved)));
	assert_true(checkpoint_load(&job, loaded, sizeof(loaded)));
	assert_memory_equal(loaded, saved, sizeof(saved));
	assert_false(is_there("test.checkpoint.new"));
	job_done(&job);
	assert_false(checkpoint_load(&job, loaded, sizeof(loaded)));
}

static void test_another_amount_or_size_is_not_loaded(void **state)
{
	const struct job job = job_in(5);
	const struct job other = job_in(6);
	int value = 3;
	char byte = 'a';

	assert_true(checkpoint_save(&job, &value, sizeof(value)));
	value = 4;
	assert_false(checkpoint_load(&other, &value, sizeof(value)));
	assert_int_equal(value, 4);
	assert_false(checkpoint_load(&job, &byte, sizeof(byte)));
	assert_int_equal(byte, 'a');
	job_done(&job);
}

static void test_a_damaged_one_is_not_loaded(void **state)
{
	const struct job job = job_in(5);
	const uint64_t saved = 0x1122334455667788;
	uint64_t loaded = 7;
	struct stat st;

	assert_true(checkpoint_save(&job, &saved, sizeof(saved)));
	assert_int_equal(stat(file("test.checkpoint"), &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		int fd = open(file("test.checkpoint"), O_RDWR | O_CLOEXEC);
		char byte;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_false(checkpoint_load(&job, &loaded, sizeof(loaded)));
		assert_int_equal(loaded, 7);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		(void)close(fd);
	}
	assert_true(checkpoint_load(&job, &loaded, sizeof(loaded)));
	assert_int_equal(truncate(file("test.checkpoint"), st.st_size - 1), 0);
	loaded = 7;
	assert_false(checkpoint_load(&job, &loaded, sizeof(loaded)));
	assert_int_equal(loaded, 7);
	job_done(&job);
}

static void test_jobs_and_tasks_do_not_share_one(void **state)
{
	struct job job = job_in(5);
	int value = 1;

	assert_true(checkpoint_save(&job, &value, sizeof(value)));
	assert_true(is_there("test.checkpoint"));
	job.task = 3;
	assert_false(checkpoint_load(&job, &value, sizeof(value)));
	assert_true(checkpoint_save(&job, &value, sizeof(value)));
	assert_true(is_there("test-3.checkpoint"));
	job_done(&job);
	(void)setenv("BERTH_JOB_ID", "12", 1);
	assert_true(checkpoint_save(&job, &value, sizeof(value)));
	assert_true(is_there("test-3-12.checkpoint"));
	job_done(&job);
	(void)unsetenv("BERTH_JOB_ID");
	job.task = 0;
	job_done(&job);
}

static void test_what_cannot_be_saved_is_told(void **state)
{
	struct job job = job_in(5);
	int value = 1;

	job.dir = "/no/such/directory";
	assert_false(checkpoint_save(&job, &value, sizeof(value)));
}

static void test_progress_and_done(void **state)
{
	struct job job = job_in(5);
	char text[64];

	(void)setenv("BERTH_PROGRESS_FILE", file("progress"), 1);
	(void)setenv("BERTH_DONE_FILE", file("done"), 1);
	job_say(&job, 1, 500, "loss 0.5");
	read_file("progress", text, sizeof(text));
	assert_string_equal(text, "1/500 loss 0.5\n");
	/* Not each step, but the end always. */
	job_say(&job, 2, 500, "loss 0.4");
	read_file("progress", text, sizeof(text));
	assert_string_equal(text, "1/500 loss 0.5\n");
	job_say(&job, 500, 500, "loss 0.3");
	read_file("progress", text, sizeof(text));
	assert_string_equal(text, "500/500 loss 0.3\n");
	assert_false(is_there("done"));
	job_done(&job);
	assert_true(is_there("done"));
	(void)unsetenv("BERTH_PROGRESS_FILE");
	(void)unsetenv("BERTH_DONE_FILE");
	(void)unlink(file("progress"));
	(void)unlink(file("done"));
}

static bool begin(struct job *job, int argc, const char *const *args)
{
	char *argv[8] = {0};

	for (int i = 0; i < argc; i++)
		argv[i] = (char *)args[i];
	optind = 0; /* glibc: begin anew */
	return job_begin(job, "test", argc, argv);
}

static void test_command_line(void **state)
{
	const char *const none[] = {"test"};
	const char *const all[] = {"test", "--seconds", "7", "--checkpoint", "d", "--task=2", "--workers=3"};
	const char *const wrong[][3] = {{"test", "--seconds", "0"},   {"test", "--seconds", "-1"},
	                                {"test", "--seconds", "x"},   {"test", "--workers", "65"},
	                                {"test", "--seconds", "1e9"}, {"test", "more", "words"}};
	struct job job;

	assert_true(begin(&job, 1, none));
	assert_int_equal(job.seconds, 60);
	assert_string_equal(job.dir, ".");
	assert_int_equal(job.workers, 4);
	assert_true(begin(&job, 7, all));
	assert_int_equal(job.seconds, 7);
	assert_string_equal(job.dir, "d");
	assert_int_equal(job.task, 2);
	assert_int_equal(job.workers, 3);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(begin(&job, 3, wrong[i]));
}

static void test_a_stop_is_noticed(void **state)
{
	const char *const none[] = {"test"};
	const struct timespec at_once = {0};
	struct job job;
	sigset_t term;
	int fd;

	assert_true(begin(&job, 1, none));
	assert_false(job_should_stop(&job));
	assert_int_equal(raise(SIGTERM), 0);
	assert_true(job_should_stop(&job));
	assert_true(job_should_stop(&job));
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	assert_int_equal(sigtimedwait(&term, NULL, &at_once), SIGTERM);
	assert_false(job_should_stop(&job));
	(void)setenv("BERTH_STOP_FILE", file("stop"), 1);
	assert_false(job_should_stop(&job));
	fd = open(file("stop"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	(void)close(fd);
	assert_true(job_should_stop(&job));
	(void)unlink(file("stop"));
	(void)unsetenv("BERTH_STOP_FILE");
}

static void test_random_numbers_are_the_same_every_time(void **state)
{
	double sum = 0;
	double squares = 0;

	for (uint64_t n = 0; n < 20000; n++) {
		const float unit = random_unit(5, n);
		const float normal = random_normal(5, n);

		assert_true(unit >= 0.0f && unit < 1.0f);
		assert_true(unit == random_unit(5, n));
		sum += (double)normal;
		squares += (double)(normal * normal);
	}
	assert_true(sum / 20000 > -0.05 && sum / 20000 < 0.05);
	assert_true(squares / 20000 > 0.95 && squares / 20000 < 1.05);
	assert_true(random_unit(5, 0) != random_unit(6, 0));
}

static int make_dir(void **state)
{
	(void)unsetenv("BERTH_JOB_ID");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_saved_is_loaded),
		cmocka_unit_test(test_another_amount_or_size_is_not_loaded),
		cmocka_unit_test(test_a_damaged_one_is_not_loaded),
		cmocka_unit_test(test_jobs_and_tasks_do_not_share_one),
		cmocka_unit_test(test_what_cannot_be_saved_is_told),
		cmocka_unit_test(test_progress_and_done),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_a_stop_is_noticed),
		cmocka_unit_test(test_random_numbers_are_the_same_every_time),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
