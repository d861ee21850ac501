#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "daemon/paths.h"

static const struct berth_surroundings lin = {
	.uid = 1000,
	.home = "/home/lin",
	.cwd = "/work",
};

static void test_usual_places(void **state)
{
	struct berth_surroundings around = lin;
	struct berth_paths paths;

	assert_int_equal(berth_paths_find(&around, NULL, NULL, NULL, &paths, NULL), 0);
	assert_string_equal(paths.config, "/home/lin/.config/berth/berth.yaml");
	assert_string_equal(paths.state, "/home/lin/.local/state/berth");
	assert_string_equal(paths.socket, "/tmp/berth-1000/berth.sock");
	assert_false(paths.is_config_given || paths.is_state_given || paths.is_socket_given);

	around.config_home = "/c";
	around.state_home = "/s";
	around.runtime_dir = "/run/user/1000";
	assert_int_equal(berth_paths_find(&around, NULL, NULL, NULL, &paths, NULL), 0);
	assert_string_equal(paths.config, "/c/berth/berth.yaml");
	assert_string_equal(paths.state, "/s/berth");
	assert_string_equal(paths.socket, "/run/user/1000/berth/berth.sock");

	/* relative ones are ignored, as the XDG rules want */
	around.config_home = around.state_home = around.runtime_dir = "rel";
	assert_int_equal(berth_paths_find(&around, NULL, NULL, NULL, &paths, NULL), 0);
	assert_string_equal(paths.state, "/home/lin/.local/state/berth");
	assert_string_equal(paths.socket, "/tmp/berth-1000/berth.sock");
}

static void test_given_places_become_absolute(void **state)
{
	struct berth_surroundings around = {.uid = 1, .cwd = "/work"}; /* no home is needed then */
	struct berth_paths paths;

	assert_int_equal(berth_paths_find(&around, "b.yaml", "/s", "sub/x.sock", &paths, NULL), 0);
	assert_string_equal(paths.config, "/work/b.yaml");
	assert_string_equal(paths.state, "/s");
	assert_string_equal(paths.socket, "/work/sub/x.sock");
	assert_true(paths.is_config_given && paths.is_state_given && paths.is_socket_given);
}

static void test_refusals(void **state)
{
	struct berth_surroundings around = {.uid = 1, .cwd = "/work"};
	struct berth_paths paths = {.state = "untouched"};
	struct berth_error err = {0};
	char longest[BERTH_PATH_MAX + 10];

	assert_int_equal(berth_paths_find(&around, "x", NULL, NULL, &paths, &err), -EINVAL);
	assert_non_null(strstr(err.text, "HOME"));
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[0] = '/';
	assert_int_equal(berth_paths_find(&lin, NULL, longest, NULL, &paths, &err), -EINVAL);
	assert_non_null(strstr(err.text, "state directory"));
	assert_int_equal(berth_paths_find(&lin, longest, NULL, NULL, &paths, &err), -EINVAL);
	assert_non_null(strstr(err.text, "configuration"));
	longest[108] = '\0'; /* 108 bytes: one too many for a socket */
	assert_int_equal(berth_paths_find(&lin, NULL, NULL, longest, &paths, &err), -EINVAL);
	assert_non_null(strstr(err.text, "--socket"));
	assert_string_equal(paths.state, "untouched");
	longest[107] = '\0';
	assert_int_equal(berth_paths_find(&lin, NULL, NULL, longest, &paths, &err), 0);
}

/* A fresh directory for one test. */
static char *scratch(char buf[64])
{
	(void)snprintf(buf, 64, "/tmp/berth-paths-XXXXXX");
	assert_non_null(mkdtemp(buf));
	return buf;
}

static void test_directories_are_private(void **state)
{
	char dir[64], state_dir[128], socket_path[128];
	struct berth_surroundings around = lin;
	struct berth_paths paths;
	struct berth_error err = {0};
	struct stat st;

	(void)scratch(dir);
	(void)snprintf(state_dir, sizeof(state_dir), "%s/a/b", dir);
	around.runtime_dir = dir;
	assert_int_equal(berth_paths_find(&around, NULL, state_dir, NULL, &paths, NULL), 0);
	assert_int_equal(berth_paths_make(&paths, &err), 0);
	assert_int_equal(stat(state_dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/berth", dir);
	assert_int_equal(stat(socket_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);

	/* a state directory that others may enter is refused */
	assert_int_equal(chmod(state_dir, 0755), 0);
	assert_int_equal(berth_paths_make(&paths, &err), -EPERM);
	assert_int_equal(chmod(state_dir, 0700), 0);

	/* so is a socket's usual place that somebody else could use */
	assert_int_equal(chmod(socket_path, 0777), 0);
	assert_int_equal(berth_paths_make(&paths, &err), -EPERM);
	assert_non_null(strstr(err.text, socket_path));

	/* the directory of a socket that was given is not made */
	(void)snprintf(socket_path, sizeof(socket_path), "%s/other/x.sock", dir);
	assert_int_equal(berth_paths_find(&around, NULL, state_dir, socket_path, &paths, NULL), 0);
	assert_int_equal(berth_paths_make(&paths, &err), 0);
	*strrchr(socket_path, '/') = '\0';
	assert_int_equal(access(socket_path, F_OK), -1);
	assert_int_equal(berth_dir_remove(dir), 0);
}

/* An (empty) program at dir/name. */
static void put_program(const char *dir, const char *name, mode_t mode)
{
	char path[BERTH_PATH_MAX + 32];
	int fd;

	assert_int_equal(berth_dir_make(dir, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

static void test_programs_are_found(void **state)
{
	char dir[64], sub[128], found[BERTH_PATH_MAX + 16], expected[BERTH_PATH_MAX + 16];
	struct berth_program_dirs dirs = {0};
	struct berth_error err = {0};

	(void)scratch(dir);
	(void)snprintf(dirs.called, sizeof(dirs.called), "%s/build", dir);
	(void)snprintf(dirs.real, sizeof(dirs.real), "%s/tree/daemon", dir);
	assert_int_equal(berth_dir_make(dirs.called, 0700), 0);
	assert_int_equal(berth_dir_make(dirs.real, 0700), 0);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), -ENOENT);
	assert_non_null(strstr(err.text, "BERTH_LIBEXEC"));

	/* installed: ../libexec/berth */
	(void)snprintf(sub, sizeof(sub), "%s/libexec/berth", dir);
	put_program(sub, "berth-exec", 0700);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), 0);
	(void)snprintf(expected, sizeof(expected), "%s/build/../libexec/berth/berth-exec", dir);
	assert_string_equal(found, expected);

	/* the build's tree: one folder for each program; found from where the binary truly lies */
	(void)snprintf(sub, sizeof(sub), "%s/tree/exec", dir);
	put_program(sub, "berth-exec", 0700);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), 0);
	(void)snprintf(expected, sizeof(expected), "%s/tree/daemon/../exec/berth-exec", dir);
	assert_string_equal(found, expected);

	/* beside the link by which the daemon was started; a file that cannot be run does not count */
	put_program(dirs.called, "berth-exec", 0600);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), 0);
	assert_string_equal(found, expected);
	(void)snprintf(found, sizeof(found), "%s/berth-exec", dirs.called);
	assert_int_equal(chmod(found, 0700), 0);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), 0);
	(void)snprintf(expected, sizeof(expected), "%s/berth-exec", dirs.called);
	assert_string_equal(found, expected);

	/* BERTH_LIBEXEC, and nothing else, when it is set */
	(void)snprintf(dirs.libexec, sizeof(dirs.libexec), "%s/own", dir);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), -ENOENT);
	put_program(dirs.libexec, "berth-exec", 0700);
	assert_int_equal(berth_program_find(&dirs, "berth-exec", "exec", found, sizeof(found), &err), 0);
	(void)snprintf(expected, sizeof(expected), "%s/berth-exec", dirs.libexec);
	assert_string_equal(found, expected);
	assert_int_equal(berth_dir_remove(dir), 0);
}

static void test_own_folder(void **state)
{
	struct berth_program_dirs dirs;
	char self[BERTH_PATH_MAX + 16];

	berth_program_dirs_find(&dirs);
	assert_int_equal(dirs.real[0], '/');
	assert_int_equal(dirs.called[0], '/');
	(void)snprintf(self, sizeof(self), "%s/paths_test", dirs.real);
	assert_int_equal(access(self, X_OK), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_places),       cmocka_unit_test(test_given_places_become_absolute),
		cmocka_unit_test(test_refusals),           cmocka_unit_test(test_directories_are_private),
		cmocka_unit_test(test_programs_are_found), cmocka_unit_test(test_own_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
