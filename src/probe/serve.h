#ifndef BERTH_PROBE_SERVE_H
#define BERTH_PROBE_SERVE_H
/* The probe's side of device/probe_wire.h: answers questions with one driver, one after the other.
 *
 * A driver call may take as long as it likes or never come back: the daemon keeps the deadlines and ends this process.
 */
#include "device/device.h"

/* A driver to answer with: open, or what became of opening it. */
struct berth_probe_serve {
	const struct berth_driver_ops *ops;
	struct berth_driver *driver; /* NULL when it could not be opened; then every question is refused with why */
	struct berth_error why;
};

/* Answer what arrives on fd (SEQPACKET, blocking, borrowed) until the other end is closed.
 * 0 at its end; -EPROTO another version of berth is at the other end, or nonsense; another -errno of the socket. */
BERTH_MUST_USE int berth_probe_serve(int fd, const struct berth_probe_serve *with, struct berth_error *err);
#endif
