#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include "base/file.h"
#include "host/spec.h"

static char *const argv[] = {"python", "a b", "", "$(x)", "line\nbreak", "-d", "\xff", NULL};
static char *const env[] = {"PATH=/bin", "EMPTY=", NULL};
static const char *const paths[BERTH_SPEC_PATHS] = {"/tmp", "/tmp/out", NULL, "#!/bin/sh\nexit 3\n"};

static void assert_same(char *const *a, char *const *b)
{
	size_t i = 0;

	for (; a[i]; i++)
		assert_string_equal(a[i], b[i]);
	assert_null(b[i]);
}

static void test_round_trip(void **state)
{
	BERTH_AUTO_CLOSE int fd = berth_spec_seal(argv, env, paths, 1);
	struct berth_spec spec;

	assert_true(fd >= 0);
	assert_int_equal(berth_spec_read(fd, &spec, NULL), 0);
	assert_same(argv, spec.argv);
	assert_same(env, spec.env);
	assert_string_equal(spec.path[BERTH_SPEC_CWD], "/tmp");
	assert_string_equal(spec.path[BERTH_SPEC_STDOUT], "/tmp/out");
	assert_string_equal(spec.path[BERTH_SPEC_STDERR], "");
	assert_string_equal(spec.path[BERTH_SPEC_SCRIPT], "#!/bin/sh\nexit 3\n");
	assert_int_equal(spec.is_append, 1);
	berth_spec_fini(&spec);
	assert_null(spec.memory);
}

static void test_empty_environment(void **state)
{
	char *const none[] = {NULL};
	BERTH_AUTO_CLOSE int fd = berth_spec_seal(argv, none, paths, 0);
	struct berth_spec spec;

	assert_int_equal(berth_spec_read(fd, &spec, NULL), 0);
	assert_null(spec.env[0]);
	assert_int_equal(spec.is_append, 0);
	berth_spec_fini(&spec);
}

static void test_sealed_for_good(void **state)
{
	BERTH_AUTO_CLOSE int fd = berth_spec_seal(argv, env, paths, 0);

	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 10), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
}

static void test_too_big(void **state)
{
	size_t n = BERTH_SPEC_BYTES_MAX;
	BERTH_AUTO_FREE char *huge = malloc(n + 1);
	char *const list[] = {huge, NULL};

	memset(huge, 'x', n);
	huge[n] = '\0';
	assert_int_equal(berth_spec_seal(list, env, paths, 0), -E2BIG);
}

/* A memfd of these bytes with these seals, read as a specification. */
static int read_bytes(const void *data, size_t n, int seals)
{
	BERTH_AUTO_CLOSE int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct berth_spec spec;
	struct berth_error err = {0};
	int r;

	assert_int_equal(berth_fd_write_all(fd, data, n), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	r = berth_spec_read(fd, &spec, &err);
	if (r == 0)
		berth_spec_fini(&spec);
	else
		assert_true(err.text[0] != '\0');
	return r;
}

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct raw {
	struct berth_spec_header header;
	char strings[64];
};

/* "a", no environment, four empty paths. */
static struct raw small(void)
{
	struct raw raw = {{BERTH_SPEC_MAGIC, BERTH_SPEC_VERSION, 1, 0, 0, 0, 6}, "a"};

	return raw;
}

static int read_raw(const struct raw *raw)
{
	return read_bytes(raw, sizeof(raw->header) + 6, ALL_SEALS);
}

static void test_refusals(void **state)
{
	struct raw raw = small();

	assert_int_equal(read_raw(&raw), 0);
	assert_int_equal(read_bytes(&raw, sizeof(raw.header) + 6, 0), -EBADMSG);
	assert_int_equal(read_bytes(&raw, sizeof(raw.header) + 6, ALL_SEALS & ~F_SEAL_WRITE), -EBADMSG);
	assert_int_equal(read_bytes(&raw, sizeof(raw.header) + 7, ALL_SEALS), -EBADMSG);
	assert_int_equal(read_bytes(&raw, sizeof(raw.header) + 5, ALL_SEALS), -EBADMSG);
	assert_int_equal(read_bytes(&raw, sizeof(raw.header) - 1, ALL_SEALS), -EBADMSG);
	assert_int_equal(read_bytes("", 0, ALL_SEALS), -EBADMSG);
}

static void test_refused_headers(void **state)
{
	struct raw raw = small();

	raw.header.magic++;
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.header.version++;
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.header.n_argv = 0;
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.header.n_argv = UINT32_MAX;
	raw.header.n_env = UINT32_MAX;
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.header.n_env = 1; /* more strings than there are */
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.strings[5] = 'x'; /* the last one is not terminated */
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.strings[2] = 'x'; /* fewer strings than it says */
	assert_int_equal(read_raw(&raw), -EBADMSG);
	raw = small();
	raw.header.len = UINT64_MAX;
	assert_int_equal(read_raw(&raw), -EBADMSG);
}

static void test_no_memfd(void **state)
{
	BERTH_AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct berth_spec spec;

	assert_int_equal(berth_spec_read(fd, &spec, NULL), -EBADMSG);
	assert_int_equal(berth_spec_read(-1, &spec, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_empty_environment),
		cmocka_unit_test(test_sealed_for_good), cmocka_unit_test(test_too_big),
		cmocka_unit_test(test_refusals),        cmocka_unit_test(test_refused_headers),
		cmocka_unit_test(test_no_memfd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
