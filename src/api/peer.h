#ifndef BERTH_API_PEER_H
#define BERTH_API_PEER_H
/* Whose program is at the other end of a loopback TCP connection.
 *
 * Cookies know no ports: a browser that is lured to another user's server on 127.0.0.1 sends it our session too, and
 * that user could use it from a program of their own. The kernel knows which user opened the connection (for a tunnel,
 * whose sshd it is), so a stolen session is worth nothing to other users of the machine. Asked over netlink, as `ss -e`
 * does; needs no privilege.
 */
#include <stdbool.h>
#include <sys/types.h>
#include "base/cleanup.h"

/* The owner of the socket at the other end of fd. 0; -ENOENT there is none, or its program has closed it already
 * (nobody owns it then); another -errno where the kernel does not tell. Never waits. */
BERTH_MUST_USE int berth_peer_uid(int fd, uid_t *ret);
/* Does the kernel tell here? Tried on a connection of our own. Where it does, a connection without an owner is not to
 * be trusted. */
bool berth_peer_is_told(void);
#endif
