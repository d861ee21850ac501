#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "exec/exec.h"
#include "host/claim.h"
#include "host/kin.h"
#include "host/pidfd.h"

#define LOOK_MS 20u /* between looks while processes are on their way out */
#define RETRY_MS 1000u
#define OFTEN_LOOKS 100u /* so many, then seldom */
#define PIDFD_LOOKS 50u
#define QUIET_LOOKS 3u /* without a group: a process that changes parents can be missed by one look */

/* Kill what is alive of the attempt: how many were, 0 none, -errno could not be told. */
static int kill_group(const char *group)
{
	int r;

	r = berth_group_kill(group);
	if (r < 0)
		return r;
	r = berth_group_is_populated(group);
	if (r == 0)
		(void)!berth_group_remove(group);
	return r;
}

/* Without a group: what carries the mark, and what came to us by the death of shims, all of which must go. */
static int kill_kin(struct berth_exec *exec, struct berth_watch *watch)
{
	BERTH_AUTO_FREE pid_t *shims = calloc(exec->n_watches + 1, sizeof(*shims));
	char value[BERTH_MARK_MAX];
	size_t n = 0;
	int orphans, marked;

	if (!shims)
		return -ENOMEM;
	for (size_t i = 0; i < exec->n_watches; i++)
		if (exec->watches[i]->shim > 0)
			shims[n++] = exec->watches[i]->shim;
	(void)snprintf(value, sizeof(value), "%s.%" PRIu64 ".%" PRIu32, exec->tag, watch->id.job, watch->id.attempt);
	orphans = berth_kin_signal(SIGKILL, shims, n);
	marked = berth_kin_signal_marked(BERTH_MARK, value, SIGKILL);
	return orphans < 0 ? orphans : marked < 0 ? marked : orphans + marked;
}

/* The command is dead, and its status about to come: to us, when it came to us as its shim died, or to the kernel's
 * memory, when whoever got it has reaped it. */
static bool is_leader_due(const struct berth_watch *watch)
{
	siginfo_t info = {0};
	int status;

	if (watch->last.is_ended)
		return false;
	if (watch->leader_pidfd >= 0)
		return watch->looks < PIDFD_LOOKS && berth_pidfd_status(watch->leader_pidfd, &status) == -EAGAIN;
	return watch->has_report && watch->last.leader > 0 &&
	       waitid(P_PID, (id_t)watch->last.leader, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* How many are alive, or -errno. A claim that cannot be read hides its group: then the mark must do. */
static int end_processes(struct berth_exec *exec, struct berth_watch *watch, const struct berth_claim *claim)
{
	char boot_id[37];
	int r = berth_clock_boot_id(boot_id);

	if (r < 0)
		return r;
	if (claim && strcmp(claim->boot_id, boot_id) != 0)
		return 0;
	if (claim && claim->group[0])
		return kill_group(claim->group);
	r = kill_kin(exec, watch);
	watch->quiet = r == 0 ? watch->quiet + 1 : 0;
	return r != 0 || watch->quiet >= QUIET_LOOKS ? r : 1;
}

/* The kernel's word, where we had an eye on the command before it died; not of one that was killed, see watch.c. */
static void ask_kernel(struct berth_watch *watch)
{
	int status;

	if (watch->last.is_ended || watch->leader_pidfd < 0 || berth_pidfd_status(watch->leader_pidfd, &status) < 0)
		return;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	watch->last.is_ended = 1;
	watch->last.status = status;
	watch->witness = "pidfd";
}

/* Until the command was seen running, a status may be that of the child on its way there. */
static bool is_code_known(const struct berth_watch *watch)
{
	return watch->last.is_ended && (watch->last.started_ms || watch->leader_pidfd >= 0);
}

static int write_record(struct berth_exec *exec, struct berth_watch *watch)
{
	struct berth_record record = {.id = watch->id,
	                              .exit_code = -1,
	                              .cause = watch->last.cause,
	                              .pid = watch->last.leader,
	                              .started_ms = watch->last.started_ms,
	                              .ended_ms = berth_clock_wall_ms()};
	char name[BERTH_ATTEMPT_NAME_MAX];
	int status;

	ask_kernel(watch);
	status = watch->last.status;
	if (is_code_known(watch)) {
		record.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		record.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	} else {
		(void)snprintf(record.how, sizeof(record.how), "ExitCodeUnknown");
	}
	(void)snprintf(record.witness, sizeof(record.witness), "%s", is_code_known(watch) ? watch->witness : "none");
	record.is_done = faccessat(exec->attempts, berth_attempt_file_name(&watch->id, BERTH_ATTEMPT_DONE, name), F_OK,
	                           AT_SYMLINK_NOFOLLOW) == 0;
	return berth_record_write(exec->attempts, &record);
}

/* Nothing is alive: say how it ended. A claim whose command was certainly never released is taken back instead: the
 * attempt has not started, and may. */
static int conclude(struct berth_exec *exec, struct berth_watch *watch)
{
	char name[BERTH_ATTEMPT_NAME_MAX];

	if (!watch->has_report || watch->last.is_released)
		return write_record(exec, watch);
	return unlinkat(exec->attempts, berth_attempt_file_name(&watch->id, BERTH_ATTEMPT_CLAIM, name), 0) < 0 ? -errno
	                                                                                                       : 0;
}

/* One step: 0 done, -EBUSY something is alive (how many in ret_alive), another -errno: try again later. */
static int step(struct berth_exec *exec, struct berth_watch *watch, int *ret_alive)
{
	enum berth_attempt_state state = berth_attempt_look(exec->attempts, &watch->id);
	struct berth_claim claim;
	int alive, r;

	*ret_alive = 0;
	if (state == BERTH_ATTEMPT_OVER)
		return 0;
	/* Killed before it claimed, a shim leaves a group with a child in it, which ends as the shim did. */
	if (state == BERTH_ATTEMPT_NEVER)
		return watch->group[0] && kill_group(watch->group) != 0 ? -EBUSY : 0;
	if (state == BERTH_ATTEMPT_UNKNOWN)
		return -EAGAIN;
	*ret_alive = 1;
	if (state == BERTH_ATTEMPT_ALIVE)
		return -EBUSY;
	r = berth_claim_read(exec->attempts, &watch->id, &claim, NULL);
	if (r < 0 && r != -EBADMSG && r != -ENOENT)
		return r;
	alive = end_processes(exec, watch, r == 0 ? &claim : NULL);
	if (alive < 0)
		return alive;
	if (alive > 0 || is_leader_due(watch)) {
		*ret_alive = alive > 0 ? alive : 1;
		return -EBUSY;
	}
	return conclude(exec, watch);
}

/* A step and what follows from it; removes the watch when it is done. */
static int go_on(struct berth_exec *exec, struct berth_watch *watch, uint64_t now_ms, int *ret_alive)
{
	struct berth_attempt_id id = watch->id;
	int r = step(exec, watch, ret_alive);

	if (r == 0) {
		berth_watch_remove(exec, watch);
		return 0;
	}
	/* Some deaths need a disk or a driver to answer first: look often at first, then seldom. */
	watch->next_ms = now_ms + (r == -EBUSY && watch->looks++ < OFTEN_LOOKS ? LOOK_MS : RETRY_MS);
	if (r != -EBUSY)
		berth_exec_note(&id, "cannot be recovered yet: %s", strerrordesc_np(-r));
	return r;
}

uint64_t berth_exec_recover_due(struct berth_exec *exec, uint64_t now_ms)
{
	uint64_t next_ms = BERTH_EXEC_NEVER;

	for (size_t i = exec->n_watches; i-- > 0;) {
		struct berth_watch *watch = exec->watches[i];
		struct berth_attempt_id id = watch->id;
		int error = watch->last.error;
		int alive;

		if (!watch->is_recovering)
			continue;
		if (watch->next_ms <= now_ms && go_on(exec, watch, now_ms, &alive) == 0)
			berth_exec_answer(exec, BERTH_WIRE_SHIM_GONE, &id, error, 0);
		else if (watch->next_ms < next_ms)
			next_ms = watch->next_ms;
	}
	return next_ms;
}

void berth_exec_recover(struct berth_exec *exec, const struct berth_wire *msg)
{
	struct berth_attempt_id id = berth_wire_id(msg);
	struct berth_watch *watch = berth_watch_find(exec, &id);
	int alive = 0, r;

	if (watch && !watch->is_recovering) {
		berth_exec_answer(exec, BERTH_WIRE_RECOVERED, &id, EBUSY, 1);
		return;
	}
	if (!watch)
		watch = berth_watch_add(exec, &id);
	if (!watch) {
		berth_exec_answer(exec, BERTH_WIRE_RECOVERED, &id, ENOMEM, 0);
		return;
	}
	watch->is_recovering = true;
	r = go_on(exec, watch, berth_clock_boot_ms(), &alive);
	berth_exec_answer(exec, BERTH_WIRE_RECOVERED, &id, -r, (uint64_t)alive);
}
