/* berth-exec --dir STATE [--idle-exit-ms N] [--no-group]: see exec/exec.h. berth-exec --shim …: see exec/shim.h. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "base/units.h"
#include "exec/exec.h"
#include "exec/shim.h"

#define IDLE_EXIT_MS 60000u

static const char usage[] =
	"usage: berth-exec --dir STATE [--idle-exit-ms N] [--no-group]\n"
	"Starts and keeps the attempts of jobs for the berthd of the state directory STATE, which starts it by "
	"itself.\n"
	"  --dir STATE         the state directory\n"
	"  --idle-exit-ms N    end when no daemon is connected and no attempt is left for so long (default 60000)\n"
	"  --no-group          hold processes by descent even where control groups could be made\n"
	"  --version, --help\n";

static int parse(int argc, char **argv, struct berth_exec_options *ret)
{
	static const struct option options[] = {
		{"dir", required_argument, NULL, 'd'}, {"idle-exit-ms", required_argument, NULL, 'i'},
		{"no-group", no_argument, NULL, 'n'},  {"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},      {0}};
	struct berth_error err;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'v' || option == 'h') {
			(void)fputs(option == 'v' ? "berth-exec " BERTH_VERSION "\n" : usage, stdout);
			return 1;
		}
		if (option == 'i' &&
		    berth_number_parse(optarg, "--idle-exit-ms", 0, UINT32_MAX, &ret->idle_exit_ms, &err) < 0) {
			(void)fprintf(stderr, "berth-exec: %s\n", err.text);
			return -1;
		}
		if (option == 'd')
			ret->state_dir = optarg;
		else if (option == 'n')
			ret->no_group = true;
		else if (option == '?')
			return -1;
	}
	return optind == argc && ret->state_dir ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct berth_exec_options options = {.idle_exit_ms = IDLE_EXIT_MS};
	int r;

	if (argc == 5 && strcmp(argv[1], "--shim") == 0)
		return berth_shim_main(argv[2], argv[3], argv[4]);
	r = parse(argc, argv, &options);
	if (r < 0)
		(void)fputs(usage, stderr);
	return r < 0 ? 2 : r > 0 ? 0 : berth_exec_main(&options);
}
