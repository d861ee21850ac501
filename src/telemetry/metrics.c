#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include "telemetry/exposition.h"
#include "telemetry/state.h"

/* One scrape. */
struct page {
	struct berth_telemetry *telemetry;
	struct berth_core *core;
	const struct berth_telemetry_counters *counters;
	uint64_t core_now_ms, boot_now_ms;
	struct berth_text *text;
};

static const char *const tier_names[BERTH_TIER_COUNT] = {"P0", "P1", "P2"};

/* States that last, by the names that people see. */
static const char *const live_states[] = {"PENDING", "HELD", "RUNNING", "STOPPING"};

static const uint64_t bucket_s[BERTH_TELEMETRY_BUCKETS] = {1,    5,    15,    60,    300,   900,
                                                           1800, 3600, 14400, 43200, 86400, 259200};

#define STATE_NAME_MAX 24

static char *lower(const char *name, char ret[static STATE_NAME_MAX])
{
	size_t i = 0;

	for (; name[i] && i < STATE_NAME_MAX - 1; i++)
		ret[i] = (char)tolower((unsigned char)name[i]);
	ret[i] = '\0';
	return ret;
}

/* --- GPUs ---------------------------------------------------------------------------------------------------- */

/* Is a the one to show of two devices with the same node and index? The one in service, else the newer. */
static bool is_shown_before(const struct berth_device *a, const struct berth_device *b)
{
	const bool is_a_lost = a->health == BERTH_HEALTH_LOST;
	const bool is_b_lost = b->health == BERTH_HEALTH_LOST;

	return is_a_lost != is_b_lost ? is_b_lost : a->id > b->id;
}

/* A card that was replaced leaves its index to the new one: two series of the same labels would be a trap. */
static bool is_shown(const struct berth_core *core, const struct berth_device *device)
{
	const struct berth_device *other;

	for (size_t i = 0; (other = berth_core_device_at(core, i)); i++)
		if (other != device && other->node == device->node && other->index == device->index &&
		    is_shown_before(other, device))
			return false;
	return true;
}

/* One device on the page. labels: node and gpu, then room for the family's own. */
struct shown {
	const struct berth_device *device;
	struct berth_exposition_label label[6];
	char index[12];
	bool is_fresh;
	struct berth_sample sample; /* when is_fresh */
};
#define SHOWN_LABELS 2

static void show(const struct page *page, const struct berth_device *device, struct shown *ret)
{
	const struct berth_node *node = berth_core_node(page->core, device->node);

	*ret = (struct shown){.device = device};
	(void)snprintf(ret->index, sizeof(ret->index), "%" PRIu32, device->index);
	ret->label[0] = (struct berth_exposition_label){"node", node ? node->name : ""};
	ret->label[1] = (struct berth_exposition_label){"gpu", ret->index};
	ret->is_fresh = berth_telemetry_latest(page->telemetry, device->uuid, page->boot_now_ms,
	                                       BERTH_TELEMETRY_FRESH_MS, &ret->sample);
}

static void add_info(const struct page *page, const char *name, struct shown *shown)
{
	shown->label[2] = (struct berth_exposition_label){"uuid", shown->device->uuid};
	shown->label[3] = (struct berth_exposition_label){"kind", shown->device->kind};
	shown->label[4] = (struct berth_exposition_label){"model", shown->device->model};
	berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS + 3, 1);
}

static void add_util(const struct page *page, const char *name, struct shown *shown)
{
	if (shown->is_fresh && shown->sample.valid & BERTH_SAMPLE_UTIL)
		berth_exposition_sample_milli(page->text, name, shown->label, SHOWN_LABELS,
		                              shown->sample.util_permille);
}

static void add_mem_used(const struct page *page, const char *name, struct shown *shown)
{
	if (shown->is_fresh && shown->sample.valid & BERTH_SAMPLE_MEM)
		berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS, shown->sample.mem_used_bytes);
}

static void add_mem_total(const struct page *page, const char *name, struct shown *shown)
{
	if (shown->device->mem_bytes)
		berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS, shown->device->mem_bytes);
}

static void add_health(const struct page *page, const char *name, struct shown *shown)
{
	static const char *const states[BERTH_HEALTH_COUNT] = {"unknown", "ok", "lost"};

	for (unsigned i = 0; i < BERTH_HEALTH_COUNT; i++) {
		shown->label[2] = (struct berth_exposition_label){"state", states[i]};
		berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS + 1, shown->device->health == i);
	}
}

static void add_allocated(const struct page *page, const char *name, struct shown *shown)
{
	berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS, shown->device->job != 0);
}

static void add_draining(const struct page *page, const char *name, struct shown *shown)
{
	berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS, shown->device->is_draining);
}

static void add_job(const struct page *page, const char *name, struct shown *shown)
{
	const struct berth_job *job = shown->device->job ? berth_core_job(page->core, shown->device->job) : NULL;
	char id[24];

	if (!job)
		return;
	(void)snprintf(id, sizeof(id), "%" PRIu64, job->id);
	shown->label[2] = (struct berth_exposition_label){"job", id};
	shown->label[3] = (struct berth_exposition_label){"user", job->asked.user};
	berth_exposition_sample(page->text, name, shown->label, SHOWN_LABELS + 2, 1);
}

static void add_gpus(const struct page *page)
{
	static const struct {
		const char *name, *help;
		void (*add)(const struct page *page, const char *name, struct shown *shown);
	} families[] = {
		{"berth_gpu_info", "Static facts about a GPU; join on node and gpu.", add_info},
		{"berth_gpu_utilization_ratio", "Share of the last sample period in which a kernel ran.", add_util},
		{"berth_gpu_memory_used_bytes", "Device memory in use.", add_mem_used},
		{"berth_gpu_memory_total_bytes", "Device memory installed.", add_mem_total},
		{"berth_gpu_health", "1 for the state that the scheduler sees the GPU in.", add_health},
		{"berth_gpu_allocated_ratio", "Share of the GPU promised to jobs.", add_allocated},
		{"berth_gpu_draining", "1 while no new job is put on the GPU.", add_draining},
		{"berth_job_gpu_info", "Running job on a GPU; join on node and gpu.", add_job},
	};
	const struct berth_device *device;
	struct shown shown;

	for (size_t k = 0; k < sizeof(families) / sizeof(families[0]); k++) {
		berth_exposition_family(page->text, families[k].name, "gauge", families[k].help);
		for (size_t i = 0; (device = berth_core_device_at(page->core, i)); i++) {
			if (!is_shown(page->core, device))
				continue;
			show(page, device, &shown);
			families[k].add(page, families[k].name, &shown);
		}
	}
}

/* --- jobs ---------------------------------------------------------------------------------------------------- */

static size_t count_public(const struct berth_core *core, const char *name, enum berth_tier tier)
{
	size_t n = 0;

	for (unsigned state = BERTH_JOB_PENDING; state < BERTH_JOB_STATE_COUNT; state++)
		if (strcmp(berth_job_state_public_name(state), name) == 0)
			n += berth_core_count_in(core, state, tier);
	return n;
}

static void add_jobs(const struct page *page)
{
	char state[STATE_NAME_MAX];

	berth_exposition_family(page->text, "berth_jobs", "gauge", "Jobs that wait or run, by state and priority.");
	for (size_t i = 0; i < sizeof(live_states) / sizeof(live_states[0]); i++) {
		for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++) {
			const struct berth_exposition_label labels[] = {{"state", lower(live_states[i], state)},
			                                                {"priority", tier_names[tier]}};

			berth_exposition_sample(page->text, "berth_jobs", labels, 2,
			                        count_public(page->core, live_states[i], tier));
		}
	}
}

/* The waiting jobs, in one look at them all. */
struct waiting {
	size_t by_reason[BERTH_REASON_COUNT];
	uint64_t oldest_ms[BERTH_TIER_COUNT]; /* how long the one that has waited longest has waited */
};

static void count_waiting(const struct page *page, const struct berth_outlook *row, struct waiting *ret)
{
	const struct berth_job *job = berth_core_job(page->core, row->job);
	uint64_t since_ms;

	ret->by_reason[row->reason.code]++;
	if (!job || job->state != BERTH_JOB_PENDING)
		return;
	since_ms = job->asked.begin_ms > job->submit_ms ? job->asked.begin_ms : job->submit_ms;
	if (page->core_now_ms > since_ms && page->core_now_ms - since_ms > ret->oldest_ms[job->asked.tier])
		ret->oldest_ms[job->asked.tier] = page->core_now_ms - since_ms;
}

static bool look_at_waiting(const struct page *page, struct waiting *ret)
{
	const size_t n = berth_core_queue(page->core, page->core_now_ms, NULL, 0);
	BERTH_AUTO_FREE struct berth_outlook *rows = calloc(n + 1, sizeof(*rows));
	ssize_t n_rows = rows ? berth_core_outlook(page->core, page->core_now_ms, rows, n) : -1;

	if (n_rows < 0)
		return false;
	for (size_t i = 0; i < n && i < (size_t)n_rows; i++)
		count_waiting(page, &rows[i], ret);
	return true;
}

static void add_waiting(const struct page *page)
{
	struct waiting waiting = {0};

	if (!look_at_waiting(page, &waiting)) {
		page->text->is_failed = true;
		return;
	}
	berth_exposition_family(page->text, "berth_jobs_pending_reason", "gauge", "Waiting jobs by main reason.");
	for (unsigned i = BERTH_REASON_NONE + 1; i < BERTH_REASON_COUNT; i++) {
		const struct berth_exposition_label label = {"reason", berth_reason_name(i)};

		if (waiting.by_reason[i])
			berth_exposition_sample(page->text, "berth_jobs_pending_reason", &label, 1,
			                        waiting.by_reason[i]);
	}
	berth_exposition_family(page->text, "berth_queue_oldest_wait_seconds", "gauge",
	                        "Wait of the longest-waiting job that may start; 0 when none waits.");
	for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++) {
		const struct berth_exposition_label label = {"priority", tier_names[tier]};

		berth_exposition_sample_milli(page->text, "berth_queue_oldest_wait_seconds", &label, 1,
		                              waiting.oldest_ms[tier]);
	}
}

static void add_wait_histogram(const struct page *page)
{
	const struct berth_telemetry *telemetry = page->telemetry;
	char end[24];

	berth_exposition_family(page->text, "berth_job_wait_seconds", "histogram",
	                        "Time from submission to first start, of jobs started since the daemon started.");
	for (unsigned tier = 0; tier < BERTH_TIER_COUNT; tier++) {
		const struct berth_exposition_label labels[] = {{"priority", tier_names[tier]}, {"le", end}};
		uint64_t n = 0;

		for (unsigned i = 0; i <= BERTH_TELEMETRY_BUCKETS; i++) {
			n += telemetry->wait_bucket[tier][i];
			if (i < BERTH_TELEMETRY_BUCKETS)
				(void)snprintf(end, sizeof(end), "%" PRIu64, bucket_s[i]);
			else
				(void)snprintf(end, sizeof(end), "+Inf");
			berth_exposition_sample(page->text, "berth_job_wait_seconds_bucket", labels, 2, n);
		}
		berth_exposition_sample_milli(page->text, "berth_job_wait_seconds_sum", labels, 1,
		                              telemetry->wait_sum_ms[tier]);
		berth_exposition_sample(page->text, "berth_job_wait_seconds_count", labels, 1, n);
	}
}

static void add_ended(const struct page *page)
{
	char state[STATE_NAME_MAX];

	berth_exposition_family(page->text, "berth_jobs_ended_total", "counter", "Jobs finished, by final state.");
	for (unsigned i = BERTH_JOB_COMPLETED; i < BERTH_JOB_STATE_COUNT; i++) {
		const struct berth_exposition_label label = {"state", lower(berth_job_state_public_name(i), state)};

		berth_exposition_sample(page->text, "berth_jobs_ended_total", &label, 1, page->telemetry->n_ended[i]);
	}
	berth_exposition_family(page->text, "berth_job_restarts_total", "counter",
	                        "Starts of jobs that had run before.");
	berth_exposition_sample(page->text, "berth_job_restarts_total", NULL, 0, page->telemetry->n_restarts);
}

/* --- the daemon ---------------------------------------------------------------------------------------------- */

static void add_moments(const struct page *page)
{
	static const struct berth_exposition_label source = {"source", "devices"};
	const struct berth_telemetry_counters *counters = page->counters;

	berth_exposition_family(page->text, "berth_sched_last_cycle_timestamp_seconds", "gauge",
	                        "End of the last scheduling cycle.");
	if (counters->last_cycle_ms)
		berth_exposition_sample_milli(page->text, "berth_sched_last_cycle_timestamp_seconds", NULL, 0,
		                              counters->last_cycle_ms);
	berth_exposition_family(page->text, "berth_collect_last_success_timestamp_seconds", "gauge",
	                        "Last good read of a source.");
	if (counters->last_sample_ms)
		berth_exposition_sample_milli(page->text, "berth_collect_last_success_timestamp_seconds", &source, 1,
		                              counters->last_sample_ms);
}

static void add_daemon(const struct page *page)
{
	const struct berth_telemetry_counters *counters = page->counters;
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} singles[] = {
		{"berth_facts_total", "counter", "Facts folded.", counters->facts},
		{"berth_decisions_total", "counter", "Decisions made.", counters->decisions},
		{"berth_store_commits_total", "counter", "Transactions committed.", counters->commits},
		{"berth_store_fsyncs_total", "counter", "Syncs to disk that commits waited for.", counters->fsyncs},
		{"berth_store_full", "gauge", "1 while the disk of the journal is full and submits are refused.",
	         counters->is_disk_full},
		{"berth_probe_stale", "gauge", "1 while the device probe does not answer.", counters->is_probe_stale},
		{"berth_exec_connected", "gauge", "1 while berth-exec, which starts jobs, is connected.",
	         counters->is_exec_connected},
		{"berth_http_requests_total", "counter", "HTTP requests answered.", counters->http_requests},
		{"berth_sse_clients", "gauge", "Clients that follow the event stream.", counters->sse_clients},
	};

	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		berth_exposition_family(page->text, singles[i].name, singles[i].type, singles[i].help);
		berth_exposition_sample(page->text, singles[i].name, NULL, 0, singles[i].value);
	}
}

void berth_telemetry_metrics(struct berth_telemetry *telemetry, struct berth_core *core,
                             const struct berth_telemetry_counters *counters, uint64_t core_now_ms,
                             uint64_t boot_now_ms, struct berth_text *ret)
{
	static const struct berth_exposition_label build = {"version", BERTH_VERSION};
	const struct page page = {.telemetry = telemetry,
	                          .core = core,
	                          .counters = counters,
	                          .core_now_ms = core_now_ms,
	                          .boot_now_ms = boot_now_ms,
	                          .text = ret};

	berth_exposition_family(ret, "berth_build_info", "gauge", "Build of the daemon.");
	berth_exposition_sample(ret, "berth_build_info", &build, 1, 1);
	add_gpus(&page);
	add_jobs(&page);
	add_waiting(&page);
	add_wait_histogram(&page);
	add_ended(&page);
	add_moments(&page);
	add_daemon(&page);
}

/* --- facts --------------------------------------------------------------------------------------------------- */

static void count_start(struct berth_telemetry *telemetry, const struct berth_job *job)
{
	const uint64_t wait_ms = job->start_ms > job->submit_ms ? job->start_ms - job->submit_ms : 0;
	unsigned i = 0;

	if (job->restarts > 0) {
		telemetry->n_restarts++;
		return;
	}
	while (i < BERTH_TELEMETRY_BUCKETS && wait_ms > bucket_s[i] * 1000)
		i++;
	telemetry->wait_bucket[job->asked.tier][i]++;
	telemetry->wait_sum_ms[job->asked.tier] += wait_ms;
}

void berth_telemetry_seen(struct berth_telemetry *telemetry, const struct berth_core *core,
                          const struct berth_fact *fact)
{
	const struct berth_job *job;

	switch (fact->kind) {
	case BERTH_FACT_ATTEMPT_STARTED:
		job = berth_core_job(core, fact->u.started.job);
		if (job)
			count_start(telemetry, job);
		break;
	case BERTH_FACT_JOB_FINISHED:
		telemetry->n_ended[fact->u.finished.state]++;
		break;
	default:
		break;
	}
}
