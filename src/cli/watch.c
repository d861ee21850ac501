#include "cli/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/clock.h"
#include "cli/job.h"
#include "cli/sse.h"

#define SILENCE_MS 45000u /* three comments missed: nobody is there */

static void keep(struct berth_watch *watch, size_t i, json_t *job)
{
	json_decref(watch->jobs[i]);
	watch->jobs[i] = json_incref(job);
	watch->changes++;
}

/* The daemon is away; from now on the next steps try to come back. */
static void lose(struct berth_watch *watch)
{
	const uint64_t now_ms = berth_clock_boot_ms();

	berth_events_close(&watch->events);
	watch->retry_ms = now_ms + BERTH_RETRY_MS;
	if (watch->lost_ms == 0)
		watch->lost_ms = now_ms;
}

/* 0, a negative errno (with err), or an exit code after a complaint. */
static int read_job(struct berth_watch *watch, size_t i, struct berth_error *err)
{
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	char target[64];
	struct berth_call call = {.method = "GET", .target = target};
	int r;

	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64, watch->ids[i]);
	r = berth_call_try(watch->cli, &call, &reply, err);
	if (r < 0)
		return r;
	if (reply.status == 503)
		return berth_error_set(err, -EAGAIN, "the daemon is not ready");
	if (reply.status != 200 || !json_object_get(reply.json, "job"))
		return berth_complain_answer(watch->cli, berth_exit_of_status(reply.status),
		                             json_object_get(reply.json, "error"));
	keep(watch, i, json_object_get(reply.json, "job"));
	return 0;
}

/* Stream first, jobs after it. Results as read_job. */
static int come_back(struct berth_watch *watch, struct berth_error *err)
{
	int r = berth_events_open(watch->cli, &watch->events, err);

	for (size_t i = 0; r == 0 && i < watch->n; i++)
		if (!watch->jobs[i] || !berth_job_is_final(watch->jobs[i]))
			r = read_job(watch, i, err);
	if (r != 0) {
		berth_events_close(&watch->events);
		return r;
	}
	watch->lost_ms = 0;
	watch->heard_ms = berth_clock_boot_ms();
	return 0;
}

int berth_watch_open(struct berth_cli *cli, const uint64_t *ids, size_t n, struct berth_watch *ret)
{
	struct berth_watch watch = {.cli = cli, .ids = ids, .n = n, .events = {.fd = -1}};
	struct berth_error err = {0};
	int r;

	watch.jobs = calloc(n, sizeof(*watch.jobs));
	if (!watch.jobs)
		return berth_complain_memory(cli);
	r = come_back(&watch, &err);
	if (r < 0 && berth_is_daemon_gone(r) && cli->socket) { /* it was there a moment ago */
		lose(&watch);
		r = 0;
	}
	while (r == 0 && watch.lost_ms > 0)
		r = berth_watch_step(&watch, NULL, 0, -1);
	if (r < 0)
		r = berth_complain_unreachable(cli, &err);
	if (r == BERTH_EXIT_OK)
		*ret = watch;
	else
		berth_watch_close(&watch);
	return r;
}

static void take_event(struct berth_watch *watch, const struct berth_sse *event, bool *ret_is_stale)
{
	BERTH_AUTO_JSON json_t *job = NULL;

	if (strcmp(event->name, "reset") == 0)
		*ret_is_stale = true;
	if (strcmp(event->name, "job") != 0)
		return;
	job = json_loads(event->data, 0, NULL);
	for (size_t i = 0; i < watch->n; i++) {
		if (berth_job_id(job) != watch->ids[i])
			continue;
		if (json_is_true(json_object_get(job, "forgotten")))
			*ret_is_stale |= !berth_job_is_final(watch->jobs[i]);
		else
			keep(watch, i, job);
	}
}

static int hear(struct berth_watch *watch)
{
	struct berth_error err = {0};
	struct berth_sse event;
	bool is_stale = false;
	int r = berth_events_pump(&watch->events, &err);

	watch->heard_ms = berth_clock_boot_ms();
	while (berth_sse_take(&watch->events.http.body, &event)) {
		take_event(watch, &event, &is_stale);
		free(event.data);
	}
	if (r < 0 && !berth_is_daemon_gone(r))
		return berth_complain_unreachable(watch->cli, &err);
	if (r < 0 || is_stale)
		lose(watch);
	return BERTH_EXIT_OK;
}

static int try_again(struct berth_watch *watch)
{
	struct berth_error err = {0};
	int r;

	if (berth_clock_boot_ms() < watch->retry_ms)
		return BERTH_EXIT_OK;
	r = come_back(watch, &err);
	if (r >= 0)
		return r;
	if (!berth_is_daemon_gone(r) || berth_clock_boot_ms() - watch->lost_ms >= BERTH_PATIENCE_MS)
		return berth_complain_unreachable(watch->cli, &err);
	watch->retry_ms = berth_clock_boot_ms() + BERTH_RETRY_MS;
	return BERTH_EXIT_OK;
}

int berth_watch_step(struct berth_watch *watch, struct pollfd *fds, size_t n_fds, int timeout_ms)
{
	struct pollfd all[BERTH_WATCH_FDS + 1] = {{.fd = watch->events.fd, .events = POLLIN}};
	const int longest_ms = watch->lost_ms > 0 ? (int)BERTH_RETRY_MS : (int)SILENCE_MS;

	for (size_t i = 0; i < n_fds; i++)
		all[1 + i] = fds[i];
	if (timeout_ms < 0 || timeout_ms > longest_ms)
		timeout_ms = longest_ms;
	if (poll(all, 1 + n_fds, timeout_ms) < 0 && errno != EINTR)
		return berth_complain(watch->cli, BERTH_EXIT_FAILED, "Poll", NULL, "cannot wait: %s",
		                      strerrordesc_np(errno));
	for (size_t i = 0; i < n_fds; i++)
		fds[i].revents = all[1 + i].revents;
	if (watch->lost_ms > 0)
		return try_again(watch);
	if (all[0].revents)
		return hear(watch);
	if (berth_clock_boot_ms() - watch->heard_ms > SILENCE_MS)
		lose(watch);
	return BERTH_EXIT_OK;
}

int berth_watch_reread(struct berth_watch *watch, size_t i)
{
	struct berth_error err = {0};
	int r = watch->lost_ms > 0 ? 0 : read_job(watch, i, &err);

	if (r >= 0)
		return r;
	if (!berth_is_daemon_gone(r))
		return berth_complain_unreachable(watch->cli, &err);
	lose(watch);
	return BERTH_EXIT_OK;
}

bool berth_watch_all_final(const struct berth_watch *watch)
{
	for (size_t i = 0; i < watch->n; i++)
		if (!watch->jobs[i] || !berth_job_is_final(watch->jobs[i]))
			return false;
	return true;
}

void berth_watch_close(struct berth_watch *watch)
{
	for (size_t i = 0; watch->jobs && i < watch->n; i++)
		json_decref(watch->jobs[i]);
	free(watch->jobs);
	berth_events_close(&watch->events);
	*watch = (struct berth_watch){.events = {.fd = -1}};
}
