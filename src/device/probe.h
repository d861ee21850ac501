#ifndef BERTH_DEVICE_PROBE_H
#define BERTH_DEVICE_PROBE_H
/* Asking the devices without ever waiting for them.
 *
 * berth-probe runs one driver in a process of its own (probe_wire.h). The client below starts it, keeps one question in
 * flight with a deadline, and never blocks. A probe that misses a deadline, ends or talks nonsense is killed, or left
 * alone if it cannot be, and a new one is started, with a back-off of 0.5 s doubling to 60 s until one has read every
 * sound card. The card whose reading went wrong is suspected: it is read behind the others, and less often (after 5 s,
 * doubling to 60 s) until it answers, so that the readings of the others stay fresh. Without readings a card's health
 * becomes unknown, then lost: telemetry/telemetry.h. At most 4 killed probes that do not end are left lying; after that
 * none is started before one of them ends.
 *
 * Injected faults and loads of the sim driver are told again to a new probe, with the times at which they began.
 *
 * The host must not reap this child (no waitpid(-1)).
 */
#include "device/device.h"

struct berth_probe; /* the client's end; belongs to one thread */

/* Where news goes. Callbacks come from berth_probe_dispatch only; they may call berth_probe_load and
 * berth_probe_inject, not dispatch or close. What is pointed at lives for the call. None may be NULL. */
struct berth_probe_host {
	void *arg;
	/* The devices were scanned (at start and after each new probe). n may be 0. links as the driver tells them. */
	void (*scanned)(void *arg, const struct berth_device_facts *devices, size_t n, const struct berth_link *links,
	                size_t n_links);
	void (*sampled)(void *arg, const char *uuid, const struct berth_sample *sample);
	/* The probe does not answer (true; err: what was being asked, since when, what happens now) or answers again
	 * (false; err empty). Called on changes; a client begins stale, without a call. "Again" means that a device was
	 * read, or that there is none. */
	void (*stale)(void *arg, bool is_stale, const struct berth_error *err);
	/* An inject() that was asked was carried out (0) or refused. */
	void (*injected)(void *arg, uint64_t ticket, int result, const struct berth_error *err);
};
/* Strings are copied. */
struct berth_probe_options {
	const char *probe_path;   /* the berth-probe binary */
	const char *driver;       /* "sim" */
	const char *arg;          /* "8xA100-80GB"; NULL = "" */
	const char *identity;     /* seed of simulated UUIDs: unique per state directory and stable; NULL = "" */
	uint32_t deadline_ms;     /* per question; 0 = 5,000 */
	uint32_t sample_every_ms; /* of each device; 0 = 1,000 */
	uint32_t backoff_ms;      /* before a new probe is started, at first; 0 = 500 */
};

/* Start the probe; the first scan arrives by callback. host copied. -errno only when nothing can be started at all:
 * -ENODEV no such driver in this berth, -ENOENT or -EACCES no such binary, -ENOMEM, -EMFILE … */
BERTH_MUST_USE int berth_probe_open(const struct berth_probe_options *options, const struct berth_probe_host *host,
                                    struct berth_probe **ret, struct berth_error *err);
/* Kill the probe and reap it (at most 0.2 s; one that cannot be killed stays behind). NULL allowed. Injections that
 * wait are not answered any more. */
void berth_probe_close(struct berth_probe *probe);
/* Watch this fd for input; -1 = none now. It changes by dispatch, and never from one socket to another without a -1
 * between two dispatches. */
int berth_probe_fd(const struct berth_probe *probe);
/* CLOCK_BOOTTIME ms at which dispatch must be called at the latest; in the past = at once. It may come nearer by load
 * and inject: ask again after them too. */
uint64_t berth_probe_wake_ms(const struct berth_probe *probe);
/* Take what has arrived, send what is due, keep the deadline. Callbacks are made from here only. */
void berth_probe_dispatch(struct berth_probe *probe);

/* Sim devices only; ignored by others. holder: "JOB.ATTEMPT"; profile "" = the default load, NULL = it left. The load
 * begins now; telling the same again changes nothing. A load that memory is too short for is not shown. */
void berth_probe_load(struct berth_probe *probe, const char *uuid, const char *holder, const char *profile);
/* Sim devices only. what: see device/sim/sim.h. 0: it will be told, injected() comes with *ret_ticket. -EOPNOTSUPP
 * other drivers; -EINVAL unknown words; -ENOENT no such device; -EAGAIN too many are waiting for the probe; -ENOMEM. */
BERTH_MUST_USE int berth_probe_inject(struct berth_probe *probe, const char *uuid, const char *what,
                                      uint64_t *ret_ticket, struct berth_error *err);
/* Is it not answering now? When was the last answer (BOOTTIME ms; 0 = never)? */
bool berth_probe_is_stale(const struct berth_probe *probe);
uint64_t berth_probe_last_ms(const struct berth_probe *probe);
#endif
