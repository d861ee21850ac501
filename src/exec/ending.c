#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "base/file.h"
#include "exec/shim.h"
#include "host/claim.h"
#include "host/kin.h"

#define DRAIN_MS 2000u /* between TERM and KILL for what outlives the command, unless the grace is shorter */
#define RETRY_MS 1000u /* for a record that could not be written */
#define PROGRESS_MS 1000u
#define KILL_PASSES 10
#define LOOK_MS 50u /* while something is to vanish that need not be our child */

static uint64_t later(uint64_t from, uint64_t by)
{
	return from > UINT64_MAX - by ? UINT64_MAX : from + by;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void berth_shim_tell(struct berth_shim *shim)
{
	const struct berth_shim_report report = shim->report;

	/* When berth-exec is gone nobody reads it; the next one learns by other means. */
	(void)!write(BERTH_SHIM_REPORT, &report, sizeof(report));
}

/* The second at which it will be killed, for programs that save as much as time allows. */
static void write_stop_file(const struct berth_shim *shim, uint64_t grace_ms)
{
	char name[BERTH_ATTEMPT_NAME_MAX], text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", later(berth_clock_wall_ms(), grace_ms) / 1000u);

	/* On a full disk the signal must do. */
	(void)!berth_file_replace_at(BERTH_SHIM_ATTEMPTS, berth_attempt_file_name(&shim->id, BERTH_ATTEMPT_STOP, name),
	                             text, (size_t)n, 0600);
}

/* To the command and what runs in its process group; a stopped process is woken to hear it. It is not reaped yet, so
 * its number is nobody else's. */
static void signal_command(const struct berth_shim *shim, int sig)
{
	if (kill(-shim->child.pid, sig) < 0)
		(void)kill(shim->child.pid, sig);
	(void)kill(-shim->child.pid, SIGCONT);
}

bool berth_shim_stop(struct berth_shim *shim, uint32_t cause, uint64_t grace_ms)
{
	uint64_t deadline = later(berth_clock_boot_ms(), grace_ms);
	bool is_first = shim->stop_ms == BERTH_SHIM_NEVER;
	uint32_t sig = shim->launch.stop_signal;

	if (shim->phase > BERTH_SHIM_RUNNING)
		return false;
	if (!is_first && deadline >= shim->stop_ms)
		return true;
	if (shim->report.cause == 0) {
		shim->report.cause = cause;
		berth_shim_tell(shim);
	}
	/* One tick short of never: a stop without end is still a stop. */
	shim->stop_ms = sooner(deadline, BERTH_SHIM_NEVER - 1);
	write_stop_file(shim, grace_ms);
	if (is_first)
		signal_command(shim, sig ? (int)sig : SIGTERM);
	return true;
}

/* The group at once; what has left it (a job of root's can) is found by descent. Without a group some may be born while
 * we look: several times, then. */
static void kill_all(const struct berth_shim *shim)
{
	if (shim->group[0])
		(void)!berth_group_kill(shim->group);
	for (int i = 0; i < KILL_PASSES; i++)
		if (berth_kin_signal(SIGKILL, NULL, 0) <= 0)
			break;
}

/* Reaps; true when no process of the attempt is left. All that lives is a descendant, so without children there is
 * none. */
static bool is_empty(const struct berth_shim *shim)
{
	pid_t pid;

	do
		pid = waitpid(-1, NULL, WNOHANG);
	while (pid > 0);
	return pid < 0 && errno == ECHILD && (!shim->group[0] || berth_group_is_populated(shim->group) == 0);
}

void berth_shim_ended(struct berth_shim *shim)
{
	uint64_t now_ms = berth_clock_boot_ms();

	shim->phase = BERTH_SHIM_DRAINING;
	shim->drain_ms = sooner(later(now_ms, sooner(shim->launch.grace_ms, DRAIN_MS)), shim->stop_ms);
	if (!is_empty(shim))
		(void)!berth_kin_signal(SIGTERM, NULL, 0);
	if (berth_shim_read_progress(shim))
		berth_shim_push(shim, BERTH_WIRE_PROGRESS);
}

/* Without berth-exec nobody else clears the place where groups are made; it stays while others are in it. */
static void remove_group(const struct berth_shim *shim)
{
	BERTH_AUTO_FREE char *root = strndup(shim->group, (size_t)(strrchr(shim->group, '/') - shim->group));

	(void)!berth_group_remove(shim->group);
	if (root && getppid() != shim->parent)
		(void)!berth_group_remove(root);
}

/* Nothing is left: what the group knows is asked now, since it goes. */
static void conclude(struct berth_shim *shim)
{
	int status = shim->report.status;

	if (!shim->how[0] && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && shim->report.cause == 0 &&
	    shim->group[0] && berth_group_had_oom(shim->group))
		(void)snprintf(shim->how, sizeof(shim->how), "OutOfMemory");
	if (shim->group[0])
		remove_group(shim);
	shim->ended_ms = berth_clock_wall_ms();
	shim->phase = BERTH_SHIM_RECORDING;
}

static void fill_record(const struct berth_shim *shim, struct berth_record *ret)
{
	char name[BERTH_ATTEMPT_NAME_MAX];
	int status = shim->report.status;

	*ret = (struct berth_record){.id = shim->id,
	                             .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	                             .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	                             .cause = shim->report.cause,
	                             .error = shim->error,
	                             .pid = shim->report.started_ms ? shim->child.pid : 0,
	                             .started_ms = shim->report.started_ms,
	                             .ended_ms = shim->ended_ms,
	                             .witness = "shim"};
	memcpy(ret->how, shim->how, sizeof(ret->how));
	/* The child's own way out says nothing about a command that never was. */
	if (strcmp(ret->how, "OutputFailed") == 0)
		ret->exit_code = -1;
	ret->is_done = faccessat(BERTH_SHIM_ATTEMPTS, berth_attempt_file_name(&shim->id, BERTH_ATTEMPT_DONE, name),
	                         F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The child was killed on its way to the command: nothing of the job ran, and it may be started anew. */
static bool is_unborn(const struct berth_shim *shim)
{
	return shim->report.started_ms == 0 && !shim->is_going && !shim->how[0] && shim->report.cause == 0;
}

/* Take the claim back. */
static int give_back(struct berth_shim *shim)
{
	char name[BERTH_ATTEMPT_NAME_MAX];

	(void)berth_attempt_file_name(&shim->id, BERTH_ATTEMPT_CLAIM, name);
	if (unlinkat(BERTH_SHIM_ATTEMPTS, name, 0) < 0 && errno != ENOENT)
		return -errno;
	shim->report.error = EINTR;
	berth_shim_tell(shim);
	return 0;
}

/* A full disk delays the record, it does not lose it. */
/* Somebody removed the state directory under us: nobody will ever read a record. */
static bool is_forsaken(void)
{
	struct stat st;

	return fstat(BERTH_SHIM_ATTEMPTS, &st) == 0 && st.st_nlink == 0;
}

static uint64_t write_record(struct berth_shim *shim, uint64_t now_ms)
{
	struct berth_record record;

	if (now_ms < shim->write_ms)
		return shim->write_ms;
	fill_record(shim, &record);
	if ((is_unborn(shim) ? give_back(shim) : berth_record_write(BERTH_SHIM_ATTEMPTS, &record)) < 0 &&
	    !is_forsaken()) {
		shim->write_ms = later(now_ms, RETRY_MS);
		return shim->write_ms;
	}
	(void)close(BERTH_TAKE_FD(shim->claim));
	shim->phase = BERTH_SHIM_OVER;
	return now_ms;
}

static uint64_t drain(struct berth_shim *shim, uint64_t now_ms)
{
	if (is_empty(shim)) {
		conclude(shim);
		return write_record(shim, now_ms);
	}
	if (now_ms >= shim->drain_ms)
		kill_all(shim);
	return later(now_ms, LOOK_MS);
}

/* What the time limit asks for; returns when to look again. */
static uint64_t watch_limit(struct berth_shim *shim, uint64_t now_ms)
{
	const struct berth_wire *launch = &shim->launch;
	uint64_t limit_ms = later(shim->begin_ms, launch->limit_ms);
	uint64_t warn_ms = limit_ms > launch->warn_ms ? limit_ms - launch->warn_ms : 0;

	if (launch->limit_ms == BERTH_SHIM_NEVER)
		return BERTH_SHIM_NEVER;
	if (now_ms >= limit_ms && !shim->is_limit_over) {
		shim->is_limit_over = true;
		(void)berth_shim_stop(shim, BERTH_WIRE_CAUSE_LIMIT, launch->grace_ms);
	}
	if (now_ms >= limit_ms)
		return BERTH_SHIM_NEVER;
	/* It may have been lengthened since. */
	shim->is_limit_over = false;
	if (!launch->warn_signal || shim->is_warned)
		return limit_ms;
	if (now_ms < warn_ms)
		return warn_ms;
	if (shim->phase == BERTH_SHIM_RUNNING) {
		shim->is_warned = true;
		(void)!berth_kin_warn((int)launch->warn_signal);
	}
	return limit_ms;
}

uint64_t berth_shim_tick(struct berth_shim *shim, uint64_t now_ms)
{
	uint64_t next_ms;

	if (shim->phase == BERTH_SHIM_DRAINING)
		return drain(shim, now_ms);
	if (shim->phase == BERTH_SHIM_RECORDING)
		return write_record(shim, now_ms);
	next_ms = watch_limit(shim, now_ms);
	if (now_ms >= shim->stop_ms) {
		kill_all(shim);
		next_ms = sooner(next_ms, later(now_ms, LOOK_MS));
	} else {
		next_ms = sooner(next_ms, shim->stop_ms);
	}
	if (now_ms >= shim->progress_ms) {
		shim->progress_ms = later(now_ms, PROGRESS_MS);
		if (berth_shim_read_progress(shim))
			berth_shim_push(shim, BERTH_WIRE_PROGRESS);
	}
	return sooner(next_ms, shim->progress_ms);
}
