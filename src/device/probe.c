#include "device/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "base/clock.h"
#include "device/answer.h"
#include "device/child.h"
#include "device/sim/sim.h"
#include "device/tell.h"

#define DEADLINE_MS 5000u
#define SAMPLE_EVERY_MS 1000u
#define BACKOFF_MS 500u
#define BACKOFF_MAX_MS 60000u
#define SUSPECT_FIRST_MS 5000u
#define SUSPECT_MAX_MS 60000u
#define ANSWERS_PER_DISPATCH 128
#define CLOSE_WAIT_MS 200u
#define CLOSED_WAIT_MS 100u
#define ARGS_MAX 8

/* A device that is read in turn. */
struct watched {
	char uuid[BERTH_DEVICE_UUID_MAX];
	uint64_t pause_ms;      /* a reading of it went wrong: how long it is left alone; 0 = sound */
	uint64_t not_before_ms; /* until then */
};

/* As the host knows it. */
enum standing { STANDING_NEW = 0, STANDING_ANSWERS, STANDING_STALE };

enum stage { STAGE_SCAN = 0, STAGE_LINKS, STAGE_READ };

struct berth_probe {
	const struct berth_driver_ops *ops; /* of the driver by its name; only its having inject is asked here */
	char *argv[ARGS_MAX];               /* owned */
	struct berth_probe_host host;
	uint32_t deadline_ms, sample_every_ms, backoff_first_ms;

	struct berth_probe_child child;
	uint64_t closed_ms;   /* since when its end of the socket is closed; 0 = it is not */
	uint64_t start_at_ms; /* the next one, while none runs */
	uint64_t backoff_ms;  /* before the one after that */
	enum standing standing;
	uint64_t last_ms;

	enum stage stage;
	bool is_asking;
	uint64_t asked_ms;
	uint32_t number; /* of the last question */
	char asked_uuid[BERTH_DEVICE_UUID_MAX];
	struct berth_answer answer;

	struct watched watched[BERTH_DEVICES_MAX]; /* in the order of the scan */
	size_t n_watched;
	size_t cursor;     /* of this round: over the sound devices, then over the others */
	uint64_t round_ms; /* when the next round begins */

	struct berth_tell_book book;
	uint64_t ticket;
};

/* --- a probe that failed ------------------------------------------------------------------------------------- */

static const char *asked_words(const struct berth_probe *probe)
{
	switch (probe->is_asking ? probe->answer.kind : BERTH_PROBE_UNKNOWN) {
	case BERTH_PROBE_UNKNOWN:
		return "";
	case BERTH_PROBE_SCAN:
		return " while listing the devices";
	case BERTH_PROBE_LINKS:
		return " while reading the links";
	case BERTH_PROBE_SAMPLE:
		return " while reading ";
	default:
		return " while telling a load or a fault to ";
	}
}

static void suspect(struct berth_probe *probe, const char *uuid, uint64_t now_ms)
{
	for (size_t i = 0; i < probe->n_watched; i++) {
		struct watched *watched = &probe->watched[i];

		if (strcmp(watched->uuid, uuid) != 0)
			continue;
		watched->pause_ms = watched->pause_ms == 0 ? SUSPECT_FIRST_MS : 2 * watched->pause_ms;
		if (watched->pause_ms > SUSPECT_MAX_MS)
			watched->pause_ms = SUSPECT_MAX_MS;
		watched->not_before_ms = now_ms + watched->pause_ms;
	}
}

/* The probe is of no more use. what: what it did; the host is told once, until one answers again. */
static void give_up(struct berth_probe *probe, uint64_t now_ms, const struct berth_error *what)
{
	const bool has_device = probe->is_asking && probe->asked_uuid[0] != '\0';
	const bool is_news = probe->standing != STANDING_STALE;
	struct berth_error err;

	(void)berth_error_set(&err, what->code, "berth-probe (%s) %s%s%s; the next one starts in %" PRIu64 " ms",
	                      probe->ops->name, what->text, asked_words(probe), has_device ? probe->asked_uuid : "",
	                      probe->backoff_ms);
	if (has_device && probe->answer.kind == BERTH_PROBE_SAMPLE)
		suspect(probe, probe->asked_uuid, now_ms);
	berth_probe_child_kill(&probe->child);
	probe->is_asking = false;
	probe->closed_ms = 0;
	probe->standing = STANDING_STALE;
	probe->start_at_ms = now_ms + probe->backoff_ms;
	probe->backoff_ms = 2 * probe->backoff_ms > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : 2 * probe->backoff_ms;
	if (is_news)
		probe->host.stale(probe->host.arg, true, &err);
}

static void give_up_late(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_error what;

	(void)berth_error_set(&what, -ETIMEDOUT, "has not answered for %" PRIu64 " ms", now_ms - probe->asked_ms);
	give_up(probe, now_ms, &what);
}

static void give_up_ended(struct berth_probe *probe, uint64_t now_ms, int status)
{
	struct berth_error what;

	if (WIFSIGNALED(status))
		(void)berth_error_set(&what, -EPIPE, "was ended by signal %d", WTERMSIG(status));
	else
		(void)berth_error_set(&what, -EPIPE, "ended with code %d", WEXITSTATUS(status));
	give_up(probe, now_ms, &what);
}

/* The other end of the socket is closed. A process that ends closes it a moment before it can be told how it ended. */
static void take_closed(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_error what;
	int status;

	if (probe->closed_ms == 0)
		probe->closed_ms = now_ms;
	if (berth_probe_child_reap(&probe->child, &status)) {
		give_up_ended(probe, now_ms, status);
	} else if (now_ms - probe->closed_ms >= CLOSED_WAIT_MS) {
		(void)berth_error_set(&what, -EPIPE, "closed its socket");
		give_up(probe, now_ms, &what);
	}
}

/* --- asking -------------------------------------------------------------------------------------------------- */

static void ask(struct berth_probe *probe, uint64_t now_ms, struct berth_probe_question *question)
{
	ssize_t n;

	question->magic = BERTH_PROBE_MAGIC;
	question->version = BERTH_PROBE_VERSION;
	question->number = ++probe->number;
	memcpy(probe->asked_uuid, question->uuid, sizeof(probe->asked_uuid));
	berth_answer_begin(&probe->answer, question->kind, question->number);
	probe->is_asking = true;
	probe->asked_ms = now_ms;
	n = send(probe->child.fd, question, sizeof(*question), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n != (ssize_t)sizeof(*question))
		take_closed(probe, now_ms);
}

static void begin_next_round(struct berth_probe *probe, uint64_t now_ms)
{
	probe->cursor = 0;
	probe->round_ms += probe->sample_every_ms;
	if (probe->round_ms <= now_ms)
		probe->round_ms = now_ms + probe->sample_every_ms;
	/* Every sound device was read: this probe works, whatever becomes of it. */
	if (probe->standing == STANDING_ANSWERS)
		probe->backoff_ms = probe->backoff_first_ms;
}

/* The next device that may be read in this round; NULL at its end. Sound ones first, so that those that make the probe
 * hang do not keep the others from being read. */
static const struct watched *next_watched(struct berth_probe *probe, uint64_t now_ms)
{
	if (now_ms < probe->round_ms)
		return NULL;
	while (probe->cursor < 2 * probe->n_watched) {
		const bool is_for_sound = probe->cursor < probe->n_watched;
		const struct watched *watched = &probe->watched[probe->cursor++ % probe->n_watched];

		if (is_for_sound ? watched->pause_ms == 0 : watched->pause_ms != 0 && watched->not_before_ms <= now_ms)
			return watched;
	}
	begin_next_round(probe, now_ms);
	return NULL;
}

static void ask_next(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_probe_question question = {0};
	struct berth_tell *tell = NULL;
	const struct watched *watched;

	if (probe->stage == STAGE_SCAN) {
		question.kind = BERTH_PROBE_SCAN;
	} else if (probe->stage == STAGE_LINKS) {
		question.kind = BERTH_PROBE_LINKS;
	} else if ((tell = berth_tell_next(&probe->book))) {
		tell->question.number = probe->number + 1;
		question = tell->question;
	} else if ((watched = next_watched(probe, now_ms))) {
		question.kind = BERTH_PROBE_SAMPLE;
		memcpy(question.uuid, watched->uuid, sizeof(question.uuid));
	} else {
		return;
	}
	ask(probe, now_ms, &question);
}

/* --- answers ------------------------------------------------------------------------------------------------- */

static void set_answers(struct berth_probe *probe)
{
	const struct berth_error none = {0};

	if (probe->standing == STANDING_ANSWERS)
		return;
	probe->standing = STANDING_ANSWERS;
	probe->host.stale(probe->host.arg, false, &none);
}

/* Keep what is known of devices that were there before. */
static void watch(struct berth_probe *probe)
{
	struct watched watched[BERTH_DEVICES_MAX] = {0};

	for (uint32_t i = 0; i < probe->answer.n; i++) {
		memcpy(watched[i].uuid, probe->answer.device[i].uuid, sizeof(watched[i].uuid));
		for (size_t k = 0; k < probe->n_watched; k++)
			if (strcmp(probe->watched[k].uuid, watched[i].uuid) == 0)
				watched[i] = probe->watched[k];
	}
	memcpy(probe->watched, watched, sizeof(watched));
	probe->n_watched = probe->answer.n;
	probe->cursor = 0;
}

static void take_scan(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_error what;

	if (probe->answer.result < 0) {
		(void)berth_error_set(&what, probe->answer.result, "cannot list devices: %s", probe->answer.err.text);
		give_up(probe, now_ms, &what);
		return;
	}
	watch(probe);
	probe->stage = STAGE_LINKS;
}

/* Links that cannot be read are links that nobody knows of: placement goes on without them. */
static void take_links(struct berth_probe *probe)
{
	const struct berth_answer *answer = &probe->answer;
	size_t n = 0;

	probe->stage = STAGE_READ;
	if (answer->result == 0)
		n = answer->n;
	probe->host.scanned(probe->host.arg, answer->device, probe->n_watched, answer->link, n);
	if (probe->n_watched == 0)
		set_answers(probe);
}

static void take_sample(struct berth_probe *probe)
{
	if (probe->answer.result < 0)
		return;
	for (size_t i = 0; i < probe->n_watched; i++) {
		struct watched *watched = &probe->watched[i];

		if (strcmp(watched->uuid, probe->asked_uuid) == 0)
			watched->not_before_ms = watched->pause_ms = 0;
	}
	set_answers(probe);
	probe->host.sampled(probe->host.arg, probe->asked_uuid, &probe->answer.sample);
}

static void take_told(struct berth_probe *probe)
{
	const uint64_t ticket = berth_tell_answered(&probe->book, probe->answer.number, probe->answer.result);

	if (ticket != 0)
		probe->host.injected(probe->host.arg, ticket, probe->answer.result, &probe->answer.err);
}

/* The question is answered whole. */
static void take(struct berth_probe *probe, uint64_t now_ms)
{
	probe->is_asking = false;
	probe->last_ms = now_ms;
	switch (probe->answer.kind) {
	case BERTH_PROBE_SCAN:
		take_scan(probe, now_ms);
		break;
	case BERTH_PROBE_LINKS:
		take_links(probe);
		break;
	case BERTH_PROBE_SAMPLE:
		take_sample(probe);
		break;
	default:
		take_told(probe);
		break;
	}
}

/* One packet, if there is one. False when there is nothing more to do now. */
static bool receive(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_probe_answer packet;
	struct berth_error what;
	struct berth_error why;
	ssize_t n = recv(probe->child.fd, &packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		take_closed(probe, now_ms);
		return false;
	}
	r = probe->is_asking ? berth_answer_take(&probe->answer, &packet, (size_t)n, &why)
	                     : berth_error_set(&why, -EPROTO, "it answers what was not asked");
	if (r < 0) {
		(void)berth_error_set(&what, r, "cannot be understood: %s", why.text);
		give_up(probe, now_ms, &what);
		return false;
	}
	if (r > 0)
		take(probe, now_ms);
	return probe->child.fd >= 0;
}

/* --- life ---------------------------------------------------------------------------------------------------- */

static int start(struct berth_probe *probe, uint64_t now_ms, struct berth_error *err)
{
	int r = berth_probe_child_start(&probe->child, probe->argv, err);

	if (r < 0)
		return r;
	berth_tell_restart(&probe->book, now_ms);
	probe->stage = STAGE_SCAN;
	probe->is_asking = false;
	probe->round_ms = now_ms;
	return 0;
}

static void start_again(struct berth_probe *probe, uint64_t now_ms)
{
	struct berth_error what;
	struct berth_error why;
	int r = start(probe, now_ms, &why);

	if (r < 0) {
		(void)berth_error_set(&what, r, "cannot be started: %s", why.text);
		give_up(probe, now_ms, &what);
	}
}

void berth_probe_dispatch(struct berth_probe *probe)
{
	const uint64_t now_ms = berth_clock_boot_ms();
	int status;

	if (berth_probe_child_reap(&probe->child, &status))
		give_up_ended(probe, now_ms, status);
	if (probe->child.fd < 0 && now_ms >= probe->start_at_ms)
		start_again(probe, now_ms);
	for (unsigned i = 0; probe->child.fd >= 0 && i < ANSWERS_PER_DISPATCH; i++) {
		if (!probe->is_asking && probe->closed_ms == 0)
			ask_next(probe, now_ms);
		if (probe->child.fd < 0 || !receive(probe, now_ms))
			break;
	}
	/* Nothing that can be received may follow a question that could not be sent. */
	if (probe->child.fd >= 0 && probe->closed_ms != 0)
		take_closed(probe, now_ms);
	if (probe->child.fd >= 0 && probe->is_asking && now_ms - probe->asked_ms >= probe->deadline_ms)
		give_up_late(probe, now_ms);
}

uint64_t berth_probe_wake_ms(const struct berth_probe *probe)
{
	if (probe->child.fd < 0)
		return probe->start_at_ms;
	if (probe->closed_ms != 0)
		return 0;
	if (probe->is_asking)
		return probe->asked_ms + probe->deadline_ms;
	if (probe->stage != STAGE_READ || berth_tell_is_waiting(&probe->book))
		return 0;
	return probe->round_ms;
}

/* An argument of the probe: a copy. */
static int add_arg(struct berth_probe *probe, const char *arg)
{
	size_t n = 0;

	while (probe->argv[n])
		n++;
	probe->argv[n] = strdup(arg);
	return probe->argv[n] ? 0 : -ENOMEM;
}

static int set_args(struct berth_probe *probe, const struct berth_probe_options *options)
{
	const char *const args[] = {options->probe_path,
	                            "--driver",
	                            options->driver,
	                            "--arg",
	                            options->arg ? options->arg : "",
	                            "--identity",
	                            options->identity ? options->identity : ""};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(args) / sizeof(args[0]); i++)
		r = add_arg(probe, args[i]);
	return r;
}

static void free_probe(struct berth_probe **probe)
{
	berth_probe_close(*probe);
}

int berth_probe_open(const struct berth_probe_options *options, const struct berth_probe_host *host,
                     struct berth_probe **ret, struct berth_error *err)
{
	__attribute__((cleanup(free_probe))) struct berth_probe *probe = calloc(1, sizeof(*probe));
	int r;

	if (!probe)
		return berth_error_set(err, -ENOMEM, "starting the device probe: memory is out");
	probe->child.fd = -1;
	probe->host = *host;
	probe->deadline_ms = options->deadline_ms ? options->deadline_ms : DEADLINE_MS;
	probe->sample_every_ms = options->sample_every_ms ? options->sample_every_ms : SAMPLE_EVERY_MS;
	probe->backoff_first_ms = options->backoff_ms ? options->backoff_ms : BACKOFF_MS;
	probe->backoff_ms = probe->backoff_first_ms;
	probe->ops = berth_driver_find(options->driver);
	if (!probe->ops)
		return berth_error_set(err, -ENODEV, "this berth has no driver called '%s'", options->driver);
	r = set_args(probe, options);
	if (r < 0)
		return berth_error_set(err, r, "starting the device probe: memory is out");
	r = start(probe, berth_clock_boot_ms(), err);
	if (r < 0)
		return r;
	*ret = BERTH_TAKE(probe);
	return 0;
}

void berth_probe_close(struct berth_probe *probe)
{
	const struct timespec nap = {.tv_nsec = 2000000};
	const uint64_t until_ms = berth_clock_boot_ms() + CLOSE_WAIT_MS;

	if (!probe)
		return;
	berth_probe_child_kill(&probe->child);
	while (probe->child.n_lying > 0 && berth_clock_boot_ms() < until_ms) {
		(void)nanosleep(&nap, NULL);
		(void)berth_probe_child_reap(&probe->child, NULL);
	}
	berth_tell_fini(&probe->book);
	for (size_t i = 0; i < ARGS_MAX; i++)
		free(probe->argv[i]);
	free(probe);
}

int berth_probe_fd(const struct berth_probe *probe)
{
	return probe->child.fd;
}

void berth_probe_load(struct berth_probe *probe, const char *uuid, const char *holder, const char *profile)
{
	if (!probe->ops->load)
		return;
	(void)berth_tell_load(&probe->book, uuid, holder, profile, berth_clock_boot_ms());
}

int berth_probe_inject(struct berth_probe *probe, const char *uuid, const char *what, uint64_t *ret_ticket,
                       struct berth_error *err)
{
	bool is_known = false;
	int r;

	if (!probe->ops->inject)
		return berth_error_set(err, -EOPNOTSUPP,
		                       "%s cards are real: loads and faults can be injected into simulated ones only",
		                       probe->ops->name);
	r = berth_sim_inject_check(what, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < probe->n_watched; i++)
		is_known = is_known || strcmp(probe->watched[i].uuid, uuid) == 0;
	if (!is_known)
		return berth_error_set(err, -ENOENT, "there is no simulated card %s", uuid);
	r = berth_tell_inject(&probe->book, uuid, what, berth_clock_boot_ms(), probe->ticket + 1);
	if (r < 0)
		return berth_error_errno(err, r, "injecting into %s", uuid);
	*ret_ticket = ++probe->ticket;
	return 0;
}

bool berth_probe_is_stale(const struct berth_probe *probe)
{
	return probe->standing != STANDING_ANSWERS;
}

uint64_t berth_probe_last_ms(const struct berth_probe *probe)
{
	return probe->last_ms;
}
