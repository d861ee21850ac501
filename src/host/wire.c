#include "host/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#define BACKLOG 64
#define PASSED_MAX 4 /* more than the one that is expected, so that all that came can be closed */

void berth_wire_init(struct berth_wire *msg, enum berth_wire_kind kind, const struct berth_attempt_id *id)
{
	*msg = (struct berth_wire){.magic = BERTH_WIRE_MAGIC, .version = BERTH_WIRE_VERSION, .kind = kind};
	if (id) {
		msg->job = id->job;
		msg->attempt = id->attempt;
	}
}

struct berth_attempt_id berth_wire_id(const struct berth_wire *msg)
{
	return (struct berth_attempt_id){msg->job, msg->attempt};
}

int berth_wire_send(int fd, const struct berth_wire *msg, const void *data, int pass_fd)
{
	struct iovec parts[2] = {{(void *)msg, sizeof(*msg)}, {(void *)data, msg->length}};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = data ? 2 : 1};
	ssize_t sent;

	if (pass_fd >= 0) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&packet) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&packet)), &pass_fd, sizeof(int));
	}
	do
		sent = sendmsg(fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Keep the first descriptor that came along, close the others. */
static int take_passed(struct msghdr *packet)
{
	int first = -1;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c; c = CMSG_NXTHDR(packet, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (first < 0)
				first = fd;
			else
				(void)close(fd);
		}
	}
	return first;
}

static bool is_ours(const struct berth_wire *msg, size_t n, int flags)
{
	if (flags & (MSG_TRUNC | MSG_CTRUNC) || n < sizeof(*msg) || msg->magic != BERTH_WIRE_MAGIC ||
	    msg->version != BERTH_WIRE_VERSION || msg->kind == BERTH_WIRE_UNKNOWN || msg->kind >= BERTH_WIRE_COUNT ||
	    msg->n_uuid > BERTH_WIRE_DEVICES_MAX || !memchr(msg->text, '\0', sizeof(msg->text)))
		return false;
	for (unsigned i = 0; i < BERTH_WIRE_DEVICES_MAX; i++)
		if (!memchr(msg->uuid[i], '\0', sizeof(msg->uuid[i])))
			return false;
	/* A length also says what is wanted (LOG): bytes follow only in the answer. */
	return n - sizeof(*msg) == (msg->kind == BERTH_WIRE_LOG_DATA ? msg->length : 0);
}

int berth_wire_receive(int fd, struct berth_wire *ret, void *data, size_t cap, int *ret_fd)
{
	struct berth_wire msg;
	struct iovec parts[2] = {{&msg, sizeof(msg)}, {data, cap}};
	union {
		char bytes[CMSG_SPACE(sizeof(int) * PASSED_MAX)];
		struct cmsghdr align;
	} control;
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = cap ? 2 : 1};
	BERTH_AUTO_CLOSE int passed = -1;
	ssize_t n;

	packet.msg_control = control.bytes;
	packet.msg_controllen = sizeof(control.bytes);
	do
		n = recvmsg(fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	/* The peer closed with something of ours unread: closed it is. */
	if (n < 0)
		return errno == ECONNRESET ? 0 : -errno;
	passed = take_passed(&packet);
	if (n == 0)
		return 0;
	if (!is_ours(&msg, (size_t)n, packet.msg_flags))
		return -EBADMSG;
	*ret = msg;
	if (ret_fd)
		*ret_fd = BERTH_TAKE_FD(passed);
	return 1;
}

/* sun_path holds 107 bytes; the name of the directory's descriptor is always short enough. */
static int make_address(int dirfd, const char *name, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", dirfd, name);
	return n < 0 || (size_t)n >= sizeof(ret->sun_path) ? -ENAMETOOLONG : 0;
}

int berth_wire_listen(int dirfd, const char *name)
{
	BERTH_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r = make_address(dirfd, name, &address);

	if (fd < 0)
		return -errno;
	if (r < 0)
		return r;
	if (unlinkat(dirfd, name, 0) < 0 && errno != ENOENT)
		return -errno;
	/* The mode of the descriptor becomes that of the name. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -errno;
	return BERTH_TAKE_FD(fd);
}

int berth_wire_connect(int dirfd, const char *name)
{
	BERTH_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r = make_address(dirfd, name, &address);

	if (fd < 0)
		return -errno;
	if (r < 0)
		return r;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return BERTH_TAKE_FD(fd);
}

int berth_wire_accept(int listener)
{
	BERTH_AUTO_CLOSE int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED ? -EAGAIN : -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	return peer.uid == geteuid() || peer.uid == 0 ? BERTH_TAKE_FD(fd) : -EPERM;
}
