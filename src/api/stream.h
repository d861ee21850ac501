#ifndef BERTH_API_STREAM_H
#define BERTH_API_STREAM_H
/* Event streams: who listens, and when they are told.
 *
 * A stream is a response that libmicrohttpd asks for more as fast as the client takes it. When there is nothing to tell
 * it is suspended; waking resumes all of them, and each writes what stands between its own place in the ring
 * (api/events.h) and the end. Nothing is kept for a client but that place and one piece of at most 64 KiB and an event.
 * At most 200 streams on each kind of socket.
 */
#include <systemd/sd-event.h>
#include "base/cleanup.h"

struct berth_streams;

BERTH_MUST_USE int berth_streams_open(sd_event *event, struct berth_streams **ret);
/* After the transport was closed: no stream is open then. NULL allowed. */
void berth_streams_close(struct berth_streams *streams);
/* Something was added to the events: tell those who listen, at once or, in a busy hour, 50 ms after the last telling.
 */
void berth_streams_wake(struct berth_streams *streams);
/* Open ones. */
unsigned berth_streams_count(const struct berth_streams *streams);
#endif
