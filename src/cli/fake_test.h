#ifndef BERTH_CLI_FAKE_TEST_H
#define BERTH_CLI_FAKE_TEST_H
/* A daemon that says what a test wrote down: a forked process that listens on a unix socket in a directory of its own.
 *
 * It serves a list of steps. A request takes the first unused step whose `expect` it begins with ("GET
 * /api/v1/jobs/12"), is written to a log, and gets that step's answer; without such a step it gets 404 NoSuchJob. All
 * steps may also be taken in any order, so that streams and questions mix as they do with the real one.
 */
#include <stddef.h>
#include <sys/types.h>
#include "cli/cli.h"

struct fake_act {
	int wait_ms;        /* before it; 0 ends the list */
	const char *append; /* to the file "out" of the directory */
	const char *events; /* text/event-stream, into the open stream */
	int ends_stream;
};

struct fake_step {
	const char *expect;          /* beginning of the request line; NULL ends the list */
	int status;                  /* 0 = `raw` is all that is sent */
	const char *body;            /* JSON, sent with a length */
	const char *raw;             /* bytes as they are */
	size_t raw_n;                /* 0 = strlen */
	size_t piece;                /* send in pieces so small, with pauses; 0 = at once */
	int delay_ms;                /* before the answer */
	int is_stream;               /* keep the connection, answer with a chunked event stream */
	const struct fake_act *acts; /* what happens after the answer, in order */
	int is_dumb;                 /* close without an answer */
	int closes_door_ms;          /* after the answer: nobody listens for so long */
	int is_reusable;             /* may be taken again and again */
};

struct fake {
	char dir[32];    /* "/tmp/berth-cli-XXXXXX" */
	char socket[64]; /* DIR/s */
	pid_t pid;
};

/* Start it; the process is a child of the test. steps: used until fake_stop. */
void fake_start(struct fake *fake, const struct fake_step *steps);
/* Stop it and remove the directory. */
void fake_stop(struct fake *fake);
/* All requests so far, heads and bodies, in order. The caller frees. */
char *fake_requests(const struct fake *fake);
/* DIR/name, in a buffer of the fake's. */
const char *fake_path(struct fake *fake, const char *name);

/* A command line context as main makes it, with that daemon for --socket. verb: "run", its words behind it:
 * NULL-terminated list. Fails the test when the words are refused. */
void fake_cli(struct berth_cli *cli, const struct fake *fake, const char *verb, char *const *words);
void fake_cli_end(struct berth_cli *cli);

/* Everything that goes to a descriptor (1 or 2) between begin and end, NUL-terminated; the caller frees. */
struct fake_capture {
	int fd, saved, file;
};
void fake_capture_begin(struct fake_capture *capture, int fd);
char *fake_capture_end(struct fake_capture *capture);

/* Run a verb with words and return its exit code; ret_out, ret_err (each may be NULL) get what it printed. */
int fake_run(const struct fake *fake, char *const *words, char **ret_out, char **ret_err);
#endif
