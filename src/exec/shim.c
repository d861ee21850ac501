#include "exec/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "host/claim.h"
#include "host/kin.h"

#define IDLE_MS 1000u /* poll counts by a clock that stands still during suspend: look at ours that often */

/* Say why nothing was started, and go. */
static int give_up(struct berth_shim *shim, int error, const char *doing)
{
	(void)fprintf(stderr, "berth-exec: attempt %" PRIu64 ".%" PRIu32 ": %s: %s\n", shim->id.job, shim->id.attempt,
	              doing, strerrordesc_np(error));
	shim->report.error = error;
	berth_shim_tell(shim);
	return 1;
}

static int read_launch(struct berth_wire *ret)
{
	ssize_t n = read(BERTH_SHIM_LAUNCH, ret, sizeof(*ret));

	(void)close(BERTH_SHIM_LAUNCH);
	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(*ret) && ret->magic == BERTH_WIRE_MAGIC && ret->version == BERTH_WIRE_VERSION &&
	                       ret->kind == BERTH_WIRE_LAUNCH
	               ? 0
	               : -EBADMSG;
}

/* SIGCHLD by descriptor; nothing else shall end us or be noticed: a pipe without reader, a file-size limit of the
 * user's. */
static int take_signals(void)
{
	static const int stray[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM};
	sigset_t mask;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL); /* inherited as ignored it would lose the exit status */
	(void)sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(stray) / sizeof(*stray); i++)
		(void)sigaddset(&mask, stray[i]);
	(void)sigaddset(&mask, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0)
		return -errno;
	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGCHLD);
	return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A name that no other try of this attempt has: groups are never used again. */
static int make_group(struct berth_shim *shim, const char *root)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%" PRIu64 ".%" PRIu32 ".%d", shim->id.job, shim->id.attempt, getpid());
	return berth_group_make(root, name, shim->group, sizeof(shim->group));
}

static int take_claim(struct berth_shim *shim)
{
	struct berth_claim claim = {.id = shim->id,
	                            .shim_pid = getpid(),
	                            .shim_start = berth_kin_start(getpid()),
	                            .leader_pid = shim->child.pid,
	                            .leader_start = berth_kin_start(shim->child.pid),
	                            .n_uuid = shim->launch.n_uuid};
	int r = berth_clock_boot_id(claim.boot_id);

	if (r < 0)
		return r;
	memcpy(claim.group, shim->group, sizeof(claim.group));
	memcpy(claim.uuid, shim->launch.uuid, sizeof(claim.uuid));
	return berth_claim_take(BERTH_SHIM_ATTEMPTS, &claim);
}

/* The child is forked and in its group before the claim is made, so that what can fail fails while nothing has
 * happened. */
static int prepare(struct berth_shim *shim, const char *group_root, const char **ret_doing)
{
	const int not_for_the_child[] = {BERTH_SHIM_LOCK, BERTH_SHIM_REPORT};
	int r;

	*ret_doing = "reading the launch";
	r = read_launch(&shim->launch);
	if (r < 0)
		return r;
	*ret_doing = "preparing for signals";
	shim->signals = take_signals();
	if (shim->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	*ret_doing = "making a control group";
	r = group_root[0] ? make_group(shim, group_root) : 0;
	if (r < 0)
		return r;
	*ret_doing = "forking";
	r = berth_child_start(BERTH_SHIM_SPEC, shim->mark, not_for_the_child, 2, shim->group, &shim->child);
	if (r < 0)
		return r;
	*ret_doing = "moving it into its control group";
	r = shim->group[0] && !shim->child.is_in_group ? berth_group_attach(shim->group, shim->child.pid) : 0;
	if (r < 0)
		return r;
	*ret_doing = "claiming";
	shim->claim = take_claim(shim);
	return shim->claim < 0 ? shim->claim : 0;
}

/* Undo what prepare did. The child ends when its gate closes. */
static void abandon(struct berth_shim *shim)
{
	if (shim->child.pid > 0) {
		(void)close(BERTH_TAKE_FD(shim->child.gate));
		(void)waitpid(shim->child.pid, NULL, 0);
	}
	if (shim->group[0])
		(void)!berth_group_remove(shim->group);
}

static void release(struct berth_shim *shim)
{
	(void)close(BERTH_SHIM_LOCK);
	(void)close(BERTH_SHIM_SPEC);
	shim->report.leader = shim->child.pid;
	shim->report.is_released = 1;
	berth_shim_tell(shim);
	berth_shim_listen(shim);
	shim->begin_ms = berth_clock_boot_ms();
	/* It fails only when the child was killed, which its status will tell. */
	(void)!berth_child_release(&shim->child);
}

/* The job's output as we can read it; a descriptor for writing is what the child has. */
static void keep_output(struct berth_shim *shim, int fd)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (shim->output < 0)
		shim->output = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	(void)close(fd);
}

static void set_running(struct berth_shim *shim)
{
	shim->phase = BERTH_SHIM_RUNNING;
	shim->begin_ms = berth_clock_boot_ms();
	shim->report.started_ms = berth_clock_wall_ms();
	berth_shim_tell(shim);
	berth_shim_push(shim, BERTH_WIRE_STARTED);
}

/* Hear what the child has to say. */
static void hear_child(struct berth_shim *shim)
{
	struct berth_child_news news;
	int fd = -1, r;

	while (shim->child.channel >= 0 && (r = berth_child_receive(&shim->child, &news, &fd)) != -EAGAIN) {
		if (r == -EINTR)
			continue;
		/* It stays readable, and is read again: the word that the command runs must not get lost. */
		if (r < 0)
			break;
		if (r == 0) {
			(void)close(BERTH_TAKE_FD(shim->child.channel));
			if (shim->is_going && !shim->how[0] && shim->phase == BERTH_SHIM_STARTING)
				set_running(shim);
		} else if (news.step == BERTH_CHILD_FAILED) {
			memcpy(shim->how, news.how, sizeof(shim->how));
			shim->error = news.error;
		}
		if (r > 0 && news.step == BERTH_CHILD_GOING)
			shim->is_going = true;
		if (r > 0 && fd >= 0)
			keep_output(shim, fd);
	}
}

/* Its status is told before it is reaped: whenever we are killed, somebody has it. */
static void take_status(struct berth_shim *shim, const siginfo_t *info)
{
	int value = info->si_status & 0xff;

	hear_child(shim);
	shim->report.status = info->si_code == CLD_EXITED ? value << 8 : value;
	shim->report.is_ended = 1;
	berth_shim_tell(shim);
	(void)waitpid(shim->child.pid, NULL, 0);
	berth_shim_ended(shim);
}

/* Signals of several children come as one: go on until there is none. */
static void reap(struct berth_shim *shim)
{
	struct signalfd_siginfo signal;

	while (read(shim->signals, &signal, sizeof(signal)) > 0)
		;
	while (shim->phase <= BERTH_SHIM_RUNNING) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return;
		if (info.si_pid == shim->child.pid)
			take_status(shim, &info);
		else
			(void)waitpid(info.si_pid, NULL, 0);
	}
}

static void turn(struct berth_shim *shim, uint64_t wake_ms)
{
	struct pollfd fds[3 + BERTH_SHIM_CLIENTS_MAX] = {
		{shim->signals, POLLIN, 0}, {shim->child.channel, POLLIN, 0}, {shim->listener, POLLIN, 0}};
	uint64_t now_ms = berth_clock_boot_ms();
	uint64_t wait_ms = wake_ms <= now_ms ? 0 : wake_ms - now_ms < IDLE_MS ? wake_ms - now_ms : IDLE_MS;

	for (size_t i = 0; i < BERTH_SHIM_CLIENTS_MAX; i++)
		fds[3 + i] = (struct pollfd){shim->clients[i], POLLIN, 0};
	if (poll(fds, 3 + BERTH_SHIM_CLIENTS_MAX, (int)wait_ms) <= 0)
		return;
	if (fds[0].revents)
		reap(shim);
	if (fds[1].revents)
		hear_child(shim);
	for (size_t i = 0; i < BERTH_SHIM_CLIENTS_MAX; i++)
		if (fds[3 + i].revents)
			berth_shim_serve(shim, i);
	if (fds[2].revents)
		berth_shim_accept(shim);
}

static void live(struct berth_shim *shim)
{
	uint64_t wake_ms = 0;

	while (shim->phase != BERTH_SHIM_OVER) {
		turn(shim, wake_ms);
		berth_shim_listen(shim);
		wake_ms = berth_shim_tick(shim, berth_clock_boot_ms());
	}
	berth_shim_accept(shim);
	/* Without a record there is an error. */
	if (!shim->report.error)
		berth_shim_push(shim, BERTH_WIRE_ENDED);
}

int berth_shim_main(const char *name, const char *tag, const char *group_root)
{
	struct berth_shim shim = {.parent = getppid(),
	                          .signals = -1,
	                          .listener = -1,
	                          .claim = -1,
	                          .child = {.gate = -1, .channel = -1},
	                          .output = -1,
	                          .stop_ms = BERTH_SHIM_NEVER,
	                          .drain_ms = BERTH_SHIM_NEVER};
	char file[BERTH_ATTEMPT_NAME_MAX];
	enum berth_attempt_file ignored;
	const char *doing;
	int r;

	for (int fd = BERTH_SHIM_LAUNCH; fd < BERTH_SHIM_CARDS + BERTH_WIRE_DEVICES_MAX; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < BERTH_SHIM_CLIENTS_MAX; i++)
		shim.clients[i] = -1;
	(void)snprintf(file, sizeof(file), "%s.claim", name);
	(void)snprintf(shim.mark, sizeof(shim.mark), BERTH_MARK "=%s.%s", tag, name);
	if (!berth_attempt_parse_name(file, &shim.id, &ignored))
		return give_up(&shim, EINVAL, "its name is none");
	r = prepare(&shim, group_root, &doing);
	if (r < 0) {
		abandon(&shim);
		/* Another has it: nothing is wrong. */
		return r == -EEXIST && shim.child.pid > 0 ? 0 : give_up(&shim, -r, doing);
	}
	release(&shim);
	live(&shim);
	return 0;
}
