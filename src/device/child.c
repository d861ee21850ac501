#include "device/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "device/probe_wire.h"

/* What the new process has of ours: see the header. */
static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr, int fd)
{
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, fd, BERTH_PROBE_FD);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files, BERTH_PROBE_FD + 1);
	return r;
}

static int spawn(char *const *argv, int fd, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&files);

	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = set_up(&files, &attr, fd);
		if (r == 0)
			r = posix_spawn(ret, argv[0], &files, &attr, argv, environ);
		(void)posix_spawnattr_destroy(&attr);
	}
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

int berth_probe_child_start(struct berth_probe_child *child, char *const *argv, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int ours = -1;
	BERTH_AUTO_CLOSE int theirs = -1;
	int pair[2];
	int r;

	if (child->n_lying == BERTH_PROBE_LYING_MAX)
		return berth_error_set(
			err, -EBUSY,
			"%d killed berth-probe processes do not end (a driver call hangs in the kernel); "
			"no new one is started before one of them does",
			BERTH_PROBE_LYING_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return berth_error_errno(err, -errno, "making a socket for berth-probe");
	ours = pair[0];
	theirs = pair[1];
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return berth_error_errno(err, -errno, "making a socket for berth-probe");
	r = spawn(argv, theirs, &child->pid);
	if (r < 0) {
		child->pid = 0;
		return berth_error_errno(err, r, "starting %s", argv[0]);
	}
	child->fd = BERTH_TAKE_FD(ours);
	return 0;
}

void berth_probe_child_kill(struct berth_probe_child *child)
{
	if (child->fd >= 0)
		(void)close(BERTH_TAKE_FD(child->fd));
	if (child->pid == 0)
		return;
	(void)kill(child->pid, SIGKILL);
	assert(child->n_lying < BERTH_PROBE_LYING_MAX);
	child->lying[child->n_lying++] = child->pid;
	child->pid = 0;
	(void)berth_probe_child_reap(child, NULL);
}

/* Also when somebody else has reaped it: it is gone. */
static bool has_ended(pid_t pid, int *ret_status)
{
	*ret_status = 0;
	return waitpid(pid, ret_status, WNOHANG) != 0;
}

bool berth_probe_child_reap(struct berth_probe_child *child, int *ret_status)
{
	int status;

	for (size_t i = child->n_lying; i-- > 0;)
		if (has_ended(child->lying[i], &status))
			child->lying[i] = child->lying[--child->n_lying];
	if (child->pid == 0 || !has_ended(child->pid, &status))
		return false;
	child->pid = 0;
	if (child->fd >= 0)
		(void)close(BERTH_TAKE_FD(child->fd));
	if (ret_status)
		*ret_status = status;
	return true;
}
