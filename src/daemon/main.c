/* berthd: arguments and wiring. */
#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include "daemon/server.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static int complain(const char *text)
{
	(void)fprintf(stderr, "berthd: %s\n", text);
	return EXIT_USAGE;
}

/* Only the file: what the command line of a daemon would add does not matter here. */
static int check_config(const char *file)
{
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_error err = {0};
	struct berth_config config;

	berth_config_init(&config);
	if (berth_config_load(&config, file, &complaints) < 0) {
		(void)fputs(complaints.len ? berth_text_str(&complaints) : "berthd: memory is out\n", stderr);
		return EXIT_USAGE;
	}
	if (berth_source_check(&config.devices, &err) < 0) {
		const struct berth_origin *origin = &config.origin[BERTH_KEY_DEVICES];

		(void)fprintf(stderr, "%s:%u:%u: error: devices: %s\n", file, origin->line, origin->column, err.text);
		return EXIT_USAGE;
	}
	(void)printf("%s: ok\n", file);
	return EXIT_OK;
}

static int find_paths(const struct berth_options *options, struct berth_paths *ret, struct berth_error *err)
{
	BERTH_AUTO_FREE char *cwd = realpath(".", NULL);
	const struct passwd *user = getpwuid(geteuid());
	const char *home = getenv("HOME");
	const struct berth_surroundings around = {
		.uid = geteuid(),
		.home = home && home[0] ? home
	                : user          ? user->pw_dir
	                                : NULL,
		.config_home = getenv("XDG_CONFIG_HOME"),
		.state_home = getenv("XDG_STATE_HOME"),
		.runtime_dir = getenv("XDG_RUNTIME_DIR"),
		.cwd = cwd ? cwd : "",
	};

	return berth_paths_find(&around, options->config, options->state, options->socket, ret, err);
}

/* Signals that the loop takes are blocked before any thread begins, or a thread could get them. A client that goes away
 * while it is written to must be an error, not our end. */
static void set_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int serve(const struct berth_options *options)
{
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_error err = {0};
	struct berth_config config;
	struct berth_paths paths;

	if (find_paths(options, &paths, &err) < 0)
		return complain(err.text);
	if (berth_server_read_config(options, &paths, &config, &complaints) < 0) {
		(void)fputs(complaints.len ? berth_text_str(&complaints) : "memory is out\n", stderr);
		return EXIT_USAGE;
	}
	if (berth_source_check(&config.devices, &err) < 0)
		return complain(err.text);
	if (berth_paths_make(&paths, &err) < 0) {
		(void)complain(err.text);
		return EXIT_FAILED;
	}
	set_signals();
	return berth_server_run(options, &config, &paths);
}

int main(int argc, char *argv[])
{
	struct berth_options options;
	struct berth_error err = {0};

	/* The umask stays as it is: jobs inherit it. What berth itself makes is made with the mode it needs. */
	if (berth_options_parse(argc, argv, &options, &err) < 0)
		return complain(err.text);
	if (options.wants_help) {
		berth_options_help(stdout);
		return EXIT_OK;
	}
	if (options.wants_version) {
		(void)printf("berthd %s\n", BERTH_VERSION);
		return EXIT_OK;
	}
	return options.check_config ? check_config(options.check_config) : serve(&options);
}
