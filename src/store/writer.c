#include "store/writer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include "store/commit.h"
#include "store/db.h"

/* Pages of 4 KiB in the log: from so many on it is copied when nobody waits, and at so many even if somebody does. */
#define CHECKPOINT_IDLE_FRAMES 1000
#define CHECKPOINT_FORCED_FRAMES 16000
#define IDLE_NS 50000000

enum work_state { WORK_NONE = 0, WORK_HANDED, WORK_DECIDED };

struct work { /* a transaction or, when it has a name, a setting */
	const struct berth_transaction *tx;
	const char *name, *value;
};

struct berth_writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;    /* something for the thread */
	pthread_cond_t decided; /* something for the waiting loop */
	int event_fd;

	struct berth_committer committer; /* the thread's; the loop reads nothing of it */
	int frames_tried;                 /* length of the log at the last checkpoint */

	/* under the lock */
	struct work work;
	enum work_state state;
	int result;
	struct berth_error err;
	struct berth_snapshot *snapshot; /* handed over, not yet taken by the thread */
	bool is_keeping;                 /* a snapshot is being written */
	bool is_stopping;
	bool is_poisoned;
	struct berth_error poison;
	uint64_t last_seq, snapshot_seq, commits, fsyncs;
};

/* --- the thread ------------------------------------------------------------------------------------------ */

static bool is_disk_full(int r)
{
	return r == -ENOSPC || r == -EDQUOT;
}

/* Note what a step of the thread did; with the lock. */
static void account(struct berth_writer *writer, int r, const struct berth_error *err)
{
	const struct berth_committer *committer = &writer->committer;

	if (r < 0 && !is_disk_full(r) && !writer->is_poisoned) {
		writer->is_poisoned = true;
		writer->poison = *err;
	}
	writer->last_seq = committer->head.seq;
	writer->commits = committer->commits;
	writer->fsyncs = committer->fsyncs;
	writer->snapshot_seq = committer->keeper.n_marks ? committer->keeper.marks[0].at.seq : 0;
	writer->is_keeping = committer->keeper.phase == BERTH_KEEPER_WRITE;
}

static void decide(struct berth_writer *writer, int result, const struct berth_error *err)
{
	writer->state = WORK_DECIDED;
	writer->result = result;
	writer->err = *err;
	pthread_cond_signal(&writer->decided);
	/* The loop looks at the state, not at the number; a full counter (EAGAIN) wakes it as well. A call that was not
	 * heard would leave it asleep for good. */
	while (!writer->work.name && eventfd_write(writer->event_fd, 1) < 0 && errno != EAGAIN)
		(void)sched_yield();
}

static int run_work(struct berth_writer *writer, const struct work *work, struct berth_error *err)
{
	if (work->name)
		return berth_committer_setting(&writer->committer, work->name, work->value, err);
	return berth_committer_run(&writer->committer, work->tx, err);
}

static void do_work(struct berth_writer *writer)
{
	const struct work work = writer->work;
	struct berth_error err = writer->poison;
	int r;

	if (writer->is_poisoned) {
		decide(writer, err.code, &err);
		return;
	}
	pthread_mutex_unlock(&writer->lock);
	r = run_work(writer, &work, &err);
	pthread_mutex_lock(&writer->lock);
	account(writer, r, &err);
	decide(writer, r, &err);
}

static void do_slice(struct berth_writer *writer)
{
	struct berth_error err = {0};
	int r;

	pthread_mutex_unlock(&writer->lock);
	r = berth_committer_keep(&writer->committer, &err);
	pthread_mutex_lock(&writer->lock);
	account(writer, r, &err);
}

/* A log of this length that could not be copied (a reader is in it, the disk is full) is not tried again until it has
 * grown. */
static bool is_log_long(const struct berth_writer *writer, int frames)
{
	const struct berth_committer *committer = &writer->committer;

	return committer->log_frames >= frames && !committer->is_log_copied &&
	       committer->log_frames != writer->frames_tried;
}

static void do_checkpoint(struct berth_writer *writer)
{
	struct berth_error err = {0};
	int r;

	pthread_mutex_unlock(&writer->lock);
	r = berth_committer_checkpoint(&writer->committer, &err);
	pthread_mutex_lock(&writer->lock);
	writer->frames_tried = writer->committer.log_frames;
	account(writer, r == -EBUSY ? 0 : r, &err);
}

static void wait_for_work(struct berth_writer *writer)
{
	struct timespec until;

	if (writer->is_poisoned || !is_log_long(writer, CHECKPOINT_IDLE_FRAMES)) {
		pthread_cond_wait(&writer->wake, &writer->lock);
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += IDLE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	if (pthread_cond_timedwait(&writer->wake, &writer->lock, &until) == ETIMEDOUT && writer->state != WORK_HANDED)
		do_checkpoint(writer);
}

/* A snapshot was made on the last journal row, and is taken before a transaction that was handed over behind it. */
static void take_snapshot(struct berth_writer *writer)
{
	if (!writer->snapshot)
		return;
	berth_keeper_take(&writer->committer.keeper, BERTH_TAKE(writer->snapshot), &writer->committer.head);
	writer->is_keeping = true;
}

static bool has_slice(const struct berth_writer *writer)
{
	return !writer->is_poisoned && !writer->is_stopping && berth_keeper_has_work(&writer->committer.keeper);
}

/* A transaction, then at most one slice, and again: neither starves the other. */
static void *run(void *arg)
{
	struct berth_writer *writer = arg;

	pthread_mutex_lock(&writer->lock);
	while (!writer->is_stopping || writer->state == WORK_HANDED) {
		bool has_worked = writer->state == WORK_HANDED;

		take_snapshot(writer);
		if (has_worked) {
			do_work(writer);
			/* On a full disk the log's own room is what can be had. */
			if (!writer->is_poisoned &&
			    (is_disk_full(writer->result) || is_log_long(writer, CHECKPOINT_FORCED_FRAMES)))
				do_checkpoint(writer);
		}
		if (has_slice(writer))
			do_slice(writer);
		else if (!has_worked && !writer->is_stopping)
			wait_for_work(writer);
	}
	pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* --- the loop's side ------------------------------------------------------------------------------------- */

static int init_locks(struct berth_writer *writer)
{
	pthread_condattr_t attr;

	if (pthread_condattr_init(&attr) != 0)
		return -ENOMEM;
	/* Waiting by a clock that does not step; these cannot fail with valid arguments on Linux. */
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&writer->lock, NULL);
	(void)pthread_cond_init(&writer->wake, &attr);
	(void)pthread_cond_init(&writer->decided, &attr);
	(void)pthread_condattr_destroy(&attr);
	return 0;
}

/* Signals are the loop's business. */
static int start_thread(struct berth_writer *writer)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&writer->thread, NULL, run, writer);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

static void free_writer(struct berth_writer *writer)
{
	berth_committer_fini(&writer->committer, writer->is_poisoned);
	berth_snapshot_free(writer->snapshot);
	(void)pthread_cond_destroy(&writer->decided);
	(void)pthread_cond_destroy(&writer->wake);
	(void)pthread_mutex_destroy(&writer->lock);
	if (writer->event_fd >= 0)
		(void)close(writer->event_fd);
	free(writer);
}

int berth_writer_start(sqlite3 *db, int head_fd, const struct berth_verified *verified, struct berth_writer **ret,
                       struct berth_error *err)
{
	struct berth_writer *writer = calloc(1, sizeof(*writer));
	int r = writer ? init_locks(writer) : -ENOMEM;

	if (r < 0) {
		free(writer);
		berth_db_close(db);
		(void)close(head_fd);
		return berth_error_set(err, r, "no memory for the writer");
	}
	writer->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = berth_committer_init(&writer->committer, db, head_fd, verified, err);
	if (r == 0 && writer->event_fd < 0)
		r = berth_error_errno(err, -errno, "making an event descriptor");
	if (r == 0) {
		account(writer, 0, NULL);
		r = start_thread(writer);
		if (r < 0)
			(void)berth_error_errno(err, r, "starting the writer thread");
	}
	if (r < 0) {
		free_writer(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

void berth_writer_stop(struct berth_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->is_stopping = true;
	pthread_cond_signal(&writer->wake);
	pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	free_writer(writer);
}

/* With the lock. */
static int hand(struct berth_writer *writer, const struct work *work)
{
	if (writer->state != WORK_NONE)
		return -EBUSY;
	writer->work = *work;
	writer->state = WORK_HANDED;
	pthread_cond_signal(&writer->wake);
	return 0;
}

int berth_writer_commit(struct berth_writer *writer, const struct berth_transaction *tx)
{
	const struct work work = {.tx = tx};
	int r;

	pthread_mutex_lock(&writer->lock);
	r = hand(writer, &work);
	pthread_mutex_unlock(&writer->lock);
	return r;
}

/* With the lock. */
static void wait_decided(struct berth_writer *writer)
{
	while (writer->state == WORK_HANDED)
		pthread_cond_wait(&writer->decided, &writer->lock);
}

int berth_writer_setting(struct berth_writer *writer, const char *name, const char *value)
{
	const struct work work = {.name = name, .value = value};
	int r;

	pthread_mutex_lock(&writer->lock);
	r = hand(writer, &work);
	if (r == 0) {
		wait_decided(writer);
		r = writer->result;
		writer->state = WORK_NONE;
	}
	pthread_mutex_unlock(&writer->lock);
	return r;
}

bool berth_writer_is_busy(struct berth_writer *writer)
{
	bool is_busy;

	pthread_mutex_lock(&writer->lock);
	is_busy = writer->state != WORK_NONE;
	pthread_mutex_unlock(&writer->lock);
	return is_busy;
}

int berth_writer_fd(const struct berth_writer *writer)
{
	return writer->event_fd;
}

int berth_writer_take(struct berth_writer *writer, int *ret_result, struct berth_error *err)
{
	eventfd_t count;
	int r = 0;

	pthread_mutex_lock(&writer->lock);
	/* Also when there is nothing to take: a counter that could not be read last time would call for ever. */
	(void)eventfd_read(writer->event_fd, &count);
	if (writer->state == WORK_DECIDED) {
		*ret_result = writer->result;
		if (err)
			*err = writer->err;
		writer->state = WORK_NONE;
		r = 1;
	}
	pthread_mutex_unlock(&writer->lock);
	return r;
}

void berth_writer_wait(struct berth_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	wait_decided(writer);
	pthread_mutex_unlock(&writer->lock);
}

void berth_writer_counts(struct berth_writer *writer, uint64_t *ret_commits, uint64_t *ret_fsyncs)
{
	pthread_mutex_lock(&writer->lock);
	*ret_commits = writer->commits;
	*ret_fsyncs = writer->fsyncs;
	pthread_mutex_unlock(&writer->lock);
}

/* With the lock: why this snapshot cannot be written; 1 it need not be. */
static int check_snapshot(const struct berth_writer *writer, const struct berth_snapshot *snapshot)
{
	if (writer->state != WORK_NONE)
		return -EBUSY;
	if (writer->is_poisoned)
		return writer->poison.code;
	if (snapshot->seq != writer->last_seq)
		return -EINVAL;
	return snapshot->seq == writer->snapshot_seq ? 1 : 0;
}

int berth_writer_snapshot(struct berth_writer *writer, struct berth_snapshot *snapshot)
{
	struct berth_snapshot *unused = snapshot;
	int r;

	pthread_mutex_lock(&writer->lock);
	r = check_snapshot(writer, snapshot);
	if (r == 0) {
		unused = writer->snapshot;
		writer->snapshot = snapshot;
		pthread_cond_signal(&writer->wake);
	}
	pthread_mutex_unlock(&writer->lock);
	berth_snapshot_free(unused);
	return r < 0 ? r : 0;
}

bool berth_writer_is_snapshotting(struct berth_writer *writer)
{
	bool is_snapshotting;

	pthread_mutex_lock(&writer->lock);
	is_snapshotting = writer->snapshot || writer->is_keeping;
	pthread_mutex_unlock(&writer->lock);
	return is_snapshotting;
}

uint64_t berth_writer_snapshot_seq(struct berth_writer *writer)
{
	uint64_t seq;

	pthread_mutex_lock(&writer->lock);
	seq = writer->snapshot_seq;
	pthread_mutex_unlock(&writer->lock);
	return seq;
}

uint64_t berth_writer_last_seq(struct berth_writer *writer)
{
	uint64_t seq;

	pthread_mutex_lock(&writer->lock);
	seq = writer->last_seq;
	pthread_mutex_unlock(&writer->lock);
	return seq;
}
