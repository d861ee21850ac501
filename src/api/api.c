#include "api/api.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include "api/job_json.h"
#include "api/routes.h"
#include "api/server.h"
#include "api/stream.h"

/* The owner's name, asked once: a name service may take its time, and no handler waits. */
static char *name_of(uid_t uid)
{
	struct passwd passwd;
	struct passwd *found = NULL;
	char buf[4096];
	char *name = NULL;

	if (getpwuid_r(uid, &passwd, buf, sizeof(buf), &found) == 0 && found)
		return strdup(found->pw_name);
	return asprintf(&name, "%u", (unsigned)uid) < 0 ? NULL : name;
}

const char *berth_api_user_name(const struct berth_api *api, uid_t uid, char buf[static 24])
{
	if (uid == api->host.uid)
		return api->owner;
	if (uid == 0)
		return "root";
	(void)snprintf(buf, 24, "%u", (unsigned)uid);
	return buf;
}

static int open_all(struct berth_api *api, const struct berth_api_options *options, struct berth_error *err)
{
	const struct berth_http_options http = {options->socket_path, options->listen_addr, options->listen_port,
	                                        options->may_move};
	const struct berth_http_host host = {api, berth_routes_begin, berth_routes_handle};
	int r;

	api->owner = name_of(api->host.uid);
	api->events = berth_events_new(berth_core_seq(berth_api_core(api)));
	if (options->listen_addr)
		api->listen_addr = strdup(options->listen_addr);
	if (!api->owner || !api->events || (options->listen_addr && !api->listen_addr))
		return berth_error_errno(err, -ENOMEM, "open the API");
	r = berth_streams_open(api->event, &api->streams);
	if (r < 0)
		return berth_error_errno(err, r, "open the API");
	r = berth_auth_open(berth_ledger_store(api->host.ledger), &api->auth, err);
	return r < 0 ? r : berth_http_open(api->event, &http, &host, &api->http, err);
}

int berth_api_open(sd_event *event, const struct berth_api_options *options, const struct berth_api_host *host,
                   struct berth_api **ret, struct berth_error *err)
{
	struct berth_api *api = calloc(1, sizeof(*api));
	int r;

	if (!api)
		return berth_error_errno(err, -ENOMEM, "open the API");
	api->event = sd_event_ref(event);
	api->host = *host;
	r = open_all(api, options, err);
	if (r < 0) {
		berth_api_close(api);
		return r;
	}
	*ret = api;
	return 0;
}

static void drop_retries(struct berth_retry *retry)
{
	while (retry) {
		struct berth_retry *next = retry->next;

		(void)berth_ticket_redeem(retry->ticket);
		free(retry);
		retry = next;
	}
}

void berth_api_close(struct berth_api *api)
{
	if (!api)
		return;
	berth_http_close(api->http);
	drop_retries(api->retries);
	(void)sd_event_source_disable_unref(api->retry_timer);
	berth_streams_close(api->streams);
	berth_auth_close(api->auth);
	berth_events_free(api->events);
	berth_outlooks_fini(&api->outlooks);
	(void)sd_event_unref(api->event);
	free(api->listen_addr);
	free(api->owner);
	free(api);
}

void berth_api_set_host(struct berth_api *api, const struct berth_api_host *host)
{
	api->host = *host;
}

uint16_t berth_api_port(const struct berth_api *api)
{
	return berth_http_port(api->http);
}

/* --- what the daemon tells ------------------------------------------------------------------- */

/* The job that a fact is about; 0 = none. */
static uint64_t job_of(const struct berth_fact *fact)
{
	switch ((int)fact->kind) {
	case BERTH_FACT_JOB_SUBMITTED:
		return fact->u.submit.job;
	case BERTH_FACT_JOB_CANCEL_ASKED:
	case BERTH_FACT_JOB_HELD:
	case BERTH_FACT_JOB_RELEASED:
	case BERTH_FACT_JOB_REQUEUE_ASKED:
	case BERTH_FACT_JOB_FORGOTTEN:
		return fact->u.job.job;
	case BERTH_FACT_JOB_ALTERED:
		return fact->u.alter.job;
	case BERTH_FACT_ATTEMPT_STARTED:
		return fact->u.started.job;
	case BERTH_FACT_ATTEMPT_REFUSED:
		return fact->u.refused.job;
	case BERTH_FACT_ATTEMPT_ENDED:
		return fact->u.ended.job;
	case BERTH_FACT_ATTEMPT_ASSIGNED:
		return fact->u.assigned.job;
	case BERTH_FACT_STOP_ASKED:
		return fact->u.stop.job;
	case BERTH_FACT_LIMIT_SET:
		return fact->u.limit.job;
	case BERTH_FACT_JOB_REQUEUED:
		return fact->u.requeued.job;
	case BERTH_FACT_JOB_FINISHED:
		return fact->u.finished.job;
	default:
		return 0;
	}
}

static uint32_t device_of(const struct berth_fact *fact)
{
	switch ((int)fact->kind) {
	case BERTH_FACT_DEVICE_SEEN:
		return fact->u.device.device;
	case BERTH_FACT_DEVICE_HEALTH:
		return fact->u.health.device;
	case BERTH_FACT_DEVICE_DRAIN:
		return fact->u.drain.device;
	default:
		return 0;
	}
}

/* Devices that the fact gave or took: of an assignment its own, of an end those that the job had. */
static const struct berth_share_set *set_of(const struct berth_api *api, const struct berth_fact *fact)
{
	const struct berth_job *job;

	if (fact->kind == BERTH_FACT_ATTEMPT_ASSIGNED)
		return &fact->u.assigned.set;
	if (fact->kind != BERTH_FACT_ATTEMPT_ENDED && fact->kind != BERTH_FACT_ATTEMPT_REFUSED)
		return NULL;
	job = berth_core_job(berth_api_core(api), job_of(fact));
	return job ? &job->last_set : NULL;
}

void berth_api_seen(struct berth_api *api, const struct berth_fact *fact, int result)
{
	struct berth_change changes[BERTH_NODE_DEVICES_MAX + 2];
	const struct berth_share_set *set;
	size_t n = 0;

	if (result < 0)
		return;
	set = set_of(api, fact);
	for (uint32_t i = 0; set && i < set->n; i++)
		changes[n++] = (struct berth_change){.kind = BERTH_CHANGE_GPU, .id = set->share[i].device};
	if (device_of(fact) > 0)
		changes[n++] = (struct berth_change){.kind = BERTH_CHANGE_GPU, .id = device_of(fact)};
	if (job_of(fact) > 0)
		changes[n++] = (struct berth_change){.kind = BERTH_CHANGE_JOB, .id = job_of(fact)};
	berth_events_change(api->events, fact->seq, changes, n);
	berth_streams_wake(api->streams);
}

void berth_api_progress(struct berth_api *api, uint64_t job, const char *text)
{
	BERTH_AUTO_TEXT struct berth_text data = {0};
	struct berth_json json = berth_json_at(&data);

	berth_json_open(&json, NULL, '{');
	berth_json_u64(&json, "id", job);
	berth_progress_write(&json, "progress", text);
	berth_json_close(&json, '}');
	if (data.is_failed)
		return;
	berth_events_notice(api->events, "progress", data.at);
	berth_streams_wake(api->streams);
}

void berth_api_sample(struct berth_api *api, const char *uuid, const struct berth_sample *sample)
{
	const uint32_t valid = sample->valid;
	BERTH_AUTO_TEXT struct berth_text data = {0};
	struct berth_json json = berth_json_at(&data);

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "uuid", uuid);
	berth_json_u64_or_null(&json, "util_permille", valid & BERTH_SAMPLE_UTIL ? sample->util_permille : UINT64_MAX,
	                       UINT64_MAX);
	berth_json_u64_or_null(&json, "mem_used_bytes", valid & BERTH_SAMPLE_MEM ? sample->mem_used_bytes : UINT64_MAX,
	                       UINT64_MAX);
	berth_json_close(&json, '}');
	if (data.is_failed)
		return;
	berth_events_notice(api->events, "sample", data.at);
	berth_streams_wake(api->streams);
}
