#ifndef BERTH_API_LISTEN_H
#define BERTH_API_LISTEN_H
/* The two sockets that berthd listens on. */
#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

/* A listening unix socket at path, mode 0600, in a directory where nobody else can replace it (made, private, when
 * absent). A socket that nobody listens on is replaced; -EADDRINUSE when somebody answers there; -EEXIST when something
 * else lies there; -ENAMETOOLONG beyond what the kernel takes (107 bytes). Returns the fd (non-blocking). */
BERTH_MUST_USE int berth_listen_unix(const char *path, struct berth_error *err);

/* A listening TCP socket on a loopback address (127.0.0.0/8, ::1); -EPERM for any other. may_move: a free port when
 * that one is taken. Returns the fd (non-blocking) and the port it got. */
BERTH_MUST_USE int berth_listen_loopback(const char *addr, uint16_t port, bool may_move, uint16_t *ret_port,
                                         struct berth_error *err);
#endif
