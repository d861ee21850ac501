#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <regex.h>
#include <stdio.h>
#include <string.h>
#include "telemetry/telemetry.h"

#define GIB (1024ull * 1024 * 1024)
#define BOOT_MS 50000000ull
#define CORE_MS 1764523200000ull

/* --- what a scraper would say of the page -------------------------------------------------------------------- */

#define FAMILIES_MAX 64
#define SERIES_MAX 512
#define LINE_MAX_LEN 512

struct check {
	char family[FAMILIES_MAX][96];
	size_t n_families;
	char type[16];                         /* of the last family */
	char series[SERIES_MAX][LINE_MAX_LEN]; /* name and labels */
	size_t n_series;
	regex_t sample;
};

static void open_family(struct check *check, const char *line, const char *type_line)
{
	char name[96] = "";
	char type_name[96] = "";

	assert_int_equal(sscanf(line, "# HELP %95s", name), 1);
	if (strlen(line) < strlen("# HELP ") + strlen(name) + 5 || line[strlen(line) - 1] != '.')
		fail_msg("no help: %s", line);
	assert_int_equal(sscanf(type_line, "# TYPE %95s %15s", type_name, check->type), 2);
	assert_string_equal(name, type_name);
	for (size_t i = 0; i < check->n_families; i++)
		if (strcmp(check->family[i], name) == 0)
			fail_msg("two families %s", name);
	if ((strcmp(check->type, "counter") == 0) !=
	    (strlen(name) > 6 && strcmp(name + strlen(name) - 6, "_total") == 0))
		fail_msg("counters, and only they, end in _total: %s %s", name, check->type);
	(void)snprintf(check->family[check->n_families++], sizeof(check->family[0]), "%s", name);
}

/* Is name the family's, or one of a histogram's three? */
static bool belongs(const struct check *check, const char *name)
{
	static const char *const ends[] = {"_bucket", "_sum", "_count"};
	const char *family = check->family[check->n_families - 1];
	const size_t len = strlen(family);

	if (strcmp(check->type, "histogram") != 0)
		return strcmp(name, family) == 0;
	for (size_t i = 0; i < 3; i++)
		if (strncmp(name, family, len) == 0 && strcmp(name + len, ends[i]) == 0)
			return true;
	return false;
}

static void take_sample(struct check *check, const char *line)
{
	const size_t name_len = strcspn(line, "{ ");
	const char *value = strrchr(line, ' ');
	char name[96];

	if (regexec(&check->sample, line, 0, NULL, 0) != 0)
		fail_msg("no sample: %s", line);
	(void)snprintf(name, sizeof(name), "%.*s", (int)name_len, line);
	assert_true(check->n_families > 0);
	if (!belongs(check, name))
		fail_msg("%s stands in the family %s", name, check->family[check->n_families - 1]);
	assert_true(check->n_series < SERIES_MAX && value - line < LINE_MAX_LEN);
	(void)snprintf(check->series[check->n_series], LINE_MAX_LEN, "%.*s", (int)(value - line), line);
	for (size_t i = 0; i < check->n_series; i++)
		if (strcmp(check->series[i], check->series[check->n_series]) == 0)
			fail_msg("twice: %s", check->series[i]);
	check->n_series++;
}

/* HELP and TYPE once per family, its samples at once behind them, no series twice, sound names, escapes and values. */
static void assert_sound(const char *page)
{
	static struct check check;
	BERTH_AUTO_FREE char *copy = strdup(page);
	char *save = NULL;

	assert_non_null(copy);
	check = (struct check){0};
	assert_int_equal(page[strlen(page) - 1], '\n');
	assert_int_equal(regcomp(&check.sample,
	                         "^[a-z_]+(\\{[a-z_]+=\"([^\"\\\\]|\\\\[\\\\n\"])*\"(,[a-z_]+=\"([^\"\\\\]|\\\\["
	                         "\\\\n\"])*\")*\\})? "
	                         "[0-9]+(\\.[0-9]+)?$",
	                         REG_EXTENDED | REG_NOSUB),
	                 0);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "# HELP ", 7) == 0)
			open_family(&check, line, strtok_r(NULL, "\n", &save));
		else
			take_sample(&check, line);
	}
	regfree(&check.sample);
	assert_true(check.n_families > 20);
}

/* The same by promtool, on a machine that has it. */
static void assert_promtool(const char *page)
{
	FILE *pipe = popen(
		"if command -v promtool >/dev/null; then exec promtool check metrics; else exec cat >/dev/null; fi",
		"w");

	assert_non_null(pipe);
	assert_true(fputs(page, pipe) >= 0);
	assert_int_equal(pclose(pipe), 0);
}

/* --- a small site -------------------------------------------------------------------------------------------- */

struct site {
	struct berth_core *core;
	struct berth_telemetry *telemetry;
	struct berth_telemetry_counters counters;
	uint64_t at_ms;
	struct berth_text page;
};

static void fold(struct site *site, struct berth_fact *fact)
{
	fact->seq = berth_core_seq(site->core) + 1;
	fact->at_ms = site->at_ms;
	assert_int_equal(berth_core_reserve(site->core, fact, 1), 0);
	assert_int_equal(berth_core_fold(site->core, fact), 0);
	berth_telemetry_seen(site->telemetry, site->core, fact);
}

static void see_device(struct site *site, uint32_t id, uint32_t index, const char *uuid)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_SEEN);
	fact.u.device = (struct berth_fact_device){.device = id,
	                                           .node = 1,
	                                           .index = index,
	                                           .uuid = uuid,
	                                           .kind = "gpu",
	                                           .model = "A100-80GB",
	                                           .mem_bytes = 80 * GIB};
	fold(site, &fact);
}

static void set_health(struct site *site, uint32_t id, enum berth_health health)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_HEALTH);
	fact.u.health = (struct berth_fact_device_health){.device = id, .health = health};
	fold(site, &fact);
}

static void submit(struct site *site, uint64_t id, enum berth_tier tier, uint32_t gpus)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.u.submit.job = id;
	fact.u.submit.user = "li\"n\\";
	fact.u.submit.tier = tier;
	fact.u.submit.request.gpus = gpus;
	fact.u.submit.request.limit_ms = 3600000;
	fact.u.submit.grace_ms = 30000;
	fold(site, &fact);
}

static void start_job(struct site *site, uint64_t id, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_STARTED);
	fact.u.started = (struct berth_fact_started){.job = id, .attempt = attempt, .pid = 77};
	fold(site, &fact);
}

static void end_attempt(struct site *site, uint64_t id, uint32_t attempt)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_ATTEMPT_ENDED);
	fact.u.ended.job = id;
	fact.u.ended.attempt = attempt;
	fact.u.ended.started_ms = site->at_ms - 1000;
	fact.u.ended.ended_ms = site->at_ms;
	fold(site, &fact);
}

static void ask_requeue(struct site *site, uint64_t id)
{
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_JOB_REQUEUE_ASKED);
	fact.u.job = (struct berth_fact_job){.job = id, .by = "lin"};
	fold(site, &fact);
}

/* Fold what the core decides until it decides no more. */
static void decide(struct site *site)
{
	struct berth_plan plan;

	do {
		struct berth_fact facts[8];
		size_t n;

		assert_int_equal(berth_core_decide(site->core, site->at_ms, &plan), 0);
		n = plan.n < 8 ? plan.n : 8;
		memcpy(facts, plan.facts, n * sizeof(facts[0]));
		for (size_t i = 0; i < n; i++)
			fold(site, &facts[i]);
	} while (plan.n > 0);
}

static struct site opened(void)
{
	struct site site = {.core = berth_core_new(), .telemetry = berth_telemetry_new(), .at_ms = CORE_MS};
	struct berth_fact fact;

	assert_non_null(site.core);
	assert_non_null(site.telemetry);
	berth_fact_init(&fact, BERTH_FACT_NODE_SEEN);
	fact.u.node = (struct berth_fact_node){.node = 1, .name = "gpu01"};
	fold(&site, &fact);
	return site;
}

static void closed(struct site *site)
{
	berth_text_fini(&site->page);
	berth_telemetry_free(site->telemetry);
	berth_core_free(site->core);
}

static const char *page_of(struct site *site)
{
	const char *page;

	berth_text_fini(&site->page);
	site->page = (struct berth_text){0};
	berth_telemetry_metrics(site->telemetry, site->core, &site->counters, site->at_ms, BOOT_MS, &site->page);
	page = berth_text_str(&site->page);
	assert_non_null(page);
	assert_sound(page);
	return page;
}

static void assert_has(const char *page, const char *line)
{
	const size_t len = strlen(line);

	for (const char *at = page; (at = strstr(at, line)); at++)
		if ((at == page || at[-1] == '\n') && at[len] == '\n')
			return;
	fail_msg("the page has no line %s:\n%s", line, page);
}

static void assert_has_no(const char *page, const char *text)
{
	if (strstr(page, text))
		fail_msg("the page has %s", text);
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void test_empty_site(void **state)
{
	struct site site = opened();
	const char *page = page_of(&site);

	assert_has(page, "berth_build_info{version=\"" BERTH_VERSION "\"} 1");
	assert_has(page, "berth_jobs{state=\"pending\",priority=\"P0\"} 0");
	assert_has(page, "berth_queue_oldest_wait_seconds{priority=\"P2\"} 0.000");
	assert_has(page, "berth_jobs_ended_total{state=\"completed\"} 0");
	assert_has(page, "berth_job_wait_seconds_bucket{priority=\"P1\",le=\"+Inf\"} 0");
	assert_has_no(page, "berth_sched_last_cycle_timestamp_seconds 0");
	assert_has_no(page, "source=");
	assert_promtool(page);
	closed(&site);
}

static void test_gpus(void **state)
{
	struct site site = opened();
	struct berth_sample sample = {.at_ms = BOOT_MS - 500,
	                              .valid = BERTH_SAMPLE_UTIL | BERTH_SAMPLE_MEM,
	                              .util_permille = 970,
	                              .mem_used_bytes = 66 * GIB};
	struct berth_fact fact;
	const char *page;

	see_device(&site, 1, 0, "GPU-aa");
	see_device(&site, 2, 1, "GPU-bb");
	set_health(&site, 1, BERTH_HEALTH_OK);
	assert_int_equal(berth_telemetry_put(site.telemetry, "GPU-aa", &sample), 0);
	sample.at_ms = BOOT_MS - BERTH_TELEMETRY_FRESH_MS - 1;
	assert_int_equal(berth_telemetry_put(site.telemetry, "GPU-bb", &sample), 0);
	berth_fact_init(&fact, BERTH_FACT_DEVICE_DRAIN);
	fact.u.drain = (struct berth_fact_device_drain){.device = 2, .is_draining = true, .by = "op", .note = ""};
	fold(&site, &fact);

	page = page_of(&site);
	assert_has(page, "berth_gpu_info{node=\"gpu01\",gpu=\"0\",uuid=\"GPU-aa\",kind=\"gpu\",model=\"A100-80GB\"} 1");
	assert_has(page, "berth_gpu_utilization_ratio{node=\"gpu01\",gpu=\"0\"} 0.970");
	assert_has(page, "berth_gpu_memory_used_bytes{node=\"gpu01\",gpu=\"0\"} 70866960384");
	assert_has(page, "berth_gpu_memory_total_bytes{node=\"gpu01\",gpu=\"1\"} 85899345920");
	assert_has(page, "berth_gpu_health{node=\"gpu01\",gpu=\"0\",state=\"ok\"} 1");
	assert_has(page, "berth_gpu_health{node=\"gpu01\",gpu=\"0\",state=\"lost\"} 0");
	assert_has(page, "berth_gpu_health{node=\"gpu01\",gpu=\"1\",state=\"unknown\"} 0");
	assert_has(page, "berth_gpu_draining{node=\"gpu01\",gpu=\"0\"} 0");
	assert_has(page, "berth_gpu_draining{node=\"gpu01\",gpu=\"1\"} 1");
	/* Too old to be true: left out, not 0. */
	assert_has_no(page, "berth_gpu_utilization_ratio{node=\"gpu01\",gpu=\"1\"}");
	assert_has_no(page, "berth_gpu_memory_used_bytes{node=\"gpu01\",gpu=\"1\"}");
	assert_promtool(page);
	closed(&site);
}

static void test_a_replaced_card_is_one_series(void **state)
{
	struct site site = opened();
	const char *page;

	see_device(&site, 1, 0, "GPU-old");
	see_device(&site, 2, 0, "GPU-new");
	page = page_of(&site);
	assert_has_no(page, "GPU-old");
	assert_non_null(strstr(page, "GPU-new"));
	set_health(&site, 2, BERTH_HEALTH_LOST);
	page = page_of(&site);
	assert_non_null(strstr(page, "GPU-old"));
	assert_has_no(page, "GPU-new");
	closed(&site);
}

static void test_jobs_wait_run_and_end(void **state)
{
	struct site site = opened();
	const char *page;

	see_device(&site, 1, 0, "GPU-aa");
	set_health(&site, 1, BERTH_HEALTH_OK);
	submit(&site, 1, BERTH_TIER_P1, 1);
	decide(&site);
	site.at_ms += 61500;
	start_job(&site, 1, 1);
	submit(&site, 2, BERTH_TIER_P2, 1);
	site.at_ms += 90000;
	page = page_of(&site);
	assert_has(page, "berth_gpu_allocated_ratio{node=\"gpu01\",gpu=\"0\"} 1");
	assert_has(page, "berth_job_gpu_info{node=\"gpu01\",gpu=\"0\",job=\"1\",user=\"li\\\"n\\\\\"} 1");
	assert_has(page, "berth_jobs{state=\"running\",priority=\"P1\"} 1");
	assert_has(page, "berth_jobs{state=\"pending\",priority=\"P2\"} 1");
	assert_has(page, "berth_jobs_pending_reason{reason=\"Resources\"} 1");
	assert_has(page, "berth_queue_oldest_wait_seconds{priority=\"P2\"} 90.000");
	assert_has(page, "berth_job_wait_seconds_bucket{priority=\"P1\",le=\"60\"} 0");
	assert_has(page, "berth_job_wait_seconds_bucket{priority=\"P1\",le=\"300\"} 1");
	assert_has(page, "berth_job_wait_seconds_bucket{priority=\"P1\",le=\"+Inf\"} 1");
	assert_has(page, "berth_job_wait_seconds_sum{priority=\"P1\"} 61.500");
	assert_has(page, "berth_job_wait_seconds_count{priority=\"P1\"} 1");
	assert_has(page, "berth_job_restarts_total 0");
	assert_promtool(page);

	end_attempt(&site, 1, 1);
	decide(&site);
	page = page_of(&site);
	assert_has(page, "berth_jobs_ended_total{state=\"completed\"} 1");
	assert_has(page, "berth_jobs{state=\"running\",priority=\"P1\"} 0");
	closed(&site);
}

static void test_a_second_start_is_a_restart(void **state)
{
	struct site site = opened();
	const char *page;

	see_device(&site, 1, 0, "GPU-aa");
	set_health(&site, 1, BERTH_HEALTH_OK);
	submit(&site, 1, BERTH_TIER_P0, 1);
	decide(&site);
	start_job(&site, 1, 1);
	ask_requeue(&site, 1);
	decide(&site);
	end_attempt(&site, 1, 1);
	decide(&site);
	site.at_ms += 7200000;
	decide(&site);
	start_job(&site, 1, 2);
	page = page_of(&site);
	assert_has(page, "berth_job_restarts_total 1");
	assert_has(page, "berth_job_wait_seconds_count{priority=\"P0\"} 1");
	assert_has(page, "berth_job_wait_seconds_bucket{priority=\"P0\",le=\"1\"} 1");
	closed(&site);
}

static void test_held_and_later_jobs_do_not_count_as_waiting_long(void **state)
{
	struct site site = opened();
	struct berth_fact fact;
	const char *page;

	see_device(&site, 1, 0, "GPU-aa");
	submit(&site, 1, BERTH_TIER_P0, 1);
	berth_fact_init(&fact, BERTH_FACT_JOB_HELD);
	fact.u.job = (struct berth_fact_job){.job = 1, .by = "lin"};
	fold(&site, &fact);
	berth_fact_init(&fact, BERTH_FACT_JOB_SUBMITTED);
	fact.u.submit.job = 2;
	fact.u.submit.tier = BERTH_TIER_P1;
	fact.u.submit.request = (struct berth_request){.gpus = 1, .limit_ms = 1000, .gpu_model = ""};
	fact.u.submit.begin_ms = CORE_MS + 60000;
	fold(&site, &fact);
	site.at_ms += 30000;
	page = page_of(&site);
	assert_has(page, "berth_jobs{state=\"held\",priority=\"P0\"} 1");
	assert_has(page, "berth_queue_oldest_wait_seconds{priority=\"P0\"} 0.000");
	assert_has(page, "berth_queue_oldest_wait_seconds{priority=\"P1\"} 0.000");
	assert_has(page, "berth_jobs_pending_reason{reason=\"BeginTime\"} 1");
	site.at_ms += 60000;
	assert_has(page_of(&site), "berth_queue_oldest_wait_seconds{priority=\"P1\"} 30.000");
	closed(&site);
}

static void test_counters(void **state)
{
	struct site site = opened();
	const char *page;

	site.counters = (struct berth_telemetry_counters){.facts = 11,
	                                                  .decisions = 12,
	                                                  .commits = 13,
	                                                  .fsyncs = 14,
	                                                  .http_requests = 15,
	                                                  .sse_clients = 16,
	                                                  .last_cycle_ms = CORE_MS + 7,
	                                                  .last_sample_ms = CORE_MS + 8,
	                                                  .is_disk_full = true};
	page = page_of(&site);
	assert_has(page, "berth_facts_total 11");
	assert_has(page, "berth_decisions_total 12");
	assert_has(page, "berth_store_commits_total 13");
	assert_has(page, "berth_store_fsyncs_total 14");
	assert_has(page, "berth_http_requests_total 15");
	assert_has(page, "berth_sse_clients 16");
	assert_has(page, "berth_sched_last_cycle_timestamp_seconds 1764523200.007");
	assert_has(page, "berth_collect_last_success_timestamp_seconds{source=\"devices\"} 1764523200.008");
	assert_has(page, "berth_store_full 1");
	assert_has(page, "berth_probe_stale 0");
	assert_has(page, "berth_exec_connected 0");
	site.counters.is_probe_stale = site.counters.is_exec_connected = true;
	page = page_of(&site);
	assert_has(page, "berth_probe_stale 1");
	assert_has(page, "berth_exec_connected 1");
	closed(&site);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_site),
		cmocka_unit_test(test_gpus),
		cmocka_unit_test(test_a_replaced_card_is_one_series),
		cmocka_unit_test(test_jobs_wait_run_and_end),
		cmocka_unit_test(test_a_second_start_is_a_restart),
		cmocka_unit_test(test_held_and_later_jobs_do_not_count_as_waiting_long),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
