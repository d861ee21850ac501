#ifndef BERTH_ENGINE_LOCAL_EXECLINK_H
#define BERTH_ENGINE_LOCAL_EXECLINK_H
/* The line to berth-exec: finds the one that runs for this state directory, starts one where there is none, and comes
 * back when it dies. berth-exec gets a session of its own and outlives the daemon.
 */
#include <systemd/sd-event.h>
#include <stdbool.h>
#include "base/error.h"
#include "host/wire.h"

struct berth_execlink;

struct berth_execlink_host {
	void *arg;
	/* It answers (again): what was sent on an earlier line has been done or never will be. */
	void (*ready)(void *arg);
	/* A message of exec about an attempt or a card. */
	void (*message)(void *arg, const struct berth_wire *msg);
};

/* dirfd: of the state directory, borrowed; dir: its absolute path; exec_path: the program. Strings are borrowed for the
 * link's life, host is copied. -errno only when the loop refuses: a missing program is tried again and shown by
 * is_ready. */
BERTH_MUST_USE int berth_execlink_open(sd_event *event, int dirfd, const char *dir, const char *exec_path,
                                       const struct berth_execlink_host *host, struct berth_execlink **ret);
void berth_execlink_close(struct berth_execlink *link);

bool berth_execlink_is_ready(const struct berth_execlink *link);
/* How it holds processes, in its own words; what is wrong while it does not answer. */
const char *berth_execlink_words(const struct berth_execlink *link);

/* Send, or queue while the socket is full. pass_fd goes along and is closed here in any case (-1 = none).
 * -ENOTCONN while not ready, -ENOMEM: who must know looks; who asks again when the link is ready need not. */
int berth_execlink_send(struct berth_execlink *link, const struct berth_wire *msg, int pass_fd);
#endif
