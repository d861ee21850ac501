#include "api/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "base/file.h"

#define BACKLOG 512

/* An existing directory may be looked into by others, who cannot use the socket (0600), but only we and root may put
 * another one in its place. */
static int check_directory(const char *dir, const struct stat *st, struct berth_error *err)
{
	if (!S_ISDIR(st->st_mode))
		return berth_error_set(err, -ENOTDIR, "%s, where the socket belongs, is no directory", dir);
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return berth_error_set(err, -EPERM, "%s, the directory of the socket, belongs to another user (%u)",
		                       dir, (unsigned)st->st_uid);
	if ((st->st_mode & 022) && !(st->st_mode & S_ISVTX))
		return berth_error_set(err, -EPERM,
		                       "others may write in %s, the directory of the socket: chmod go-w %s", dir, dir);
	return 0;
}

static int make_directory(const char *path, struct berth_error *err)
{
	struct stat st;

	const char *slash = strrchr(path, '/');
	BERTH_AUTO_FREE char *dir = slash && slash != path ? strndup(path, (size_t)(slash - path)) : NULL;

	if (path[0] != '/' || slash == path)
		return berth_error_set(err, -EINVAL,
		                       "socket %s: the path must be absolute and in a directory of its own", path);
	if (!dir)
		return berth_error_errno(err, -ENOMEM, "socket %s", path);
	return stat(dir, &st) == 0 ? check_directory(dir, &st, err) : berth_dir_make_private(dir, err);
}

/* Make way at the address: 0 when nothing lies there any more. */
static int clear_stale(const struct sockaddr_un *addr, struct berth_error *err)
{
	const char *path = addr->sun_path;
	BERTH_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return berth_error_errno(err, -errno, "socket %s", path);
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : berth_error_errno(err, -errno, "look at %s", path);
	if (!S_ISSOCK(st.st_mode))
		return berth_error_set(
			err, -EEXIST,
			"%s is there already and is not a socket; move it away or choose another path with --socket",
			path);
	/* EAGAIN: somebody listens whose queue is full. */
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN)
		return berth_error_set(
			err, -EADDRINUSE,
			"another berthd answers on %s already; use that one, or choose another path with --socket",
			path);
	if (errno != ECONNREFUSED)
		return berth_error_errno(err, -errno, "ask who listens on %s", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return berth_error_errno(err, -errno, "remove the stale socket %s", path);
	return 0;
}

int berth_listen_unix(const char *path, struct berth_error *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	BERTH_AUTO_CLOSE int fd = -1;
	int r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return berth_error_set(err, -ENAMETOOLONG,
		                       "socket path %s has more than %zu bytes; choose a shorter one with --socket",
		                       path, sizeof(addr.sun_path) - 1);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	r = make_directory(path, err);
	if (r == 0)
		r = clear_stale(&addr, err);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		return berth_error_errno(err, -errno, "bind socket %s", path);
	/* Nobody else can reach it before the mode is set: the directory is private. */
	if (chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0)
		return berth_error_errno(err, -errno, "listen on %s", path);
	return BERTH_TAKE_FD(fd);
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* The length of the address; 0 when it is not loopback. */
static socklen_t parse_loopback(const char *addr, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, addr, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		return ntohl(ret->v4.sin_addr.s_addr) >> 24 == 127 ? (socklen_t)sizeof(ret->v4) : 0;
	}
	if (inet_pton(AF_INET6, addr, &ret->v6.sin6_addr) == 1) {
		ret->v6.sin6_family = AF_INET6;
		return IN6_IS_ADDR_LOOPBACK(&ret->v6.sin6_addr) ? (socklen_t)sizeof(ret->v6) : 0;
	}
	return 0;
}

static void set_port(union address *at, uint16_t port)
{
	if (at->any.sa_family == AF_INET)
		at->v4.sin_port = htons(port);
	else
		at->v6.sin6_port = htons(port);
}

static uint16_t get_port(const union address *at)
{
	return ntohs(at->any.sa_family == AF_INET ? at->v4.sin_port : at->v6.sin6_port);
}

/* Two sockets may be bound to one port with SO_REUSEADDR as long as none listens: only listen() tells that it is taken.
 */
static int bind_and_listen(union address *at, socklen_t len, uint16_t port, int *ret_fd)
{
	BERTH_AUTO_CLOSE int fd = socket(at->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	set_port(at, port);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 || bind(fd, &at->any, len) < 0 ||
	    listen(fd, BACKLOG) < 0 || getsockname(fd, &at->any, &len) < 0)
		return -errno;
	*ret_fd = BERTH_TAKE_FD(fd);
	return 0;
}

int berth_listen_loopback(const char *addr, uint16_t port, bool may_move, uint16_t *ret_port, struct berth_error *err)
{
	union address at;
	const socklen_t len = parse_loopback(addr, &at);
	int fd = -1;
	int r;

	if (len == 0)
		return berth_error_set(
			err, -EPERM,
			"listen on %s: only loopback (127.0.0.1 or ::1) is allowed, since the page is not encrypted",
			addr);
	r = bind_and_listen(&at, len, port, &fd);
	if (r == -EADDRINUSE && may_move)
		r = bind_and_listen(&at, len, 0, &fd);
	if (r < 0)
		return berth_error_errno(err, r, "listen on %s port %u", addr, (unsigned)port);
	*ret_port = get_port(&at);
	return fd;
}
