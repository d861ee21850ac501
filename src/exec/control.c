#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "exec/shim.h"

static void drop_client(struct berth_shim *shim, size_t client)
{
	(void)close(BERTH_TAKE_FD(shim->clients[client]));
}

/* A client that does not read is let go: it can come back and is told again where things stand. */
static void send_to(struct berth_shim *shim, size_t client, const struct berth_wire *msg, const void *data)
{
	if (shim->clients[client] >= 0 && berth_wire_send(shim->clients[client], msg, data, -1) < 0)
		drop_client(shim, client);
}

static void fill(const struct berth_shim *shim, enum berth_wire_kind kind, struct berth_wire *ret)
{
	berth_wire_init(ret, kind, &shim->id);
	if (kind == BERTH_WIRE_STARTED) {
		ret->pid = shim->child.pid;
		ret->value = shim->report.started_ms;
	} else if (kind == BERTH_WIRE_PROGRESS) {
		memcpy(ret->text, shim->progress, sizeof(ret->text));
	}
}

void berth_shim_push(struct berth_shim *shim, enum berth_wire_kind kind)
{
	struct berth_wire msg;

	fill(shim, kind, &msg);
	for (size_t i = 0; i < BERTH_SHIM_CLIENTS_MAX; i++)
		send_to(shim, i, &msg, NULL);
}

void berth_shim_listen(struct berth_shim *shim)
{
	char name[BERTH_ATTEMPT_NAME_MAX];

	if (shim->listener < 0)
		shim->listener = berth_wire_listen(BERTH_SHIM_ATTEMPTS,
		                                   berth_attempt_file_name(&shim->id, BERTH_ATTEMPT_SOCK, name));
}

static void greet(struct berth_shim *shim, size_t client)
{
	struct berth_wire msg;

	if (shim->report.started_ms) {
		fill(shim, BERTH_WIRE_STARTED, &msg);
		send_to(shim, client, &msg, NULL);
	}
	if (shim->progress[0]) {
		fill(shim, BERTH_WIRE_PROGRESS, &msg);
		send_to(shim, client, &msg, NULL);
	}
}

void berth_shim_accept(struct berth_shim *shim)
{
	int fd;

	while ((fd = berth_wire_accept(shim->listener)) >= 0 || fd == -EPERM) {
		size_t i = 0;

		if (fd == -EPERM)
			continue;
		while (i < BERTH_SHIM_CLIENTS_MAX && shim->clients[i] >= 0)
			i++;
		/* None is free: most likely the first is one of a daemon that is stuck. */
		if (i == BERTH_SHIM_CLIENTS_MAX)
			drop_client(shim, i = 0);
		shim->clients[i] = fd;
		greet(shim, i);
	}
}

/* Size and bytes of the output from an offset; nothing of what is no plain file. */
static ssize_t read_output(const struct berth_shim *shim, uint64_t offset, char *buf, size_t n, uint64_t *ret_size)
{
	struct stat st;
	ssize_t got;

	*ret_size = 0;
	if (shim->output < 0)
		return -ENOENT;
	if (fstat(shim->output, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return 0;
	*ret_size = (uint64_t)st.st_size;
	if (offset >= *ret_size || n == 0)
		return 0;
	got = pread(shim->output, buf, n, (off_t)offset);
	return got < 0 ? -errno : got;
}

static void answer_log(struct berth_shim *shim, size_t client, const struct berth_wire *asked)
{
	char data[BERTH_WIRE_LOG_MAX];
	size_t n = asked->length < sizeof(data) ? asked->length : sizeof(data);
	struct berth_wire msg;
	ssize_t got;

	berth_wire_init(&msg, BERTH_WIRE_LOG_DATA, &shim->id);
	got = read_output(shim, asked->value, data, n, &msg.value);
	msg.error = got < 0 ? (int32_t)-got : 0;
	msg.length = got > 0 ? (uint32_t)got : 0;
	send_to(shim, client, &msg, data);
}

/* Only before the command has ended there is something to be changed. */
static bool carry_out(struct berth_shim *shim, const struct berth_wire *asked)
{
	if (shim->phase > BERTH_SHIM_RUNNING)
		return false;
	if (asked->kind != BERTH_WIRE_LIMIT)
		return berth_shim_stop(shim, asked->cause, asked->kind == BERTH_WIRE_KILL ? 0 : asked->value);
	shim->launch.limit_ms = asked->value;
	shim->is_warned = false;
	return true;
}

static void answer(struct berth_shim *shim, size_t client, const struct berth_wire *asked)
{
	struct berth_attempt_id id = berth_wire_id(asked);
	struct berth_wire msg;

	if (asked->kind == BERTH_WIRE_LOG) {
		answer_log(shim, client, asked);
		return;
	}
	if (asked->kind != BERTH_WIRE_STOP && asked->kind != BERTH_WIRE_KILL && asked->kind != BERTH_WIRE_LIMIT)
		return;
	berth_wire_init(&msg, BERTH_WIRE_DONE, &shim->id);
	if (!berth_attempt_is_same(&id, &shim->id) || !carry_out(shim, asked))
		msg.error = ESRCH;
	send_to(shim, client, &msg, NULL);
}

void berth_shim_serve(struct berth_shim *shim, size_t client)
{
	struct berth_wire msg;
	int r = 1;

	while (shim->clients[client] >= 0 && r > 0) {
		r = berth_wire_receive(shim->clients[client], &msg, NULL, 0, NULL);
		if (r > 0)
			answer(shim, client, &msg);
	}
	if (r != -EAGAIN && shim->clients[client] >= 0)
		drop_client(shim, client);
}
