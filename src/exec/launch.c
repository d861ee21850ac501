#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "base/file.h"
#include "exec/exec.h"
#include "host/claim.h"
#include "host/kin.h"

#define SHIM_FDS_MAX (BERTH_SHIM_CARDS - BERTH_SHIM_LAUNCH + BERTH_WIRE_DEVICES_MAX)
#define OUT_OF_THE_WAY 64 /* above all numbers that the shim expects */

/* The shim's descriptors in the order of enum berth_shim_fd. */
struct handover {
	int fds[SHIM_FDS_MAX];
	int n;
};

/* In the forked child, which may only make system calls. First out of the way, then to their numbers, so that none is
 * overwritten before it was moved; all others are closed. */
static int arrange(struct handover *handover)
{
	for (int i = 0; i < handover->n; i++) {
		handover->fds[i] = fcntl(handover->fds[i], F_DUPFD, OUT_OF_THE_WAY);
		if (handover->fds[i] < 0)
			return -errno;
	}
	for (int i = 0; i < handover->n; i++)
		if (dup2(handover->fds[i], BERTH_SHIM_LAUNCH + i) < 0)
			return -errno;
	return close_range((unsigned)(BERTH_SHIM_LAUNCH + handover->n), ~0u, 0) < 0 ? -errno : 0;
}

static _Noreturn void become_shim(struct handover *handover, char *const argv[])
{
	char *const nothing[] = {NULL};
	struct berth_shim_report report = {0};
	int report_fd = handover->fds[BERTH_SHIM_REPORT - BERTH_SHIM_LAUNCH];
	int r = arrange(handover);

	if (r == 0) {
		report_fd = BERTH_SHIM_REPORT;
		(void)setsid();
		(void)execve("/proc/self/exe", argv, nothing);
		r = -errno;
	}
	report.error = -r;
	(void)!write(report_fd, &report, sizeof(report));
	_exit(1);
}

/* A pipe that holds the message already. */
static int pipe_message(const struct berth_wire *msg)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = berth_fd_write_all(ends[1], msg, sizeof(*msg));
	(void)close(ends[1]);
	if (r < 0)
		(void)close(ends[0]);
	return r < 0 ? r : ends[0];
}

static pid_t fork_shim(struct berth_exec *exec, const struct berth_wire *msg, struct handover *handover)
{
	char name[BERTH_ATTEMPT_NAME_MAX];
	char *const argv[] = {"berth-exec", "--shim", name, exec->tag, exec->group_root, NULL};
	pid_t pid;

	(void)snprintf(name, sizeof(name), "%" PRIu64 ".%" PRIu32, msg->job, msg->attempt);
	pid = fork();
	if (pid == 0)
		become_shim(handover, argv);
	return pid < 0 ? -errno : pid;
}

static int start_shim(struct berth_exec *exec, const struct berth_wire *msg, int spec_fd)
{
	struct berth_attempt_id id = berth_wire_id(msg);
	BERTH_AUTO_CLOSE int launch = pipe_message(msg);
	BERTH_AUTO_CLOSE int report_in = -1;
	BERTH_AUTO_CLOSE int report_out = -1;
	struct handover handover = {0};
	struct berth_watch *watch;
	int ends[2];
	pid_t pid;

	if (launch < 0)
		return launch;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	report_out = ends[0];
	report_in = ends[1];
	handover = (struct handover){{launch, spec_fd, exec->attempts, exec->lock, report_in}, 5};
	for (uint32_t i = 0; i < msg->n_uuid; i++) {
		int card = berth_exec_card_fd(exec, msg->uuid[i]);

		if (card >= 0)
			handover.fds[handover.n++] = card;
	}
	watch = berth_watch_add(exec, &id);
	if (!watch)
		return -ENOMEM;
	pid = fork_shim(exec, msg, &handover);
	if (pid < 0) {
		berth_watch_remove(exec, watch);
		return pid;
	}
	watch->shim = pid;
	if (exec->group_root[0])
		(void)snprintf(watch->group, sizeof(watch->group), "%s/%" PRIu64 ".%" PRIu32 ".%d", exec->group_root,
		               id.job, id.attempt, pid);
	watch->report_fd = BERTH_TAKE_FD(report_out);
	return 0;
}

static bool is_signal(uint32_t sig)
{
	return sig < _NSIG;
}

void berth_exec_launch(struct berth_exec *exec, const struct berth_wire *msg, int spec_fd)
{
	struct berth_attempt_id id = berth_wire_id(msg);
	enum berth_attempt_state state = berth_attempt_look(exec->attempts, &id);
	int error = 0;

	if (msg->job == 0 || msg->attempt == 0 || spec_fd < 0 || !is_signal(msg->stop_signal) ||
	    !is_signal(msg->warn_signal))
		error = EINVAL;
	else if (msg->uid != geteuid() || msg->gid != getegid())
		error = EPERM;
	else if (state == BERTH_ATTEMPT_UNKNOWN)
		error = EBUSY;
	else if (state == BERTH_ATTEMPT_NEVER && !berth_watch_find(exec, &id))
		error = -start_shim(exec, msg, spec_fd);
	berth_exec_answer(exec, BERTH_WIRE_LAUNCHED, &id,
	                  error == EBUSY && state != BERTH_ATTEMPT_UNKNOWN ? EAGAIN : error, 0);
}

/* Take the attempt and say that it never started. When that cannot be said, it is given back. */
static int take_away(struct berth_exec *exec, const struct berth_attempt_id *id, uint32_t cause)
{
	struct berth_claim claim = {.id = *id, .shim_pid = getpid(), .shim_start = berth_kin_start(getpid())};
	const struct berth_record record = {
		.id = *id, .exit_code = -1, .cause = cause, .ended_ms = berth_clock_wall_ms(), .witness = "none"};
	BERTH_AUTO_CLOSE int lock = -1;
	char name[BERTH_ATTEMPT_NAME_MAX];
	int r = berth_clock_boot_id(claim.boot_id);

	if (r < 0)
		return r;
	lock = berth_claim_take(exec->attempts, &claim);
	if (lock < 0)
		return lock == -EEXIST ? 0 : lock;
	r = berth_record_write(exec->attempts, &record);
	if (r < 0)
		(void)unlinkat(exec->attempts, berth_attempt_file_name(id, BERTH_ATTEMPT_CLAIM, name), 0);
	return r;
}

void berth_exec_withdraw(struct berth_exec *exec, const struct berth_wire *msg)
{
	struct berth_attempt_id id = berth_wire_id(msg);
	enum berth_attempt_state state = berth_attempt_look(exec->attempts, &id);
	int r = 0;

	if (state == BERTH_ATTEMPT_UNKNOWN || (state == BERTH_ATTEMPT_NEVER && berth_watch_find(exec, &id)))
		r = -EBUSY;
	else if (state == BERTH_ATTEMPT_NEVER)
		r = take_away(exec, &id, msg->cause);
	berth_exec_answer(exec, BERTH_WIRE_RECOVERED, &id, -r, 0);
}
