#ifndef BERTH_CLI_TAIL_H
#define BERTH_CLI_TAIL_H
/* The output of a job as it grows, byte for byte, into one of our own descriptors.
 *
 * It is read from the file, as the caller, since that is quick and needs nobody; where the file cannot be opened
 * (another machine, another name space) the daemon is asked for ranges. Writing never blocks: a reader that has paused
 * does not keep us from hearing Ctrl-C.
 */
#include <stdint.h>
#include <stdbool.h>
#include "cli/client.h"

#define BERTH_TAIL_BYTES 65536u

struct berth_tail {
	struct berth_cli *cli; /* borrowed */
	uint64_t id;           /* job, for asking the daemon; 0 = do not ask */
	int out;               /* where it goes; borrowed */
	bool is_json;          /* to stdout, as one berth.log/1 object a piece */
	int fd;                /* owned: the file; -1 = not open */
	bool is_asking;        /* the daemon is asked for it */
	bool is_missing;       /* it has none either */
	uint64_t offset;       /* in the file: what has been read */
	uint64_t asked_ms;     /* boot clock: when the daemon was asked last */
	char *buf;             /* owned, BERTH_TAIL_BYTES */
	size_t at, n;          /* read and not yet written */
};

/* Nothing is opened yet. 0 or -ENOMEM. */
BERTH_MUST_USE int berth_tail_init(struct berth_tail *tail, struct berth_cli *cli, uint64_t id, int out);
/* Open the file; when that fails, fall back to asking (unless id is 0). Called again, it goes over to another file that
 * has taken the name, from that one's start. */
void berth_tail_open(struct berth_tail *tail, const char *path);
/* Read more if everything read was written. True when there is something to write. force: ask the daemon now, not at
 * its interval. */
bool berth_tail_fill(struct berth_tail *tail, bool force);
/* Write a piece, after poll said that out takes some. 0, or -errno (-EPIPE: nobody reads any more). */
BERTH_MUST_USE int berth_tail_write(struct berth_tail *tail);
/* n bytes as JSON can carry them: what is no UTF-8 becomes U+FFFD, a NUL U+2400. Added to text. */
void berth_tail_clean(const char *bytes, size_t n, struct berth_text *text);
void berth_tail_fini(struct berth_tail *tail);
#endif
