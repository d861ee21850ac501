#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "base/clock.h"
#include "base/file.h"
#include "exec/fixture_test.h"
#include "host/kin.h"
#include "host/spec.h"

#define PATIENCE_MS 10000u

static const char *program;

void bench_set_program(const char *path)
{
	program = path;
}

uint64_t clock_ms(void)
{
	return berth_clock_boot_ms();
}

void pause_ms(long ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	(void)nanosleep(&t, NULL);
}

void bench_start_exec(struct bench *bench, uint64_t idle_exit_ms)
{
	char idle[24], log[96];

	(void)snprintf(idle, sizeof(idle), "%" PRIu64, idle_exit_ms);
	(void)snprintf(log, sizeof(log), "%s/exec.log", bench->path);
	bench->exec = fork();
	if (bench->exec == 0) {
		char *const argv[] = {"berth-exec", "--dir",
		                      bench->path,  "--idle-exit-ms",
		                      idle,         bench->kind->no_group ? "--no-group" : NULL,
		                      NULL};
		int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
		int null = open("/dev/null", O_RDONLY);

		(void)setsid();
		(void)dup2(null, 0);
		(void)dup2(fd, 1);
		(void)dup2(fd, 2);
		(void)execv(program, argv);
		_exit(127);
	}
	bench_connect(bench);
}

void bench_connect(struct bench *bench)
{
	BERTH_AUTO_CLOSE int dir = open(bench->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t end_ms = clock_ms() + PATIENCE_MS;
	struct berth_wire hello, answer;

	if (bench->link >= 0)
		(void)close(bench->link);
	while ((bench->link = berth_wire_connect(dir, "exec.sock")) < 0) {
		assert_true(clock_ms() < end_ms);
		pause_ms(5);
	}
	berth_wire_init(&hello, BERTH_WIRE_HELLO, NULL);
	answer = bench_ask(bench, &hello, BERTH_WIRE_WELCOME);
	memcpy(bench->containment, answer.text, sizeof(bench->containment));
	if (bench->attempts < 0)
		bench->attempts = openat(dir, "attempts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(bench->attempts >= 0);
}

void bench_kill_exec(struct bench *bench)
{
	assert_int_equal(kill(bench->exec, SIGKILL), 0);
	assert_int_equal(waitpid(bench->exec, NULL, 0), bench->exec);
	bench->exec = 0;
}

int bench_open(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*bench = (struct bench){.kind = *state, .attempts = -1, .link = -1, .next_job = 1};
	(void)snprintf(bench->path, sizeof(bench->path), "/tmp/berth-exec-test.XXXXXX");
	if (!mkdtemp(bench->path))
		return -1;
	bench_start_exec(bench, 60000);
	*state = bench;
	return 0;
}

int bench_alive(const struct bench *bench)
{
	return berth_kin_signal_marked("BERTH_TEST", bench->path, 0);
}

/* Ends berth-exec and whatever is left; 0 when nothing was. */
int bench_close(void **state)
{
	struct bench *bench = *state;
	const char *group = strncmp(bench->containment, "cgroup v2 at ", 13) == 0 ? bench->containment + 13 : NULL;
	int left = 0;

	(void)close(bench->link);
	if (bench->exec > 0) {
		(void)kill(bench->exec, SIGTERM);
		(void)waitpid(bench->exec, NULL, 0);
	}
	for (int i = 0; i < 200 && (left = berth_kin_signal_marked("BERTH_TEST", bench->path, 0)) > 0; i++)
		pause_ms(10);
	if (left > 0) {
		print_error("%d processes were left behind\n", left);
		(void)!berth_kin_signal_marked("BERTH_TEST", bench->path, SIGKILL);
	}
	if (group && access(group, F_OK) == 0) {
		print_error("%s was left behind\n", group);
		left++;
	}
	(void)close(bench->attempts);
	(void)!berth_dir_remove(bench->path);
	free(bench);
	return left;
}

static struct berth_wire expect(int fd, enum berth_wire_kind kind, const struct berth_attempt_id *id, void *data,
                                size_t cap)
{
	uint64_t end_ms = clock_ms() + PATIENCE_MS;
	struct pollfd poller = {fd, POLLIN, 0};

	while (clock_ms() < end_ms) {
		struct berth_wire msg;
		struct berth_attempt_id about;
		int r = berth_wire_receive(fd, &msg, data, cap, NULL);

		if (r == -EAGAIN) {
			(void)poll(&poller, 1, 100);
			continue;
		}
		if (r <= 0)
			fail_msg("the connection ended (%d) before message %d came", r, kind);
		about = berth_wire_id(&msg);
		if (msg.kind == kind && (!id || berth_attempt_is_same(id, &about)))
			return msg;
	}
	fail_msg("message %d did not come", kind);
	return (struct berth_wire){0};
}

struct berth_wire bench_expect(struct bench *bench, enum berth_wire_kind kind, const struct berth_attempt_id *id)
{
	return expect(bench->link, kind, id, NULL, 0);
}

struct berth_wire shim_expect(int fd, enum berth_wire_kind kind, void *data, size_t cap)
{
	return expect(fd, kind, NULL, data, cap);
}

void shim_send(int fd, enum berth_wire_kind kind, const struct berth_attempt_id *id, uint64_t value, uint32_t cause)
{
	struct berth_wire msg;

	berth_wire_init(&msg, kind, id);
	msg.value = value;
	msg.cause = cause;
	assert_int_equal(berth_wire_send(fd, &msg, NULL, -1), 0);
}

struct berth_wire bench_ask(struct bench *bench, const struct berth_wire *msg, enum berth_wire_kind answer)
{
	const struct berth_attempt_id id = berth_wire_id(msg);

	assert_int_equal(berth_wire_send(bench->link, msg, NULL, -1), 0);
	return bench_expect(bench, answer, &id);
}

/* The specification of an order, sealed. */
static int seal(const struct bench *bench, const struct order *order, const struct berth_attempt_id *id)
{
	char *const sh[] = {"sh", "-c", (char *)order->sh, NULL};
	char *const script[] = {"script", "one", "two words", NULL};
	char mark[96], out[192], err[192] = "";
	char *env[16] = {"PATH=/usr/bin:/bin", mark};
	const char *path[BERTH_SPEC_PATHS];
	int fd;

	(void)snprintf(mark, sizeof(mark), "BERTH_TEST=%s", bench->path);
	for (size_t i = 0; order->env && order->env[i]; i++)
		env[2 + i] = order->env[i];
	if (order->out && order->out[0] == '/')
		(void)snprintf(out, sizeof(out), "%s", order->out);
	else if (order->out)
		(void)snprintf(out, sizeof(out), "%s/%s", bench->path, order->out);
	else
		(void)snprintf(out, sizeof(out), "%s/%" PRIu64 ".out", bench->path, id->job);
	if (order->err)
		(void)snprintf(err, sizeof(err), "%s/%s", bench->path, order->err);
	path[BERTH_SPEC_CWD] = order->cwd ? order->cwd : bench->path;
	path[BERTH_SPEC_STDOUT] = out;
	path[BERTH_SPEC_STDERR] = err;
	path[BERTH_SPEC_SCRIPT] = order->script;
	fd = berth_spec_seal(order->argv ? order->argv : order->script ? script : sh, env, path, order->is_append);
	assert_true(fd >= 0);
	return fd;
}

int bench_launch_id(struct bench *bench, const struct order *order, const struct berth_attempt_id *id)
{
	BERTH_AUTO_CLOSE int spec = seal(bench, order, id);
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_LAUNCH, id);
	msg.uid = geteuid();
	msg.gid = getegid();
	msg.limit_ms = order->limit_ms ? order->limit_ms : UINT64_MAX;
	msg.grace_ms = order->grace_ms ? order->grace_ms : 300;
	msg.stop_signal = order->stop_signal;
	msg.warn_signal = order->warn_signal;
	msg.warn_ms = order->warn_ms;
	if (order->uuid)
		(void)snprintf(msg.uuid[msg.n_uuid++], BERTH_WIRE_UUID_MAX, "%s", order->uuid);
	assert_int_equal(berth_wire_send(bench->link, &msg, NULL, spec), 0);
	return bench_expect(bench, BERTH_WIRE_LAUNCHED, id).error;
}

int bench_launch(struct bench *bench, const struct order *order, struct berth_attempt_id *ret)
{
	*ret = (struct berth_attempt_id){bench->next_job++, 1};
	return bench_launch_id(bench, order, ret);
}

struct berth_record bench_record(struct bench *bench, const struct berth_attempt_id *id)
{
	uint64_t end_ms = clock_ms() + PATIENCE_MS;
	struct berth_record record;
	int r;

	while ((r = berth_record_read(bench->attempts, id, &record, NULL)) == -ENOENT && clock_ms() < end_ms)
		pause_ms(2);
	if (r < 0)
		fail_msg("no record of %" PRIu64 ".%u: %s", id->job, id->attempt, strerror(-r));
	return record;
}

struct berth_record bench_run(struct bench *bench, const struct order *order)
{
	struct berth_attempt_id id;

	assert_int_equal(bench_launch(bench, order, &id), 0);
	return bench_record(bench, &id);
}

pid_t bench_shim(struct bench *bench, const struct berth_attempt_id *id)
{
	uint64_t end_ms = clock_ms() + PATIENCE_MS;
	struct berth_claim claim;

	while (berth_claim_read(bench->attempts, id, &claim, NULL) < 0) {
		assert_true(clock_ms() < end_ms);
		pause_ms(2);
	}
	return claim.shim_pid;
}

pid_t bench_child(const struct bench *bench)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		char path[288], text[1024];
		int pid, parent;

		(void)snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    berth_file_read_proc(path, text, sizeof(text)) == 0 &&
		    sscanf(text, "%d (%*[^)]) %*c %d", &pid, &parent) == 2 && parent == bench->exec)
			found = pid;
	}
	if (dir)
		(void)closedir(dir);
	return found;
}

int bench_shim_connect(struct bench *bench, const struct berth_attempt_id *id)
{
	uint64_t end_ms = clock_ms() + PATIENCE_MS;
	char name[BERTH_ATTEMPT_NAME_MAX];
	int fd;

	(void)berth_attempt_file_name(id, BERTH_ATTEMPT_SOCK, name);
	while ((fd = berth_wire_connect(bench->attempts, name)) < 0) {
		assert_true(clock_ms() < end_ms);
		pause_ms(2);
	}
	return fd;
}

char *bench_read(const struct bench *bench, const char *name)
{
	BERTH_AUTO_CLOSE int dir = open(bench->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *text = NULL;

	if (berth_file_read_at(dir, name, 1u << 22, &text, NULL) < 0)
		text = strdup("");
	return text;
}

void bench_await(const struct bench *bench, const char *name)
{
	uint64_t end_ms = clock_ms() + PATIENCE_MS;

	for (;;) {
		BERTH_AUTO_FREE char *text = bench_read(bench, name);

		if (text[0])
			return;
		if (clock_ms() >= end_ms)
			fail_msg("%s did not come", name);
		pause_ms(5);
	}
}
