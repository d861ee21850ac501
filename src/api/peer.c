#include "api/peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

static void put_address(const union address *from, __be32 *ret_addr, __be16 *ret_port)
{
	if (from->any.sa_family == AF_INET) {
		*ret_addr = from->v4.sin_addr.s_addr;
		*ret_port = from->v4.sin_port;
	} else {
		memcpy(ret_addr, &from->v6.sin6_addr, sizeof(from->v6.sin6_addr));
		*ret_port = from->v6.sin6_port;
	}
}

/* The other end's socket: its own address is our peer's. */
static int make_question(int fd, struct question *ret)
{
	union address ours;
	union address theirs;
	socklen_t n_ours = sizeof(ours);
	socklen_t n_theirs = sizeof(theirs);

	if (getsockname(fd, &ours.any, &n_ours) < 0 || getpeername(fd, &theirs.any, &n_theirs) < 0)
		return -errno;
	if (ours.any.sa_family != AF_INET && ours.any.sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	*ret = (struct question){
		.header = {.nlmsg_len = sizeof(*ret), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_family = (uint8_t)ours.any.sa_family,
	                 .sdiag_protocol = IPPROTO_TCP,
	                 .idiag_states = UINT32_MAX}};
	ret->body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
	ret->body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	put_address(&theirs, ret->body.id.idiag_src, &ret->body.id.idiag_sport);
	put_address(&ours, ret->body.id.idiag_dst, &ret->body.id.idiag_dport);
	return 0;
}

/* The kernel answers before send returns. */
static int ask(const struct question *question, struct inet_diag_msg *ret)
{
	BERTH_AUTO_CLOSE int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	union {
		struct nlmsghdr header;
		char bytes[1024];
	} answer;
	ssize_t n;

	if (netlink < 0 || send(netlink, question, sizeof(*question), 0) < 0)
		return -errno;
	n = recv(netlink, &answer, sizeof(answer), 0);
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer.header))
		return -EBADMSG;
	if (answer.header.nlmsg_type == NLMSG_ERROR) {
		const struct nlmsgerr *error = NLMSG_DATA(&answer.header);

		return (size_t)n >= NLMSG_LENGTH(sizeof(*error)) && error->error < 0 ? error->error : -EBADMSG;
	}
	if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY || (size_t)n < NLMSG_LENGTH(sizeof(*ret)))
		return -EBADMSG;
	memcpy(ret, NLMSG_DATA(&answer.header), sizeof(*ret));
	return 0;
}

int berth_peer_uid(int fd, uid_t *ret)
{
	struct question question;
	struct inet_diag_msg socket_info = {0};
	int r = make_question(fd, &question);

	if (r == 0)
		r = ask(&question, &socket_info);
	if (r < 0)
		return r;
	/* A closed one is no file any more and is shown as root's. */
	if (socket_info.idiag_inode == 0 || socket_info.idiag_state != TCP_ESTABLISHED)
		return -ENOENT;
	*ret = socket_info.idiag_uid;
	return 0;
}

bool berth_peer_is_told(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	BERTH_AUTO_CLOSE int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	BERTH_AUTO_CLOSE int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	BERTH_AUTO_CLOSE int server = -1;
	uid_t uid;

	if (listener < 0 || client < 0 || bind(listener, (const struct sockaddr *)&addr, len) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&addr, &len) < 0 ||
	    connect(client, (const struct sockaddr *)&addr, len) < 0)
		return false;
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return server >= 0 && berth_peer_uid(server, &uid) == 0 && uid == geteuid();
}
