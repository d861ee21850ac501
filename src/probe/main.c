/* berth-probe: asks the devices of one driver on behalf of berthd, in a process that may hang. Arguments and wiring. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "device/probe_wire.h"
#include "probe/serve.h"

struct arguments {
	const char *driver, *arg, *identity;
};

static const char usage[] =
	"berth-probe asks the devices of this machine for berthd, which starts it with a socket on its "
	"descriptor 3.\nIt does nothing when started by hand: see 'berth gpus' and 'berth doctor'.\n";

static int parse(int argc, char **argv, struct arguments *ret)
{
	static const struct option options[] = {
		{"driver", required_argument, NULL, 'd'},   {"arg", required_argument, NULL, 'a'},
		{"identity", required_argument, NULL, 'i'}, {"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},           {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (c) {
		case 'd':
			ret->driver = optarg;
			break;
		case 'a':
			ret->arg = optarg;
			break;
		case 'i':
			ret->identity = optarg;
			break;
		case 'V':
			(void)printf("berth-probe %s\n", BERTH_VERSION);
			exit(0);
		case 'h':
			(void)fputs(usage, stdout);
			exit(0);
		default:
			return -EINVAL;
		}
	}
	return ret->driver && optind == argc ? 0 : -EINVAL;
}

static bool has_socket(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(BERTH_PROBE_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.arg = "", .identity = ""};
	struct berth_probe_serve with = {0};
	struct berth_error err = {0};
	int r = parse(argc, argv, &arguments);

	if (r < 0 || !has_socket()) {
		(void)fputs(usage, stderr);
		return 2;
	}
	/* A probe whose daemon was killed must not stay behind in a driver call. What ends before this is seen as end
	 * of file. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	with.ops = berth_driver_find(arguments.driver);
	if (with.ops)
		(void)with.ops->open(arguments.arg, arguments.identity, &with.driver, &with.why);
	else
		(void)berth_error_set(&with.why, -ENODEV, "this berth has no driver called '%s'", arguments.driver);
	r = berth_probe_serve(BERTH_PROBE_FD, &with, &err);
	if (with.driver)
		with.ops->close(with.driver);
	if (r < 0)
		(void)fprintf(stderr, "berth-probe: %s\n", err.text);
	return r < 0 ? 1 : 0;
}
