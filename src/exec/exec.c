#include "exec/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/units.h"

#define DEAF_MS 200u      /* between looks for a caller while descriptors are out */
#define LOCK_WAIT_MS 3000u /* shims of the last berth-exec that are about to claim hold it for a moment */
#define MESSAGES_A_TURN 32
#define CARDS_MS 1000u
#define PATIENCE_MS 1000 /* for a daemon that is busy; one that does not read then is let go */

void berth_exec_note(const struct berth_attempt_id *id, const char *fmt, ...)
{
	char text[512], when[BERTH_FORMAT_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)berth_moment_format(berth_clock_wall_ms(), when);
	if (id)
		(void)fprintf(stderr, "%s berth-exec: attempt %" PRIu64 ".%" PRIu32 ": %s\n", when, id->job,
		              id->attempt, text);
	else
		(void)fprintf(stderr, "%s berth-exec: %s\n", when, text);
}

void berth_exec_send(struct berth_exec *exec, const struct berth_wire *msg)
{
	struct pollfd room = {exec->connection, POLLOUT, 0};
	int r = exec->connection >= 0 ? berth_wire_send(exec->connection, msg, NULL, -1) : 0;

	/* After a burst of launches as many answers come at once. */
	if (r == -EAGAIN && poll(&room, 1, PATIENCE_MS) > 0)
		r = berth_wire_send(exec->connection, msg, NULL, -1);
	if (r < 0)
		(void)close(BERTH_TAKE_FD(exec->connection));
}

void berth_exec_answer(struct berth_exec *exec, enum berth_wire_kind kind, const struct berth_attempt_id *id, int error,
                       uint64_t value)
{
	struct berth_wire msg;

	berth_wire_init(&msg, kind, id);
	msg.error = error;
	msg.value = value;
	berth_exec_send(exec, &msg);
}

static void welcome(struct berth_exec *exec)
{
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_WELCOME, NULL);
	msg.pid = getpid();
	(void)snprintf(msg.text, sizeof(msg.text), "%.*s", (int)sizeof(msg.text) - 1, exec->containment);
	berth_exec_send(exec, &msg);
}

static void carry_out(struct berth_exec *exec, const struct berth_wire *msg, int fd)
{
	switch (msg->kind) {
	case BERTH_WIRE_HELLO:
		welcome(exec);
		break;
	case BERTH_WIRE_LAUNCH:
		berth_exec_launch(exec, msg, fd);
		break;
	case BERTH_WIRE_WITHDRAW:
		berth_exec_withdraw(exec, msg);
		break;
	case BERTH_WIRE_RECOVER:
		berth_exec_recover(exec, msg);
		break;
	case BERTH_WIRE_ENROL:
		berth_exec_enrol(exec, msg);
		break;
	case BERTH_WIRE_RELEASE:
		berth_exec_release(exec, msg);
		break;
	default:
		break;
	}
}

static void serve(struct berth_exec *exec)
{
	int r = 1;

	for (int i = 0; i < MESSAGES_A_TURN && exec->connection >= 0 && r > 0; i++) {
		BERTH_AUTO_CLOSE int fd = -1;
		struct berth_wire msg;

		r = berth_wire_receive(exec->connection, &msg, NULL, 0, &fd);
		if (r > 0)
			carry_out(exec, &msg, fd);
	}
	if (r <= 0 && r != -EAGAIN && exec->connection >= 0) {
		if (r < 0)
			berth_exec_note(NULL, "let the daemon go: %s", strerrordesc_np(-r));
		(void)close(BERTH_TAKE_FD(exec->connection));
	}
}

/* The newest connection is the daemon; what an older one asked and was not heard yet is dropped with it. */
static void let_in(struct berth_exec *exec)
{
	int fd;

	while ((fd = berth_wire_accept(exec->listener)) >= 0 || fd == -EPERM) {
		if (fd == -EPERM) {
			berth_exec_note(NULL, "turned another user away");
			continue;
		}
		if (exec->connection >= 0)
			(void)close(exec->connection);
		exec->connection = fd;
	}
	/* The caller stays in the queue, and poll would call us for it without end. */
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS)
		exec->deaf_until_ms = berth_clock_boot_ms() + DEAF_MS;
}

static void take_signals(struct berth_exec *exec)
{
	struct signalfd_siginfo signal;

	while (read(exec->signals, &signal, sizeof(signal)) == (ssize_t)sizeof(signal))
		if (signal.ssi_signo != SIGCHLD)
			exec->is_ending = true;
	berth_watch_reap(exec);
}

/* Deaths first: what is answered afterwards rests on them. New connections before messages: see let_in. */
static void turn(struct berth_exec *exec, uint64_t wait_ms)
{
	size_t n = 3 + exec->n_watches;
	BERTH_AUTO_FREE struct pollfd *fds = calloc(n, sizeof(*fds));
	const struct timespec pause = {1, 0};
	const bool is_deaf = berth_clock_boot_ms() < exec->deaf_until_ms;

	if (is_deaf && wait_ms > DEAF_MS)
		wait_ms = DEAF_MS;
	if (!fds) {
		(void)nanosleep(&pause, NULL);
		return;
	}
	fds[0] = (struct pollfd){exec->signals, POLLIN, 0};
	fds[1] = (struct pollfd){is_deaf ? -1 : exec->listener, POLLIN, 0};
	fds[2] = (struct pollfd){exec->connection, POLLIN, 0};
	for (size_t i = 3; i < n; i++)
		fds[i] = (struct pollfd){exec->watches[i - 3]->pidfd, POLLIN, 0};
	if (poll(fds, n, (int)wait_ms) <= 0)
		return;
	/* Backwards, since one that ended is taken out. */
	for (size_t i = n; i-- > 3;)
		if (fds[i].revents)
			berth_watch_shim_ended(exec, exec->watches[i - 3]);
	if (fds[0].revents)
		take_signals(exec);
	if (fds[1].revents)
		let_in(exec);
	else if (fds[2].revents)
		serve(exec);
}

static void live(struct berth_exec *exec)
{
	uint64_t busy_ms = berth_clock_boot_ms();
	uint64_t cards_ms = 0;

	while (!exec->is_ending) {
		uint64_t now_ms = berth_clock_boot_ms();
		uint64_t next_ms = berth_exec_recover_due(exec, now_ms);

		if (now_ms >= cards_ms)
			cards_ms = berth_exec_retry_cards(exec) ? now_ms + CARDS_MS : now_ms;
		if (cards_ms > now_ms && cards_ms < next_ms)
			next_ms = cards_ms;
		if (exec->connection >= 0 || exec->n_watches > 0)
			busy_ms = now_ms;
		else if (now_ms - busy_ms >= exec->idle_exit_ms)
			break;
		if (next_ms > now_ms + CARDS_MS)
			next_ms = now_ms + CARDS_MS;
		turn(exec, next_ms > now_ms ? next_ms - now_ms : 0);
	}
}

static int take_lock(int state)
{
	const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const struct timespec pause = {0, 20000000};
	uint64_t end_ms = berth_clock_boot_ms() + LOCK_WAIT_MS;
	BERTH_AUTO_CLOSE int fd = openat(state, "exec.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	while (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return -errno;
		if (berth_clock_boot_ms() >= end_ms)
			return -EBUSY;
		(void)nanosleep(&pause, NULL);
	}
	return BERTH_TAKE_FD(fd);
}

static int open_signals(void)
{
	sigset_t mask;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would lose every exit status */
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	(void)sigaddset(&mask, SIGTERM);
	(void)sigaddset(&mask, SIGINT);
	(void)sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0)
		return -errno;
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int open_dirs(struct berth_exec *exec, const char *path, struct berth_error *err)
{
	struct stat st;

	exec->state = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (exec->state < 0 || fstat(exec->state, &st) < 0)
		return berth_error_errno(err, -errno, "opening the state directory %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return berth_error_set(err, -EPERM, "%s must belong to you and be closed to others (chmod 700)", path);
	(void)snprintf(exec->tag, sizeof(exec->tag), "%012" PRIx64,
	               berth_hash_u64((uint64_t)st.st_ino ^ berth_hash_u64((uint64_t)st.st_dev)) >> 16);
	if (mkdirat(exec->state, "attempts", 0700) < 0 && errno != EEXIST)
		return berth_error_errno(err, -errno, "making %s/attempts", path);
	exec->attempts = openat(exec->state, "attempts", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return exec->attempts < 0 ? berth_error_errno(err, -errno, "opening %s/attempts", path) : 0;
}

/* Groups that are left empty belong to attempts that are over. */
static void find_groups(struct berth_exec *exec, bool no_group)
{
	struct berth_error err = {.text = "groups are switched off"};

	if (!no_group && berth_group_root(exec->tag, exec->group_root, sizeof(exec->group_root), &err) == 0) {
		(void)snprintf(exec->containment, sizeof(exec->containment), "cgroup v2 at %s", exec->group_root);
		berth_group_sweep(exec->group_root);
	} else {
		(void)snprintf(exec->containment, sizeof(exec->containment), "sub-reaper (%s)", err.text);
	}
}

int berth_exec_open(struct berth_exec *exec, const struct berth_exec_options *options, struct berth_error *err)
{
	int r;

	*exec = (struct berth_exec){.state = -1,
	                            .attempts = -1,
	                            .lock = -1,
	                            .signals = -1,
	                            .listener = -1,
	                            .connection = -1,
	                            .idle_exit_ms = options->idle_exit_ms};
	r = open_dirs(exec, options->state_dir, err);
	if (r < 0)
		return r;
	exec->lock = take_lock(exec->state);
	if (exec->lock == -EBUSY)
		return berth_error_set(err, -EBUSY, "another berth-exec serves %s", options->state_dir);
	if (exec->lock < 0)
		return berth_error_errno(err, exec->lock, "locking %s/exec.lock", options->state_dir);
	exec->signals = open_signals();
	if (exec->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return berth_error_errno(err, -errno, "preparing for signals");
	find_groups(exec, options->no_group);
	r = berth_watch_adopt(exec);
	if (r < 0)
		return berth_error_errno(err, r, "looking for attempts in %s/attempts", options->state_dir);
	exec->listener = berth_wire_listen(exec->state, "exec.sock");
	return exec->listener < 0
	               ? berth_error_errno(err, exec->listener, "listening on %s/exec.sock", options->state_dir)
	               : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(BERTH_TAKE_FD(*fd));
}

void berth_exec_close(struct berth_exec *exec)
{
	if (exec->listener >= 0)
		(void)unlinkat(exec->state, "exec.sock", 0);
	while (exec->n_watches > 0)
		berth_watch_remove(exec, exec->watches[0]);
	free(exec->watches);
	for (size_t i = 0; i < exec->n_cards; i++)
		close_fd(&exec->cards[i].fd);
	free(exec->cards);
	/* It stays while groups of living attempts are in it. */
	if (exec->group_root[0])
		(void)!berth_group_remove(exec->group_root);
	close_fd(&exec->connection);
	close_fd(&exec->listener);
	close_fd(&exec->signals);
	close_fd(&exec->lock);
	close_fd(&exec->attempts);
	close_fd(&exec->state);
}

int berth_exec_main(const struct berth_exec_options *options)
{
	struct berth_exec exec;
	struct berth_error err;
	int r = berth_exec_open(&exec, options, &err);

	if (r < 0)
		berth_exec_note(NULL, "%s", err.text);
	else
		live(&exec);
	berth_exec_close(&exec);
	return r < 0 ? 1 : 0;
}
