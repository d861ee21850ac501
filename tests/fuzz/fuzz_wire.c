/* A packet of any bytes on the socket of berth-exec or a shim. The first byte: bit 0 makes the head right (the second
 * byte is the kind then), bit 1 sends a descriptor along. No descriptor may stay behind. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "host/wire.h"
#include "target.h"

#define PACKET_MAX (sizeof(struct berth_wire) + 4096)

static void send_packet(int fd, void *packet, size_t n, int pass_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec part = {packet, n};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};

	if (pass_fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&msg) =
			(struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &pass_fd, sizeof(int));
	}
	FUZZ_PROMISE(sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)n);
}

static void try_receive(int fd, size_t sent, size_t room, bool has_fd)
{
	static char data[4096];
	struct berth_wire msg;
	int passed = -1;
	int r = berth_wire_receive(fd, &msg, data, room, has_fd ? &passed : NULL);

	FUZZ_PROMISE(r == 1 || r == -EBADMSG || (r == 0 && sent == 0));
	if (r == 1) {
		FUZZ_PROMISE(sent == sizeof(msg) + msg.length && msg.length <= room);
		FUZZ_PROMISE(msg.kind > BERTH_WIRE_UNKNOWN && msg.kind < BERTH_WIRE_COUNT);
		FUZZ_PROMISE(memchr(msg.text, '\0', sizeof(msg.text)) && msg.n_uuid <= BERTH_WIRE_DEVICES_MAX);
		for (uint32_t i = 0; i < msg.n_uuid; i++)
			FUZZ_PROMISE(memchr(msg.uuid[i], '\0', sizeof(msg.uuid[i])));
	} else {
		FUZZ_PROMISE(passed == -1);
	}
	if (passed >= 0)
		(void)close(passed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t packet[PACKET_MAX];
	struct berth_wire head;
	size_t n = size > 2 ? size - 2 : 0;
	int pair[2], probe;

	if (size < 3)
		return 0;
	if (n > PACKET_MAX)
		n = PACKET_MAX;
	memset(packet, 0, sizeof(packet));
	memcpy(packet, data + 2, n);
	if (data[0] & 1) {
		memcpy(&head, packet, sizeof(head));
		head.magic = BERTH_WIRE_MAGIC;
		head.version = BERTH_WIRE_VERSION;
		head.kind = data[1];
		n = n < sizeof(head) ? sizeof(head) : n;
		head.length = (uint32_t)(n - sizeof(head));
		memcpy(packet, &head, sizeof(head));
	}
	FUZZ_PROMISE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	send_packet(pair[0], packet, n, data[0] & 2 ? pair[1] : -1);
	try_receive(pair[1], n, data[0] & 4 ? 4096 : 0, data[0] & 8);
	(void)close(pair[0]);
	(void)close(pair[1]);
	probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
	FUZZ_PROMISE(probe == pair[0]);
	(void)close(probe);
	return 0;
}
