#ifndef BERTH_CLI_FIND_H
#define BERTH_CLI_FIND_H
/* Which daemon is meant: --socket, else BERTH_SOCKET, else the first of these that answers: the user's own
 * ($XDG_RUNTIME_DIR/berth/berth.sock, /tmp/berth-UID/berth.sock), the system's (/run/berth/berth.sock).
 */
#include <stddef.h>
#include "base/arena.h"
#include "base/error.h"

#define BERTH_SOCKET_CANDIDATES 3

struct berth_socket_list {
	const char *path[BERTH_SOCKET_CANDIDATES]; /* in arena */
	size_t n;
};

/* Where to look. asked: what --socket says, NULL = nothing. A path that is asked for is the only one. */
BERTH_MUST_USE int berth_socket_list(const char *asked, struct berth_arena *arena, struct berth_socket_list *ret);

/* Connect to one. Returns a descriptor, or a negative errno: -ENOENT no socket there, -ECONNREFUSED nobody listens,
 * -EPERM it is, or lies, in another user's hands (checked below /tmp, where anyone can make a name), -ENAMETOOLONG. */
BERTH_MUST_USE int berth_socket_connect(const char *path);
#endif
