#include "api/fixture_test.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "api/double_test.h"
#include "base/clock.h"
#include "base/file.h"

#define NOW_MS UINT64_C(1796000000000)
#define GIB (UINT64_C(1) << 30)

static uint64_t now_of(void *arg)
{
	return ((struct berth_fixture *)arg)->now_ms;
}

static void on_seen(void *arg, const struct berth_fact *fact, int result)
{
	struct berth_fixture *fixture = arg;

	if (fixture->api)
		berth_api_seen(fixture->api, fact, result);
}

static void on_carry_out(void *arg, const struct berth_fact *decision)
{
	struct berth_fixture *fixture = arg;

	if (decision->kind == BERTH_FACT_ATTEMPT_ASSIGNED && fixture->n_assigned < 64)
		fixture->assigned[fixture->n_assigned++] = decision->u.assigned.job;
}

/* As the daemon does it. */
static int on_history(void *arg, const struct berth_job *job, struct berth_arena *arena, struct berth_history_row *ret)
{
	struct berth_fixture *fixture = arg;
	BERTH_AUTO_FREE char *json = fixture->api ? berth_api_job_json(fixture->api, job) : NULL;

	if (!json)
		return -EAGAIN;
	*ret = (struct berth_history_row){.job = job->id,
	                                  .uid = job->asked.uid,
	                                  .user = job->asked.user,
	                                  .name = job->asked.name,
	                                  .state = berth_job_state_public_name(job->state),
	                                  .submit_ms = job->submit_ms,
	                                  .start_ms = job->start_ms,
	                                  .end_ms = job->end_ms,
	                                  .json = berth_arena_strdup(arena, json)};
	return 0;
}

static void on_failed(void *arg, const struct berth_error *err)
{
	abort();
}

static int on_ledger(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct berth_fixture *fixture = arg;

	berth_ledger_dispatch(fixture->ledger);
	return 0;
}

static size_t links_of(void *arg, const char *uuid, struct berth_link *ret, const char **ret_peer, size_t cap)
{
	ret[0] = (struct berth_link){.a = 0, .b = 1, .mbyte_per_s = 300000, .kind = BERTH_LINK_NVSWITCH};
	ret_peer[0] = "SIM-1";
	return 1;
}

static int inject(void *arg, const char *uuid, const char *what,
                  void (*done)(void *done_arg, int result, const struct berth_error *err), void *done_arg,
                  struct berth_error *err)
{
	struct berth_fixture *fixture = arg;
	struct berth_error told = {0};

	if (strcmp(what, "nonsense") == 0)
		return berth_error_set(err, -EINVAL, "nonsense is nothing to inject");
	fixture->injected = strcmp(what, "lost") == 0 ? "lost" : "other";
	if (fixture->inject_result < 0)
		(void)berth_error_set(&told, fixture->inject_result, "the simulator refused");
	done(done_arg, fixture->inject_result, &told);
	return 0;
}

static size_t doctor(void *arg, struct berth_check *ret, size_t cap)
{
	ret[0] = (struct berth_check){
		.name = "disk", .result = BERTH_CHECK_WARN, .text = "2 % free", .fix = "free some"};
	ret[1] = (struct berth_check){.name = "clock", .result = BERTH_CHECK_OK, .text = "fine"};
	return 2;
}

static char *config_json(void *arg)
{
	return strdup("{\"schema\":\"berth.config/1\",\"values\":[]}");
}

static void counters(void *arg, struct berth_telemetry_counters *ret)
{
	ret->is_exec_connected = true;
}

static bool is_healthy(void *arg, struct berth_text *why)
{
	const struct berth_fixture *fixture = arg;

	if (fixture->is_sick)
		berth_text_add(why, "the last sample is 40 s old");
	return !fixture->is_sick;
}

static void open_api(struct berth_fixture *fixture)
{
	const struct berth_api_options options = {
		.socket_path = fixture->socket_path, .listen_addr = "127.0.0.1", .listen_port = 0};
	struct berth_error err = {0};
	int r = berth_api_open(fixture->event, &options, &fixture->host, &fixture->api, &err);

	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.text);
	assert(r == 0);
}

static void open_ledger(struct berth_fixture *fixture)
{
	struct berth_ledger_host host = {fixture, now_of, on_seen, on_carry_out, on_history, on_failed};
	struct berth_error err = {0};
	int r = berth_ledger_open(fixture->dir, &host, &fixture->ledger, &err);

	if (r < 0)
		(void)fprintf(stderr, "%s\n", err.text);
	assert(r == 0);
	r = sd_event_add_io(fixture->event, &fixture->ledger_io, berth_ledger_fd(fixture->ledger), EPOLLIN, on_ledger,
	                    fixture);
	assert(r >= 0);
	fixture->host.ledger = fixture->ledger;
}

static void close_ledger(struct berth_fixture *fixture)
{
	(void)sd_event_source_disable_unref(fixture->ledger_io);
	berth_ledger_close(fixture->ledger);
}

static void add_devices(struct berth_fixture *fixture)
{
	struct berth_fact fact;
	char uuid[16];

	berth_fact_init(&fact, BERTH_FACT_POLICY_SET);
	fact.u.policy = (struct berth_fact_policy){
		.backoff_first_ms = 10000, .backoff_max_ms = 600000, .retain_ms = 3600000};
	berth_fixture_fact(fixture, &fact);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node = (struct berth_fact_node){1, "gpu01"};
	berth_fixture_fact(fixture, &fact);
	for (uint32_t i = 0; i < BERTH_FIXTURE_GPUS; i++) {
		(void)snprintf(uuid, sizeof(uuid), "SIM-%u", i);
		berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
		fact.u.device = (struct berth_fact_device){.node = 1,
		                                           .index = i,
		                                           .uuid = uuid,
		                                           .kind = "gpu",
		                                           .model = "A100-80GB",
		                                           .mem_bytes = 80 * GIB};
		berth_fixture_fact(fixture, &fact);
		berth_fact_init(&fact, BERTH_FACT_DEVICE_HEALTH);
		fact.u.health = (struct berth_fact_device_health){i + 1, BERTH_HEALTH_OK};
		berth_fixture_fact(fixture, &fact);
	}
}

void berth_fixture_open(struct berth_fixture *fixture)
{
	int r;

	*fixture = (struct berth_fixture){.dir = "/tmp/berth-api-XXXXXX", .now_ms = NOW_MS, .is_simulated = true};
	assert(mkdtemp(fixture->dir));
	(void)snprintf(fixture->socket_path, sizeof(fixture->socket_path), "%s/run/berth.sock", fixture->dir);
	r = sd_event_new(&fixture->event);
	assert(r >= 0);
	fixture->engine = berth_double_engine_new();
	fixture->host = (struct berth_api_host){.arg = fixture,
	                                        .engine = fixture->engine,
	                                        .node_name = "gpu01",
	                                        .devices_spec = "sim:8xA100-80GB",
	                                        .is_simulated = true,
	                                        .uid = getuid(),
	                                        .default_limit_ms = 86400000,
	                                        .default_grace_ms = 30000,
	                                        .max_limit_ms = 7 * 86400000u,
	                                        .default_gpus = 1,
	                                        .now_ms = now_of,
	                                        .links = links_of,
	                                        .inject = inject,
	                                        .doctor = doctor,
	                                        .config_json = config_json,
	                                        .counters = counters,
	                                        .is_healthy = is_healthy};
	open_ledger(fixture);
	add_devices(fixture);
	open_api(fixture);
}

void berth_fixture_close(struct berth_fixture *fixture)
{
	berth_api_close(fixture->api);
	fixture->api = NULL;
	berth_double_engine_free(fixture->engine);
	close_ledger(fixture);
	(void)sd_event_unref(fixture->event);
	assert(berth_dir_remove(fixture->dir) == 0);
}

void berth_fixture_restart(struct berth_fixture *fixture)
{
	berth_api_close(fixture->api);
	fixture->api = NULL;
	close_ledger(fixture);
	open_ledger(fixture);
	open_api(fixture);
}

void berth_fixture_reopen(struct berth_fixture *fixture)
{
	berth_api_close(fixture->api);
	fixture->api = NULL;
	open_api(fixture);
}

/* Did the loop do something within so many microseconds? */
static bool turn(struct berth_fixture *fixture, uint64_t wait_us)
{
	const int r = sd_event_run(fixture->event, wait_us);

	assert(r >= 0);
	if (berth_ledger_wake_ms(fixture->ledger) <= fixture->now_ms)
		berth_ledger_tick(fixture->ledger);
	return r > 0;
}

void berth_fixture_settle(struct berth_fixture *fixture)
{
	while (turn(fixture, 5000))
		;
}

static void on_posted(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	*(int *)arg = result;
}

void berth_fixture_fact(struct berth_fixture *fixture, const struct berth_fact *fact)
{
	int result = 1;
	const struct berth_post post = {.facts = fact, .n_facts = 1, .done = on_posted, .done_arg = &result};
	int r = berth_ledger_post(fixture->ledger, &post);

	assert(r == 0);
	while (result > 0)
		(void)turn(fixture, 100000);
	assert(result == 0);
}

void berth_fixture_start(struct berth_fixture *fixture, uint64_t job)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){
		job, berth_core_job(berth_ledger_core(fixture->ledger), job)->attempt, 4711};
	berth_fixture_fact(fixture, &fact);
}

void berth_fixture_end(struct berth_fixture *fixture, uint64_t job, int exit_code)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended = (struct berth_fact_ended){
		.job = job,
		.attempt = berth_core_job(berth_ledger_core(fixture->ledger), job)->attempt,
		.exit_code = exit_code,
		.started_ms = fixture->now_ms,
		.ended_ms = fixture->now_ms};
	berth_fixture_fact(fixture, &fact);
	berth_fixture_settle(fixture);
}

/* --- the client ------------------------------------------------------------------------------ */

int berth_client_unix(struct berth_fixture *fixture)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert(fd >= 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", fixture->socket_path);
	assert(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
	return fd;
}

int berth_client_tcp(struct berth_fixture *fixture)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
	                           .sin_port = htons(berth_api_port(fixture->api)),
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
	return fd;
}

bool berth_client_send(struct berth_fixture *fixture, int fd, const char *data, size_t n)
{
	while (n > 0) {
		const ssize_t sent = send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno != EAGAIN)
			return false;
		if (sent > 0) {
			data += sent;
			n -= (size_t)sent;
		}
		(void)turn(fixture, sent < 0 ? 10000 : 0);
	}
	return true;
}

/* What is there now: bytes, 0 at the end, -1 nothing yet. */
static ssize_t receive(struct berth_fixture *fixture, int fd, struct berth_text *buf)
{
	char piece[65536];
	const ssize_t n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);

	if (n > 0)
		berth_text_add_n(buf, piece, (size_t)n);
	if (n >= 0 || errno != EAGAIN)
		return n < 0 ? 0 : n;
	(void)turn(fixture, 2000);
	return -1;
}

bool berth_client_await(struct berth_fixture *fixture, int fd, struct berth_text *buf, const char *text)
{
	const uint64_t until_ms = berth_clock_boot_ms() + 2000;

	while (!strstr(berth_text_str(buf), text))
		if (receive(fixture, fd, buf) == 0 || berth_clock_boot_ms() > until_ms)
			return false;
	return true;
}

void berth_client_drain(struct berth_fixture *fixture, int fd, struct berth_text *buf)
{
	char piece[65536];
	ssize_t n = 1;

	while (n > 0 || turn(fixture, 1000)) {
		n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n > 0)
			berth_text_add_n(buf, piece, (size_t)n);
	}
}

/* The length that the head promises; SIZE_MAX when it promises none. */
static size_t promised(const char *head)
{
	const char *line = strcasestr(head, "\r\nContent-Length:");

	return line ? strtoul(line + 17, NULL, 10) : SIZE_MAX;
}

static bool is_whole(const struct berth_text *buf)
{
	const char *end = strstr(berth_text_str(buf), "\r\n\r\n");
	const size_t n = end ? promised(buf->at) : SIZE_MAX;

	return end && n != SIZE_MAX && buf->len >= (size_t)(end - buf->at) + 4 + n;
}

struct berth_answer berth_client_read(struct berth_fixture *fixture, int fd)
{
	const uint64_t until_ms = berth_clock_boot_ms() + 10000;
	BERTH_AUTO_TEXT struct berth_text buf = {0};
	struct berth_answer answer = {0};
	const char *end;

	while (!is_whole(&buf) && berth_clock_boot_ms() < until_ms)
		if (receive(fixture, fd, &buf) == 0)
			break;
	end = strstr(berth_text_str(&buf), "\r\n\r\n");
	if (!end)
		return answer;
	answer.status = (int)strtol(buf.at + 9, NULL, 10);
	answer.head = strndup(buf.at, (size_t)(end - buf.at) + 2);
	answer.n_body = buf.len - (size_t)(end + 4 - buf.at);
	answer.body = calloc(1, answer.n_body + 1);
	assert(answer.head && answer.body);
	memcpy(answer.body, end + 4, answer.n_body);
	return answer;
}

void berth_answer_fini(struct berth_answer *answer)
{
	free(answer->head);
	free(answer->body);
	*answer = (struct berth_answer){0};
}

static struct berth_answer ask(struct berth_fixture *fixture, int fd, const char *method, const char *path,
                               const char *headers, const char *body)
{
	BERTH_AUTO_TEXT struct berth_text request = {0};
	struct berth_answer answer;

	berth_text_addf(&request, "%s %s HTTP/1.1\r\n%s", method, path, headers);
	if (body)
		berth_text_addf(&request, "Content-Length: %zu\r\n", strlen(body));
	berth_text_add(&request, "\r\n");
	berth_text_add(&request, body ? body : "");
	(void)berth_client_send(fixture, fd, request.at, request.len);
	answer = berth_client_read(fixture, fd);
	(void)close(fd);
	return answer;
}

struct berth_answer berth_ask_unix(struct berth_fixture *fixture, const char *method, const char *path,
                                   const char *headers, const char *body)
{
	BERTH_AUTO_TEXT struct berth_text all = {0};

	berth_text_addf(&all, "Host: berth\r\n%s", headers);
	return ask(fixture, berth_client_unix(fixture), method, path, all.at, body);
}

struct berth_answer berth_ask_tcp(struct berth_fixture *fixture, const char *method, const char *path,
                                  const char *headers, const char *body)
{
	return ask(fixture, berth_client_tcp(fixture), method, path, headers, body);
}

char *berth_sign_in(struct berth_fixture *fixture)
{
	const unsigned port = berth_api_port(fixture->api);
	BERTH_AUTO_FREE char *link = berth_api_login_link(fixture->api);
	BERTH_AUTO_ANSWER struct berth_answer answer = {0};
	char host[64];
	char *headers = NULL;
	const char *cookie;

	(void)snprintf(host, sizeof(host), "Host: 127.0.0.1:%u\r\n", port);
	answer = berth_ask_tcp(fixture, "GET", strstr(link, "/login"), host, NULL);
	assert(answer.status == 200);
	cookie = strstr(answer.head, "Set-Cookie: ");
	assert(cookie);
	cookie += strlen("Set-Cookie: ");
	assert(asprintf(&headers, "%sOrigin: http://127.0.0.1:%u\r\nCookie: %.*s\r\n", host, port,
	                (int)strcspn(cookie, ";"), cookie) > 0);
	return headers;
}

int set_up(void **state)
{
	struct berth_fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	berth_fixture_open(fixture);
	*state = fixture;
	return 0;
}

int tear_down(void **state)
{
	berth_fixture_close(*state);
	free(*state);
	return 0;
}
