#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "exec/exec.h"
#include "host/claim.h"
#include "host/kin.h"

#define STALE_S 60u

struct berth_watch *berth_watch_add(struct berth_exec *exec, const struct berth_attempt_id *id)
{
	struct berth_watch *watch;

	if (exec->n_watches == exec->cap_watches) {
		size_t cap = exec->cap_watches ? exec->cap_watches * 2 : 16;
		struct berth_watch **grown = reallocarray(exec->watches, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		exec->watches = grown;
		exec->cap_watches = cap;
	}
	watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	*watch = (struct berth_watch){.id = *id, .pidfd = -1, .leader_pidfd = -1, .report_fd = -1, .witness = "exec"};
	exec->watches[exec->n_watches++] = watch;
	return watch;
}

struct berth_watch *berth_watch_find(const struct berth_exec *exec, const struct berth_attempt_id *id)
{
	for (size_t i = 0; i < exec->n_watches; i++)
		if (berth_attempt_is_same(&exec->watches[i]->id, id))
			return exec->watches[i];
	return NULL;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(BERTH_TAKE_FD(*fd));
}

void berth_watch_remove(struct berth_exec *exec, struct berth_watch *watch)
{
	for (size_t i = 0; i < exec->n_watches; i++)
		if (exec->watches[i] == watch) {
			exec->watches[i] = exec->watches[--exec->n_watches];
			break;
		}
	close_fd(&watch->pidfd);
	close_fd(&watch->leader_pidfd);
	close_fd(&watch->report_fd);
	free(watch);
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* A pidfd of the very process that made the claim; -1 when it has ended meanwhile. */
static int open_shim(const struct berth_claim *claim)
{
	BERTH_AUTO_CLOSE int fd = pidfd_open(claim->shim_pid, 0);

	return fd >= 0 && berth_kin_start(claim->shim_pid) == claim->shim_start ? BERTH_TAKE_FD(fd) : -1;
}

/* Is it still our program, on its way to the command? */
static bool is_berth_exec(pid_t pid)
{
	char path[32];
	struct stat own, its;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat("/proc/self/exe", &own) < 0 || stat(path, &its) < 0 ||
	       (own.st_dev == its.st_dev && own.st_ino == its.st_ino);
}

/* A pidfd of the command, as long as it is there and is the command. */
static int open_leader(const struct berth_claim *claim)
{
	BERTH_AUTO_CLOSE int fd = claim->leader_pid > 0 ? pidfd_open(claim->leader_pid, 0) : -1;

	if (fd < 0 || berth_kin_start(claim->leader_pid) != claim->leader_start || is_berth_exec(claim->leader_pid))
		return -1;
	return BERTH_TAKE_FD(fd);
}

static int adopt(struct berth_exec *exec, const struct berth_attempt_id *id)
{
	struct berth_claim claim;
	struct berth_watch *watch;
	BERTH_AUTO_CLOSE int pidfd = -1;

	if (berth_attempt_look(exec->attempts, id) != BERTH_ATTEMPT_ALIVE ||
	    berth_claim_read(exec->attempts, id, &claim, NULL) < 0)
		return 0;
	/* Of one that ends just now the daemon will find the files. */
	pidfd = open_shim(&claim);
	if (pidfd < 0)
		return 0;
	watch = berth_watch_add(exec, id);
	if (!watch)
		return -ENOMEM;
	watch->shim = claim.shim_pid;
	watch->leader_pidfd = open_leader(&claim);
	watch->last.leader = claim.leader_pid;
	watch->pidfd = BERTH_TAKE_FD(pidfd);
	return 0;
}

/* What a killed shim was about to put in place; one that still writes does so within moments. */
static void remove_stale(const struct berth_exec *exec, const char *name)
{
	struct stat st;

	if (fnmatch(".berth-*.tmp", name, 0) != 0 || fstatat(exec->attempts, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (berth_clock_wall_ms() / 1000u > (uint64_t)st.st_mtim.tv_sec + STALE_S)
		(void)unlinkat(exec->attempts, name, 0);
}

int berth_watch_adopt(struct berth_exec *exec)
{
	int fd = openat(exec->attempts, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__attribute__((cleanup(close_dir))) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		if (fd >= 0)
			(void)close(fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir))) {
		struct berth_attempt_id id;
		enum berth_attempt_file file;

		if (berth_attempt_parse_name(entry->d_name, &id, &file) && file == BERTH_ATTEMPT_CLAIM)
			r = adopt(exec, &id);
		remove_stale(exec, entry->d_name);
	}
	return r;
}

/* Take in what the shim has reported; the last word counts. */
static void hear(struct berth_watch *watch)
{
	struct berth_shim_report report;

	while (watch->report_fd >= 0 && read(watch->report_fd, &report, sizeof(report)) == (ssize_t)sizeof(report)) {
		watch->last = report;
		watch->has_report = true;
	}
}

/* A process that is no shim came to us by the death of one. Perhaps it is the command of an attempt. One that was
 * killed says nothing: the kill may be part of a recovery, ours or that of an earlier berth-exec. */
static void take_orphan(struct berth_exec *exec, pid_t pid, int status)
{
	bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

	for (size_t i = 0; i < exec->n_watches; i++) {
		struct berth_watch *watch = exec->watches[i];

		hear(watch);
		if (watch->last.leader != pid || watch->last.is_ended || is_killed)
			continue;
		watch->last.is_ended = 1;
		watch->last.status = status;
	}
}

static struct berth_watch *find_child(const struct berth_exec *exec, pid_t pid)
{
	for (size_t i = 0; i < exec->n_watches; i++)
		if (exec->watches[i]->shim == pid && exec->watches[i]->pidfd < 0)
			return exec->watches[i];
	return NULL;
}

void berth_watch_reap(struct berth_exec *exec)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct berth_watch *watch = find_child(exec, pid);

		if (!watch) {
			take_orphan(exec, pid, status);
			continue;
		}
		if (WIFSIGNALED(status))
			berth_exec_note(&watch->id, "its shim was killed by signal %d", WTERMSIG(status));
		berth_watch_shim_ended(exec, watch);
	}
}

void berth_watch_shim_ended(struct berth_exec *exec, struct berth_watch *watch)
{
	enum berth_attempt_state state = berth_attempt_look(exec->attempts, &watch->id);
	struct berth_attempt_id id = watch->id;

	hear(watch);
	watch->shim = 0;
	/* It may have held cards for us: before anybody else does. */
	if (watch->pidfd >= 0)
		(void)berth_exec_retry_cards(exec);
	close_fd(&watch->pidfd);
	if (state == BERTH_ATTEMPT_OVER || state == BERTH_ATTEMPT_ALIVE) {
		berth_watch_remove(exec, watch);
		berth_exec_answer(exec, BERTH_WIRE_SHIM_GONE, &id, 0, 0);
		return;
	}
	/* After the other deaths that came with this one were taken in. */
	watch->is_recovering = true;
	watch->next_ms = 0;
}
