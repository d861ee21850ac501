#ifndef BERTH_API_FIXTURE_TEST_H
#define BERTH_API_FIXTURE_TEST_H
/* A whole API in a temporary directory over a ledger and an engine, with a client that turns the loop by itself: one
 * thread, so that nothing in a test depends on time.
 */
#include <systemd/sd-event.h>
#include "api/api.h"

#define BERTH_FIXTURE_GPUS 8

struct berth_fixture {
	char dir[64];
	char socket_path[96];
	sd_event *event;
	sd_event_source *ledger_io;
	struct berth_ledger *ledger;
	struct berth_engine *engine;
	struct berth_api *api;
	struct berth_api_host host;
	uint64_t now_ms; /* the core clock; tests move it */
	bool is_simulated;
	const char *injected; /* what the last injection said */
	int inject_result;
	bool is_sick;          /* for /healthz */
	uint64_t assigned[64]; /* jobs that the core started, in order */
	uint32_t n_assigned;
};

/* Eight cards A100-80GB of 80 GB on node gpu01; defaults: 1 card, 24 h, grace 30 s, at most 7 days. */
void berth_fixture_open(struct berth_fixture *fixture);
void berth_fixture_close(struct berth_fixture *fixture);
/* cmocka's set-up and tear-down of a test: *state is an open fixture. */
int set_up(void **state);
int tear_down(void **state);
/* Close the API and open it again on the same ledger, as after a restart. */
void berth_fixture_reopen(struct berth_fixture *fixture);
/* Close ledger and API and open both again from the directory (not with the ledger's double, which keeps nothing). */
void berth_fixture_restart(struct berth_fixture *fixture);
/* One fact that the engine or a person would have posted, made durable at once. */
void berth_fixture_fact(struct berth_fixture *fixture, const struct berth_fact *fact);
/* The current attempt of job starts; ends with this code. */
void berth_fixture_start(struct berth_fixture *fixture, uint64_t job);
void berth_fixture_end(struct berth_fixture *fixture, uint64_t job, int exit_code);
/* Turn the loop until nothing is left to do for 5 ms. */
void berth_fixture_settle(struct berth_fixture *fixture);

/* A client's connection: unix socket, or TCP. */
int berth_client_unix(struct berth_fixture *fixture);
int berth_client_tcp(struct berth_fixture *fixture);
/* Send bytes (turning the loop while the socket is full); false when the other side closed. */
bool berth_client_send(struct berth_fixture *fixture, int fd, const char *data, size_t n);
/* An answer: status 0 = the connection closed without one. Owned strings. */
struct berth_answer {
	int status;
	char *head, *body;
	size_t n_body;
};
void berth_answer_fini(struct berth_answer *answer);
#define BERTH_AUTO_ANSWER __attribute__((cleanup(berth_answer_fini)))
/* Read one answer. */
struct berth_answer berth_client_read(struct berth_fixture *fixture, int fd);
/* Read what comes until it holds this text, at most 2 s; appended to buf (a stream's bytes). false: it did not come. */
bool berth_client_await(struct berth_fixture *fixture, int fd, struct berth_text *buf, const char *text);
/* Read what is there and what comes while the loop has something to do. */
void berth_client_drain(struct berth_fixture *fixture, int fd, struct berth_text *buf);
/* A whole exchange on a fresh unix connection. body NULL = none; headers: lines with CRLF, or "". */
struct berth_answer berth_ask_unix(struct berth_fixture *fixture, const char *method, const char *path,
                                   const char *headers, const char *body);
/* The same over TCP, without any header but those given. */
struct berth_answer berth_ask_tcp(struct berth_fixture *fixture, const char *method, const char *path,
                                  const char *headers, const char *body);
/* Headers of a signed-in page: Host, Origin and cookie. Allocated. */
char *berth_sign_in(struct berth_fixture *fixture);
#endif
