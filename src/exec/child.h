#ifndef BERTH_EXEC_CHILD_H
#define BERTH_EXEC_CHILD_H
/* From fork to exec: the process that becomes the user's command.
 *
 * It is forked before the attempt is claimed and waits at a gate until it is in its group and the claim is made. Then
 * it makes a session of its own, resets signals, reads the specification, opens the output, enters the working
 * directory and becomes the command. What goes wrong on the way is written into the output, if there is one, and told
 * to the shim.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

enum berth_child_step {
	BERTH_CHILD_OUTPUT = 1, /* the output is open: its descriptor comes along */
	BERTH_CHILD_GOING,      /* the next is exec; when the channel closes without a word more, the command runs */
	BERTH_CHILD_FAILED,     /* how, error; it ends now */
};
/* Told over the channel, a SEQPACKET socket that exec closes. */
struct berth_child_news {
	uint32_t step;
	int32_t error; /* positive errno */
	char how[32];  /* name of a reason: OutputFailed, ExecFailed */
};

struct berth_child {
	pid_t pid;
	int gate;    /* closing it without a word ends the child; owned, -1 = none */
	int channel; /* non-blocking; owned, -1 = none */
	bool is_in_group;
};

/* Fork it. spec: descriptor of the specification. mark: the variable NAME=VALUE to add to the job's environment.
 * close_fds: n descriptors that it must not keep even before exec. group: path of the control group to be born in,
 * "" = none; where that is refused, is_in_group is false and the caller moves it. 0 or -errno; ret untouched on
 * failure. */
BERTH_MUST_USE int berth_child_start(int spec, const char *mark, const int *close_fds, size_t n, const char *group,
                                     struct berth_child *ret);
/* Open the gate. */
BERTH_MUST_USE int berth_child_release(struct berth_child *child);
/* The next word: 1 and ret, with the output's descriptor (or -1) in ret_fd, the caller's; 0 the channel is closed;
 * -EAGAIN; -errno. */
BERTH_MUST_USE int berth_child_receive(struct berth_child *child, struct berth_child_news *ret, int *ret_fd);
#endif
