#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/file.h"
#include "cli/fake_test.h"
#include "cli/verbs.h"

#define STEPS_MAX 64

static void pause_ms(int ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	(void)nanosleep(&pause, NULL);
}

static void send_bytes(int fd, const char *data, size_t n, size_t piece)
{
	while (n > 0) {
		size_t part = piece > 0 && piece < n ? piece : n;
		ssize_t sent = send(fd, data, part, MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		data += sent;
		n -= (size_t)sent;
		if (piece > 0)
			pause_ms(1);
	}
}

/* The head and, as its length says, the body of a request. */
static size_t read_request(int fd, char *buf, size_t cap)
{
	size_t n = 0;

	while (n < cap - 1) {
		ssize_t got = recv(fd, buf + n, cap - 1 - n, 0);
		const char *end;
		const char *length;

		if (got <= 0)
			break;
		n += (size_t)got;
		buf[n] = '\0';
		end = strstr(buf, "\r\n\r\n");
		length = strstr(buf, "Content-Length: ");
		if (end && n >= (size_t)(end + 4 - buf) + (length ? strtoul(length + 16, NULL, 10) : 0))
			break;
	}
	buf[n] = '\0';
	return n;
}

static void log_request(const char *dir, const char *request)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/requests", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)!write(fd, request, strlen(request));
	(void)close(fd);
}

static void append_file(const char *dir, const char *text)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/out", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

static void push(int fd, const char *events)
{
	char size[32];
	int n = snprintf(size, sizeof(size), "%zx\r\n", strlen(events));

	send_bytes(fd, size, (size_t)n, 0);
	send_bytes(fd, events, strlen(events), 0);
	send_bytes(fd, "\r\n", 2, 0);
}

static void answer(int fd, const struct fake_step *step)
{
	char head[256];
	int n;

	if (step->status == 0) {
		send_bytes(fd, step->raw, step->raw_n > 0 ? step->raw_n : strlen(step->raw), step->piece);
		return;
	}
	n = snprintf(head, sizeof(head), "HTTP/1.1 %d Whatever\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
	             step->status, strlen(step->body));
	send_bytes(fd, head, (size_t)n, step->piece);
	send_bytes(fd, step->body, strlen(step->body), step->piece);
}

static void act(const char *dir, const struct fake_act *acts, int *stream)
{
	for (; acts && acts->wait_ms > 0; acts++) {
		pause_ms(acts->wait_ms);
		if (acts->append)
			append_file(dir, acts->append);
		if (acts->events && *stream >= 0)
			push(*stream, acts->events);
		if (acts->ends_stream && *stream >= 0) {
			(void)close(*stream);
			*stream = -1;
		}
	}
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	(void)unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0)
		_exit(9);
	return fd;
}

static const struct fake_step *take_step(const struct fake_step *steps, unsigned char *used, const char *request)
{
	for (size_t i = 0; steps[i].expect; i++)
		if (!used[i] && strncmp(request, steps[i].expect, strlen(steps[i].expect)) == 0) {
			used[i] = !steps[i].is_reusable;
			return &steps[i];
		}
	return NULL;
}

static void serve(const struct fake *fake, const struct fake_step *steps, int door)
{
	static const struct fake_step unknown = {
		.status = 404,
		.body = "{\"schema\":\"berth.error/1\",\"error\":{\"code\":\"NoSuchJob\",\"message\":\"There is no "
			"such job.\","
			"\"params\":{},\"help\":\"Look again.\"}}",
	};
	static char request[4 << 20];
	unsigned char used[STEPS_MAX] = {0};
	int stream = -1;

	for (;;) {
		int fd = accept4(door, NULL, NULL, SOCK_CLOEXEC);
		const struct fake_step *step;

		if (fd < 0)
			continue;
		if (read_request(fd, request, sizeof(request)) == 0) {
			(void)close(fd);
			continue;
		}
		step = take_step(steps, used, request);
		step = step ? step : &unknown;
		log_request(fake->dir, request);
		pause_ms(step->delay_ms);
		if (step->is_stream) {
			if (stream >= 0)
				(void)close(stream);
			stream = fd;
			fd = -1;
			send_bytes(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 47, 0);
			push(stream, "event: hello\ndata: {\"seq\":1}\n\n");
		} else if (!step->is_dumb) {
			answer(fd, step);
		}
		if (fd >= 0)
			(void)close(fd);
		act(fake->dir, step->acts, &stream);
		if (step->closes_door_ms > 0) {
			(void)close(door);
			(void)unlink(fake->socket);
			pause_ms(step->closes_door_ms);
			door = listen_at(fake->socket);
		}
	}
}

void fake_start(struct fake *fake, const struct fake_step *steps)
{
	const pid_t parent = getpid();
	int door;

	(void)snprintf(fake->dir, sizeof(fake->dir), "/tmp/berth-cli-XXXXXX");
	assert_non_null(mkdtemp(fake->dir));
	(void)snprintf(fake->socket, sizeof(fake->socket), "%s/s", fake->dir);
	door = listen_at(fake->socket);
	fake->pid = fork();
	assert_true(fake->pid >= 0);
	if (fake->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		serve(fake, steps, door);
	}
	(void)close(door);
}

void fake_stop(struct fake *fake)
{
	(void)kill(fake->pid, SIGKILL);
	while (waitpid(fake->pid, NULL, 0) < 0 && errno == EINTR)
		;
	assert_int_equal(berth_dir_remove(fake->dir), 0);
}

char *fake_requests(const struct fake *fake)
{
	char path[64];
	char *text = NULL;

	(void)snprintf(path, sizeof(path), "%s/requests", fake->dir);
	if (berth_file_read_at(AT_FDCWD, path, 64 << 20, &text, NULL) < 0)
		text = strdup("");
	return text;
}

const char *fake_path(struct fake *fake, const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", fake->dir, name);
	return path;
}

void fake_cli(struct berth_cli *cli, const struct fake *fake, const char *verb, char *const *words)
{
	static char *argv[64];
	const struct berth_option *tables[BERTH_TABLES_MAX + 1] = {0};
	struct berth_error err = {0};
	const char *help;
	size_t n = 0;
	int argc = 1;
	int operand = 0;

	*cli = (struct berth_cli){.program = "berth", .verb = berth_verb_find(verb)};
	assert_non_null(cli->verb);
	argv[0] = (char *)"berth";
	if (fake) {
		argv[argc++] = (char *)"--socket";
		argv[argc++] = (char *)fake->socket;
	}
	for (; *words; words++)
		argv[argc++] = *words;
	argv[argc] = NULL;
	while (n < BERTH_TABLES_MAX && cli->verb->tables[n]) {
		tables[n] = cli->verb->tables[n];
		n++;
	}
	tables[n] = berth_common_options;
	berth_given_init(&cli->given, tables);
	if (berth_given_parse(&cli->given, argc, argv, "", cli->verb->has_command, &cli->arena, &operand,
	                      &cli->has_dashes, &help, &err) < 0)
		fail_msg("%s", err.text);
	cli->argc = argc - operand;
	cli->argv = argv + operand;
	cli->is_json = berth_given_has(&cli->given, "json");
}

void fake_cli_end(struct berth_cli *cli)
{
	berth_arena_fini(&cli->arena);
}

void fake_capture_begin(struct fake_capture *capture, int fd)
{
	(void)fflush(fd == 1 ? stdout : stderr);
	capture->fd = fd;
	capture->saved = dup(fd);
	capture->file = memfd_create("capture", MFD_CLOEXEC);
	assert_true(capture->saved >= 0 && capture->file >= 0);
	(void)dup2(capture->file, fd);
}

char *fake_capture_end(struct fake_capture *capture)
{
	struct stat st;
	char *text;

	(void)fflush(capture->fd == 1 ? stdout : stderr);
	(void)dup2(capture->saved, capture->fd);
	(void)close(capture->saved);
	assert_int_equal(fstat(capture->file, &st), 0);
	text = calloc(1, (size_t)st.st_size + 1);
	assert_non_null(text);
	assert_int_equal(pread(capture->file, text, (size_t)st.st_size, 0), st.st_size);
	(void)close(capture->file);
	return text;
}

int fake_run(const struct fake *fake, char *const *words, char **ret_out, char **ret_err)
{
	struct fake_capture out;
	struct fake_capture err;
	struct berth_cli cli;
	char *text;
	int r;

	fake_cli(&cli, fake, words[0], words + 1);
	fake_capture_begin(&out, 1);
	fake_capture_begin(&err, 2);
	r = cli.verb->run(&cli);
	text = fake_capture_end(&err);
	if (ret_err)
		*ret_err = text;
	else
		free(text);
	text = fake_capture_end(&out);
	if (ret_out)
		*ret_out = text;
	else
		free(text);
	fake_cli_end(&cli);
	return r;
}
