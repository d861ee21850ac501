#include "engine/local/execlink.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include "base/clock.h"

/* A fresh berth-exec listens after a few milliseconds; one that fails is not started more than every five seconds. */
#define RETRY_FIRST_MS 5u
#define RETRY_MAX_MS 1000u
#define RESPAWN_FIRST_MS 200u
#define RESPAWN_MAX_MS 5000u

struct parcel {
	struct parcel *next;
	struct berth_wire msg;
	int fd; /* owned, -1 = none */
};

struct berth_execlink {
	struct berth_execlink_host host;
	sd_event *event;
	int dirfd;
	const char *dir, *exec_path;

	int fd; /* -1 = no line */
	sd_event_source *io, *timer;
	bool is_ready;
	char words[256];
	struct parcel *first, **last; /* to be sent, in order */

	pid_t child; /* berth-exec as started by us and not reaped; 0 = none */
	uint64_t retry_ms, respawn_ms, spawn_at_ms;
};

static void retry_later(struct berth_execlink *link);

static void drop_parcels(struct berth_execlink *link)
{
	while (link->first) {
		struct parcel *parcel = link->first;

		link->first = parcel->next;
		if (parcel->fd >= 0)
			(void)close(parcel->fd);
		free(parcel);
	}
	link->last = &link->first;
}

static void hang_up(struct berth_execlink *link, const char *words)
{
	link->io = sd_event_source_disable_unref(link->io);
	if (link->fd >= 0)
		(void)close(link->fd);
	link->fd = -1;
	link->is_ready = false;
	drop_parcels(link);
	(void)snprintf(link->words, sizeof(link->words), "%s", words);
}

static void lose(struct berth_execlink *link, const char *words)
{
	hang_up(link, words);
	link->retry_ms = RETRY_FIRST_MS;
	retry_later(link);
}

/* Ours to reap while we live; after a restart of the daemon it is nobody's child and init's business. */
static void reap(struct berth_execlink *link)
{
	if (link->child > 0 && waitpid(link->child, NULL, WNOHANG) != 0)
		link->child = 0;
}

/* Nothing of the daemon goes along: its descriptors are all close-on-exec, signals are as in a fresh process. */
static int spawn(struct berth_execlink *link)
{
	char *const argv[] = {(char *)(uintptr_t) "berth-exec", (char *)(uintptr_t) "--dir",
	                      (char *)(uintptr_t)link->dir, NULL};
	BERTH_AUTO_CLOSE int log = openat(link->dirfd, "exec.log", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	sigset_t all;
	pid_t pid;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0 || posix_spawnattr_init(&attr) != 0)
		return -ENOMEM;
	int r = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attr, &all);
	if (r == 0)
		r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	for (int fd = 1; fd <= 2 && r == 0; fd++)
		r = log >= 0 ? posix_spawn_file_actions_adddup2(&actions, log, fd)
		             : posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn(&pid, link->exec_path, &actions, &attr, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	if (r == 0)
		link->child = pid;
	return -r;
}

static void spawn_when_due(struct berth_execlink *link)
{
	uint64_t now_ms = berth_clock_boot_ms();

	reap(link);
	if (link->child > 0 || now_ms < link->spawn_at_ms)
		return;
	int r = spawn(link);
	(void)snprintf(link->words, sizeof(link->words),
	               r < 0 ? "berth-exec cannot be started from %s: %s" : "berth-exec is being started",
	               link->exec_path, strerror(-r));
	link->spawn_at_ms = now_ms + link->respawn_ms;
	link->respawn_ms = link->respawn_ms * 2 < RESPAWN_MAX_MS ? link->respawn_ms * 2 : RESPAWN_MAX_MS;
	link->retry_ms = RETRY_FIRST_MS;
}

static int flush(struct berth_execlink *link)
{
	while (link->first) {
		struct parcel *parcel = link->first;
		int r = berth_wire_send(link->fd, &parcel->msg, NULL, parcel->fd);

		if (r < 0)
			return r == -EAGAIN ? 0 : r;
		link->first = parcel->next;
		if (!link->first)
			link->last = &link->first;
		if (parcel->fd >= 0)
			(void)close(parcel->fd);
		free(parcel);
	}
	return 0;
}

static void watch_room(struct berth_execlink *link)
{
	if (link->io)
		(void)sd_event_source_set_io_events(link->io, EPOLLIN | (link->first ? EPOLLOUT : 0u));
}

static void take_message(struct berth_execlink *link, const struct berth_wire *msg)
{
	if (msg->kind != BERTH_WIRE_WELCOME) {
		link->host.message(link->host.arg, msg);
		return;
	}
	link->is_ready = true;
	link->respawn_ms = RESPAWN_FIRST_MS;
	(void)snprintf(link->words, sizeof(link->words), "%s", msg->text);
	link->host.ready(link->host.arg);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct berth_execlink *link = arg;
	struct berth_wire msg;
	int r = flush(link);

	while (r >= 0) {
		r = berth_wire_receive(link->fd, &msg, NULL, 0, NULL);
		if (r == -EBADMSG) {
			r = 1;
			continue;
		}
		if (r <= 0)
			break;
		take_message(link, &msg);
		if (link->fd != fd)
			return 0;
	}
	if (r != -EAGAIN)
		lose(link, "berth-exec has gone; it is looked for again");
	else
		watch_room(link);
	return 0;
}

static int greet(struct berth_execlink *link)
{
	struct berth_wire hello;
	int r = sd_event_add_io(link->event, &link->io, link->fd, EPOLLIN, on_io, link);

	if (r < 0)
		return r;
	berth_wire_init(&hello, BERTH_WIRE_HELLO, NULL);
	return berth_wire_send(link->fd, &hello, NULL, -1);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
	struct berth_execlink *link = arg;

	reap(link);
	if (link->fd >= 0)
		return 0;
	int fd = berth_wire_connect(link->dirfd, "exec.sock");
	if (fd < 0) {
		if (fd == -ENOENT || fd == -ECONNREFUSED)
			spawn_when_due(link);
		retry_later(link);
		return 0;
	}
	link->fd = fd;
	if (greet(link) < 0)
		lose(link, "berth-exec does not take a greeting");
	return 0;
}

static void retry_later(struct berth_execlink *link)
{
	(void)sd_event_source_set_time_relative(link->timer, link->retry_ms * 1000);
	(void)sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT);
	link->retry_ms = link->retry_ms * 2 < RETRY_MAX_MS ? link->retry_ms * 2 : RETRY_MAX_MS;
}

int berth_execlink_open(sd_event *event, int dirfd, const char *dir, const char *exec_path,
                        const struct berth_execlink_host *host, struct berth_execlink **ret)
{
	struct berth_execlink *link = calloc(1, sizeof(*link));

	if (!link)
		return -ENOMEM;
	*link = (struct berth_execlink){.host = *host,
	                                .event = sd_event_ref(event),
	                                .dirfd = dirfd,
	                                .dir = dir,
	                                .exec_path = exec_path,
	                                .fd = -1,
	                                .retry_ms = RETRY_FIRST_MS,
	                                .respawn_ms = RESPAWN_FIRST_MS};
	link->last = &link->first;
	(void)snprintf(link->words, sizeof(link->words), "berth-exec is being looked for");
	int r = sd_event_add_time_relative(event, &link->timer, CLOCK_BOOTTIME, 0, 1000, on_timer, link);
	if (r < 0) {
		berth_execlink_close(link);
		return r;
	}
	*ret = link;
	return 0;
}

void berth_execlink_close(struct berth_execlink *link)
{
	if (!link)
		return;
	hang_up(link, "");
	reap(link);
	sd_event_source_disable_unref(link->timer);
	sd_event_unref(link->event);
	free(link);
}

bool berth_execlink_is_ready(const struct berth_execlink *link)
{
	return link->is_ready;
}

const char *berth_execlink_words(const struct berth_execlink *link)
{
	return link->words;
}

static int queue_up(struct berth_execlink *link, const struct berth_wire *msg, int pass_fd)
{
	struct parcel *parcel = malloc(sizeof(*parcel));

	if (!parcel)
		return -ENOMEM;
	*parcel = (struct parcel){.msg = *msg, .fd = pass_fd};
	*link->last = parcel;
	link->last = &parcel->next;
	watch_room(link);
	return 0;
}

int berth_execlink_send(struct berth_execlink *link, const struct berth_wire *msg, int pass_fd)
{
	BERTH_AUTO_CLOSE int fd = pass_fd;
	int r = -EAGAIN;

	if (!link->is_ready)
		return -ENOTCONN;
	if (!link->first)
		r = berth_wire_send(link->fd, msg, NULL, fd);
	if (r == -EAGAIN) {
		r = queue_up(link, msg, fd);
		if (r == 0)
			(void)BERTH_TAKE_FD(fd);
	}
	/* The line was lost, which its own event is about to tell: not a word against what was to be sent. */
	return r == -EPIPE || r == -ECONNRESET ? -ENOTCONN : r;
}
