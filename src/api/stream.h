#ifndef BERTH_API_STREAM_H
#define BERTH_API_STREAM_H
/* Event streams: who listens, and when they are told. */
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
