#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "daemon/log.h"

/* What is in the file so far; the file is emptied. */
static const char *taken(int fd, char *buf, size_t cap)
{
	ssize_t n = pread(fd, buf, cap - 1, 0);

	assert_true(n >= 0);
	buf[n] = '\0';
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return buf;
}

static void test_levels_and_prefixes(void **state)
{
	struct berth_log log = {.fd = memfd_create("log", MFD_CLOEXEC), .level = BERTH_LOG_INFO};
	char buf[8192];

	assert_true(log.fd >= 0);
	berth_log(&log, BERTH_LOG_DEBUG, "too fine");
	assert_string_equal(taken(log.fd, buf, sizeof(buf)), "");
	berth_log(&log, BERTH_LOG_INFO, "job %d started", 12);
	assert_non_null(strstr(taken(log.fd, buf, sizeof(buf)), " job 12 started\n"));
	assert_int_equal(buf[4], '-'); /* begins with a date */
	berth_log(&log, BERTH_LOG_WARNING, "probe is late");
	assert_non_null(strstr(taken(log.fd, buf, sizeof(buf)), " warning: probe is late\n"));
	log.level = BERTH_LOG_ERROR;
	berth_log(&log, BERTH_LOG_WARNING, "not now");
	assert_string_equal(taken(log.fd, buf, sizeof(buf)), "");

	log = (struct berth_log){.fd = log.fd, .level = BERTH_LOG_DEBUG, .is_journal = true};
	berth_log(&log, BERTH_LOG_ERROR, "a");
	berth_log(&log, BERTH_LOG_WARNING, "b");
	berth_log(&log, BERTH_LOG_INFO, "c");
	berth_log(&log, BERTH_LOG_DEBUG, "d");
	assert_string_equal(taken(log.fd, buf, sizeof(buf)), "<3>a\n<4>b\n<6>c\n<7>d\n");
	assert_int_equal(close(log.fd), 0);
}

/* A job named "x\n<0>all is lost" must not forge a line. */
static void test_one_event_is_one_line(void **state)
{
	struct berth_log log = {.fd = memfd_create("log", MFD_CLOEXEC), .level = BERTH_LOG_INFO, .is_journal = true};
	char buf[8192];
	char big[6000];

	berth_log(&log, BERTH_LOG_INFO, "job %s", "x\n<0>all is lost\x1b[2J");
	assert_string_equal(taken(log.fd, buf, sizeof(buf)), "<6>job x?<0>all is lost?[2J\n");
	memset(big, 'y', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	berth_log(&log, BERTH_LOG_INFO, "%s", big);
	assert_true(strlen(taken(log.fd, buf, sizeof(buf))) < sizeof(big));
	assert_int_equal(buf[strlen(buf) - 1], '\n');
	assert_int_equal(close(log.fd), 0);
	berth_log(&log, BERTH_LOG_INFO, "nowhere to go"); /* a closed fd is no crash */
}

static void test_knows_the_journal_stream(void **state)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);
	struct stat st;
	char name[64];

	assert_int_equal(fstat(fd, &st), 0);
	(void)snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	assert_true(berth_log_is_journal(fd, name));
	assert_false(berth_log_is_journal(fd, NULL));
	assert_false(berth_log_is_journal(fd, ""));
	assert_false(berth_log_is_journal(fd, "8:1"));
	assert_int_equal(close(fd), 0);
	assert_false(berth_log_is_journal(fd, name));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels_and_prefixes),
		cmocka_unit_test(test_one_event_is_one_line),
		cmocka_unit_test(test_knows_the_journal_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
