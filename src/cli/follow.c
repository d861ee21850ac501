#include "cli/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include "base/clock.h"
#include "cli/job.h"
#include "cli/reason.h"
#include "cli/tail.h"
#include "cli/watch.h"

#define LOOK_MS 1000 /* at a file system that tells nothing */
#define EXIT_NO_READER (128 + SIGPIPE)

enum { FD_SIGNAL, FD_FILE, FD_OUT, FDS };

struct follow {
	struct berth_cli *cli;
	const struct berth_follow_mode *mode;
	struct berth_watch watch;
	struct berth_tail tail;
	int signal_fd;
	int inotify_fd;
	char *path;     /* owned: of the output; NULL = not told */
	uint64_t seen;  /* watch.changes, as far as they were looked at */
	char state[24]; /* that was announced last */
	uint64_t attempt;
	unsigned interrupts;
	bool must_cancel; /* asked for, not yet taken by the daemon */
	bool is_reader_gone;
};

static const json_t *job_of(const struct follow *follow)
{
	return follow->watch.jobs[0];
}

/* What happens, in the words of the verb: `run` speaks on terminals only, so that 2>FILE holds the job's own words. */
static void tell(const struct follow *follow, const char *fmt, ...) BERTH_PRINTF(2, 3);
static void tell(const struct follow *follow, const char *fmt, ...)
{
	BERTH_AUTO_FREE char *text = NULL;
	BERTH_AUTO_FREE char *printable = NULL;
	va_list args;

	if ((follow->mode->is_ours || follow->mode->is_silent) && !isatty(STDERR_FILENO))
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	printable = text ? berth_utf8_printable(text, 0) : NULL;
	if (!printable)
		return;
	if (follow->mode->is_ours)
		berth_say("%s", printable);
	else
		fprintf(stderr, "-- %s --\n", printable);
}

static void tell_waiting(const struct follow *follow)
{
	const json_t *job = job_of(follow);
	const char *leave = follow->mode->is_ours ? "Ctrl-C cancels it" : "Ctrl-C leaves it in the queue";
	BERTH_AUTO_TEXT struct berth_text why = {0};
	uint64_t position = 0;

	if (strcmp(berth_json_text(json_object_get(job, "reason"), "code"), "Starting") == 0)
		return;
	if (berth_json_number(job, "position", &position))
		berth_text_addf(&why, "#%" PRIu64 " in the queue: ", position);
	berth_reason_words(json_object_get(job, "reason"), berth_clock_wall_ms(), &why);
	tell(follow, "job %" PRIu64 " waits, %s; %s", berth_job_id(job), why.at ? why.at : "", leave);
}

static void tell_started(const struct follow *follow)
{
	const json_t *job = job_of(follow);
	BERTH_AUTO_TEXT struct berth_text where = {0};
	uint64_t restarts = 0;

	(void)berth_json_number(job, "restarts", &restarts);
	berth_job_devices(job, &where);
	tell(follow, "job %" PRIu64 " %s%s%s", berth_job_id(job), restarts > 0 ? "runs again" : "started",
	     where.len > 0 ? " on GPU " : ", without a GPU", where.len > 0 ? where.at : "");
}

static void tell_state(const struct follow *follow, const char *state)
{
	const json_t *job = job_of(follow);
	char when[BERTH_FORMAT_MAX];
	uint64_t deadline_ms;

	if (strcmp(state, "PENDING") == 0 || strcmp(state, "HELD") == 0)
		tell_waiting(follow);
	else if (strcmp(state, "RUNNING") == 0)
		tell_started(follow);
	else if (strcmp(state, "STOPPING") == 0 && berth_json_moment(job, "stop_deadline", &deadline_ms))
		tell(follow, "job %" PRIu64 " is asked to stop; it is killed at %s if it has not", berth_job_id(job),
		     berth_moment_format_short(deadline_ms, berth_clock_wall_ms(), when));
}

static void watch_file(struct follow *follow)
{
	if (follow->inotify_fd >= 0 || !follow->path)
		return;
	follow->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (follow->inotify_fd >= 0)
		(void)inotify_add_watch(follow->inotify_fd, follow->path, IN_MODIFY);
}

/* The job has changed: open its output once it has some, say what is new. */
static int look(struct follow *follow)
{
	const json_t *job = job_of(follow);
	const char *state = berth_json_text(job, "state");
	uint64_t attempt = 0;
	bool is_new;

	follow->seen = follow->watch.changes;
	if (!follow->path && *berth_json_text(job, "output_path") &&
	    !(follow->path = strdup(berth_json_text(job, "output_path"))))
		return berth_complain_memory(follow->cli);
	(void)berth_json_number(job, "attempt", &attempt);
	is_new = attempt != follow->attempt || strcmp(state, follow->state) != 0;
	if (is_new && berth_job_has_started(job) && !follow->mode->is_silent) {
		berth_tail_open(&follow->tail, follow->path ? follow->path : "");
		watch_file(follow);
	}
	if (is_new)
		tell_state(follow, state);
	follow->attempt = attempt;
	(void)snprintf(follow->state, sizeof(follow->state), "%s", state);
	return BERTH_EXIT_OK;
}

/* Ask the daemon to cancel, as soon as it is there. */
static void cancel(struct follow *follow)
{
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	char target[64];
	const struct berth_call call = {.method = "POST", .target = target};

	if (!follow->must_cancel || follow->watch.lost_ms > 0)
		return;
	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64 "/cancel", follow->watch.ids[0]);
	if (berth_call_try(follow->cli, &call, &reply, NULL) == 0 && reply.status != 503)
		follow->must_cancel = false;
}

static int take_signal(struct follow *follow)
{
	struct signalfd_siginfo info;

	if (read(follow->signal_fd, &info, sizeof(info)) != sizeof(info))
		return BERTH_EXIT_OK;
	if (follow->interrupts++ > 0) {
		berth_say("left; job %" PRIu64 " was asked to stop", follow->watch.ids[0]);
		return BERTH_EXIT_JOB_CANCELLED;
	}
	berth_say("cancelling job %" PRIu64 "; Ctrl-C again leaves without waiting for its end", follow->watch.ids[0]);
	follow->must_cancel = true;
	return BERTH_EXIT_OK;
}

static void drop_file_events(int fd)
{
	char buf[4096];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

static int write_some(struct follow *follow)
{
	int r = berth_tail_write(&follow->tail);

	if (r == -EPIPE) {
		follow->is_reader_gone = true;
		return BERTH_EXIT_OK;
	}
	if (r < 0)
		return berth_complain(follow->cli, BERTH_EXIT_FAILED, "Output",
		                      "The job runs on.  Its output:  berth logs ID",
		                      "cannot write the job's output: %s", strerrordesc_np(-r));
	return BERTH_EXIT_OK;
}

/* How long to wait when nothing is to be written. */
static int patience_ms(const struct follow *follow)
{
	if (follow->must_cancel)
		return BERTH_RETRY_MS;
	if (follow->tail.fd >= 0)
		return LOOK_MS;
	return follow->tail.is_asking ? LOOK_MS / 2 : -1;
}

/* One turn: wait for the first thing to happen, and do it. */
static int turn(struct follow *follow)
{
	const bool has_bytes = berth_tail_fill(&follow->tail, false);
	struct pollfd fds[FDS] = {
		[FD_SIGNAL] = {.fd = follow->signal_fd, .events = POLLIN},
		[FD_FILE] = {.fd = follow->inotify_fd, .events = POLLIN},
		[FD_OUT] = {.fd = follow->mode->is_silent ? -1 : follow->mode->out, .events = has_bytes ? POLLOUT : 0},
	};
	int r = berth_watch_step(&follow->watch, fds, FDS, has_bytes ? -1 : patience_ms(follow));

	if (r == BERTH_EXIT_OK && fds[FD_SIGNAL].revents)
		r = take_signal(follow);
	if (fds[FD_FILE].revents)
		drop_file_events(follow->inotify_fd);
	if (r == BERTH_EXIT_OK && has_bytes && fds[FD_OUT].revents)
		r = write_some(follow);
	else if (fds[FD_OUT].revents & (POLLERR | POLLHUP))
		follow->is_reader_gone = true;
	cancel(follow);
	if (r == BERTH_EXIT_OK && follow->seen != follow->watch.changes)
		r = look(follow);
	return r;
}

/* Nobody reads the output: a command on this terminal would have been ended by that, and so is one that runs elsewhere.
 */
static int leave_reader(struct follow *follow)
{
	if (follow->mode->is_ours) {
		berth_say("nobody reads the output of job %" PRIu64 " any more; it is cancelled", follow->watch.ids[0]);
		follow->must_cancel = true;
		cancel(follow);
	}
	return EXIT_NO_READER;
}

static int begin(struct follow *follow)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE);
	if (follow->mode->is_ours) {
		sigaddset(&signals, SIGINT);
		sigaddset(&signals, SIGTERM);
	}
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	sigdelset(&signals, SIGPIPE);
	if (follow->mode->is_ours)
		follow->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (berth_tail_init(&follow->tail, follow->cli, follow->watch.ids[0], follow->mode->out) < 0)
		return berth_complain_memory(follow->cli);
	follow->tail.is_json = follow->mode->is_json;
	return look(follow);
}

static void end(struct follow *follow)
{
	berth_tail_fini(&follow->tail);
	berth_watch_close(&follow->watch);
	if (follow->signal_fd >= 0)
		(void)close(follow->signal_fd);
	if (follow->inotify_fd >= 0)
		(void)close(follow->inotify_fd);
	free(follow->path);
}

int berth_follow(struct berth_cli *cli, uint64_t id, const struct berth_follow_mode *mode, json_t **ret_job)
{
	struct follow follow = {.cli = cli, .mode = mode, .signal_fd = -1, .inotify_fd = -1, .tail = {.fd = -1}};
	int r = berth_watch_open(cli, &id, 1, &follow.watch);

	if (r != BERTH_EXIT_OK)
		return r;
	r = begin(&follow);
	while (r == BERTH_EXIT_OK && !follow.is_reader_gone &&
	       !(berth_job_is_final(job_of(&follow)) && !berth_tail_fill(&follow.tail, true)))
		r = turn(&follow);
	if (r == BERTH_EXIT_OK && follow.is_reader_gone)
		r = leave_reader(&follow);
	if (r == BERTH_EXIT_OK)
		*ret_job = json_incref(follow.watch.jobs[0]);
	end(&follow);
	return r;
}
