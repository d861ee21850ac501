#ifndef BERTH_CLI_WATCH_H
#define BERTH_CLI_WATCH_H
/* Some jobs, kept up to date from the stream of events, also over restarts of the daemon.
 *
 * The stream is opened first and the jobs are read after it, so nothing that happens falls between. When it breaks,
 * both are done again; after BERTH_PATIENCE_MS without a daemon the watch gives up.
 */
#include <jansson.h>
#include <poll.h>
#include <stdint.h>
#include "cli/client.h"

struct berth_watch {
	struct berth_cli *cli; /* borrowed */
	const uint64_t *ids;   /* borrowed */
	size_t n;
	json_t **jobs; /* owned: the latest of each, as `GET /api/v1/jobs/ID` or an event told it */
	struct berth_events events;
	uint64_t changes;  /* counts what came for any of the jobs */
	uint64_t lost_ms;  /* boot clock: since when there is no daemon; 0 = there is one */
	uint64_t retry_ms; /* when to try again */
	uint64_t heard_ms; /* when the last byte came: a comment comes every 15 s */
};

/* Begin. BERTH_EXIT_OK, or an exit code after a complaint, BERTH_EXIT_NO_SUCH among them; then nothing has to be
 * closed. */
BERTH_MUST_USE int berth_watch_open(struct berth_cli *cli, const uint64_t *ids, size_t n, struct berth_watch *ret);
/* Wait for something: for an event, for one of fds (its revents are set; fd -1 is passed over), or timeout_ms (-1 = no
 * end). Takes what has come. At most BERTH_WATCH_FDS. BERTH_EXIT_OK, or an exit code after a complaint: the daemon
 * stayed away. */
#define BERTH_WATCH_FDS 4
BERTH_MUST_USE int berth_watch_step(struct berth_watch *watch, struct pollfd *fds, size_t n_fds, int timeout_ms);
/* Read job i once more, for what events do not tell (output_path). BERTH_EXIT_OK also when the daemon is just away:
 * then the next step reads it. */
BERTH_MUST_USE int berth_watch_reread(struct berth_watch *watch, size_t i);
bool berth_watch_all_final(const struct berth_watch *watch);
void berth_watch_close(struct berth_watch *watch);
#endif
