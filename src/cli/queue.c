/* queue: what waits and what runs. */
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "cli/client.h"
#include "cli/job.h"
#include "cli/queue.h"
#include "cli/reason.h"
#include "cli/table.h"
#include "cli/verbs.h"

#define WATCH_SECONDS 2

const struct berth_option berth_queue_options[] = {
	{"all", 'a', NULL, "finished jobs too, as long as the daemon remembers them", "states"},
	{"user", 'u', "NAME", "only this user's", NULL},
	{"states", 't', "STATE,...", "only these: PENDING, HELD, RUNNING, STOPPING, COMPLETED, FAILED, ...", NULL},
	{"watch", 0, "[S]", "again every S seconds (2), until Ctrl-C; with --json one object a line", NULL},
	{0},
};

static const struct berth_column columns[] = {
	{"#", true, 0},    {"JOB", true, 0},    {"PRI", false, 0},   {"USER", false, 16},  {"NAME", false, 24},
	{"GPUS", true, 0}, {"WAITED", true, 0}, {"START", false, 0}, {"REASON", false, 0},
};

static bool is_running(const json_t *job)
{
	const char *state = berth_json_text(job, "state");

	return strcmp(state, "RUNNING") == 0 || strcmp(state, "STOPPING") == 0;
}

static void add_position(struct berth_table *table, const json_t *job)
{
	uint64_t position;

	if (berth_json_number(job, "position", &position))
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, position);
	else
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
}

/* From being submitted to its start, or to now. */
static void add_waited(struct berth_table *table, const json_t *job, uint64_t now_ms)
{
	char buf[BERTH_FORMAT_MAX];
	uint64_t from_ms;
	uint64_t to_ms = now_ms;

	if (!berth_json_moment(job, "submit_time", &from_ms)) {
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
		return;
	}
	if (!berth_json_moment(job, "start_time", &to_ms) && berth_job_is_final(job))
		(void)berth_json_moment(job, "end_time", &to_ms);
	berth_table_add(table, BERTH_STYLE_PLAIN,
	                berth_duration_format(to_ms > from_ms ? (to_ms - from_ms) / 1000 * 1000 : 0, buf));
}

/* When it began, or by when it begins at the latest as far as time limits tell. */
static void add_start(struct berth_table *table, const json_t *job, uint64_t now_ms)
{
	const json_t *predicted = json_object_get(job, "predicted_start");
	char buf[BERTH_FORMAT_MAX];
	uint64_t at_ms;

	if (berth_json_moment(job, "start_time", &at_ms) && (is_running(job) || berth_job_is_final(job)))
		berth_table_add(table, BERTH_STYLE_PLAIN, berth_moment_format_short(at_ms, now_ms, buf));
	else if (!berth_json_moment(predicted, "latest", &at_ms))
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	else if (at_ms <= now_ms)
		berth_table_add(table, BERTH_STYLE_PLAIN, "now");
	else
		berth_table_addf(table, BERTH_STYLE_PLAIN, "by %s", berth_moment_format_short(at_ms, now_ms, buf));
}

static void add_progress(const json_t *job, struct berth_text *text)
{
	const json_t *progress = json_object_get(job, "progress");
	const char *words = berth_json_text(progress, "text");
	uint64_t done;
	uint64_t total;

	if (berth_json_number(progress, "done", &done) && berth_json_number(progress, "total", &total))
		berth_text_addf(text, ", %" PRIu64 "/%" PRIu64, done, total);
	if (*words)
		berth_text_addf(text, ", %s", words);
}

static void add_running(const json_t *job, uint64_t now_ms, struct berth_text *text)
{
	char ran[BERTH_FORMAT_MAX];
	char limit[BERTH_FORMAT_MAX];
	uint64_t ran_ms = 0;
	uint64_t limit_ms;

	(void)berth_job_ran(job, now_ms, &ran_ms);
	berth_text_addf(text, "running %s", berth_duration_format(ran_ms / 1000 * 1000, ran));
	if (berth_json_number(job, "limit_ms", &limit_ms))
		berth_text_addf(text, " of %s", berth_duration_format(limit_ms, limit));
	add_progress(job, text);
}

static void add_reason(struct berth_table *table, const json_t *job, uint64_t now_ms)
{
	const char *state = berth_json_text(job, "state");
	BERTH_AUTO_TEXT struct berth_text text = {0};
	enum berth_style style = BERTH_STYLE_PLAIN;

	if (strcmp(state, "RUNNING") == 0) {
		add_running(job, now_ms, &text);
		style = BERTH_STYLE_GOOD;
	} else if (berth_job_is_final(job)) {
		berth_job_outcome(job, &text);
		style = strcmp(state, "COMPLETED") == 0 ? BERTH_STYLE_PLAIN : BERTH_STYLE_BAD;
	} else {
		berth_reason_words(json_object_get(job, "reason"), now_ms, &text);
	}
	berth_table_add(table, style, text.at);
}

static void add_job(struct berth_table *table, const json_t *job, uint64_t now_ms)
{
	uint64_t gpus = 0;

	add_position(table, job);
	berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, berth_job_id(job));
	berth_table_add(table, strcmp(berth_json_text(job, "tier"), "P0") == 0 ? BERTH_STYLE_BOLD : BERTH_STYLE_PLAIN,
	                berth_json_text(job, "tier"));
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(job, "user"));
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(job, "name"));
	if (berth_json_number(job, "gpus", &gpus))
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, gpus);
	else
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	add_waited(table, job, now_ms);
	add_start(table, job, now_ms);
	add_reason(table, job, now_ms);
}

/* ", 3 of 8 GPUs free, 1 out of service (simulated)" */
static void print_gpus(const json_t *gpus, FILE *out)
{
	const size_t n = json_array_size(gpus);
	size_t free_gpus = 0;
	size_t out_of_service = 0;
	size_t simulated = 0;
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu) {
		const char *state = berth_json_text(gpu, "state");

		free_gpus += strcmp(state, "free") == 0;
		out_of_service += strcmp(state, "drained") == 0 || strcmp(state, "lost") == 0;
		simulated += strncmp(berth_json_text(gpu, "uuid"), "SIM-", 4) == 0;
	}
	if (n == 0)
		return;
	fprintf(out, ", %zu of %zu %sGPU%s free", free_gpus, n, simulated == n ? "simulated " : "", n == 1 ? "" : "s");
	if (out_of_service > 0)
		fprintf(out, ", %zu out of service", out_of_service);
}

int berth_queue_print(const json_t *jobs, const json_t *gpus, uint64_t now_ms, FILE *out)
{
	BERTH_AUTO_TABLE struct berth_table table = {0};
	size_t waiting = 0;
	size_t running = 0;
	const json_t *job;
	size_t i;

	berth_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach(jobs, i, job) {
		add_job(&table, job, now_ms);
		running += is_running(job);
		waiting += !is_running(job) && !berth_job_is_final(job);
	}
	if (i > 0 && berth_table_print(&table, 0, out) < 0)
		return BERTH_EXIT_FAILED;
	fprintf(out, "%zu waiting, %zu running", waiting, running);
	print_gpus(gpus, out);
	fprintf(out, ".%s\n", waiting > 0 ? "  berth why JOB tells why." : "");
	return BERTH_EXIT_OK;
}

/* The question that the options make. In cli's arena. */
static const char *make_target(struct berth_cli *cli)
{
	const char *user = berth_given_value(&cli->given, "user");
	const char *states = berth_given_value(&cli->given, "states");
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_add(&text, "/api/v1/jobs?");
	if (states) {
		berth_text_add(&text, "state=");
		berth_url_add(&text, states);
	} else if (!berth_given_has(&cli->given, "all")) {
		berth_text_add(&text, "active=1");
	}
	if (user) {
		berth_text_add(&text, "&user=");
		berth_url_add(&text, user);
	}
	return berth_arena_strdup(&cli->arena, berth_text_str(&text));
}

/* The daemon's answer as it came: ten thousand jobs are ten megabytes, which need not be taken apart to be printed. */
static int read_queue_json(struct berth_cli *cli, const char *target, bool is_seq_wanted, char **ret, uint64_t *ret_seq)
{
	const struct berth_call call = {.method = "GET", .target = target, .is_raw = true};
	BERTH_AUTO_JSON json_t *queue = NULL;
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	int r = target ? berth_call(cli, &call, &reply) : berth_complain_memory(cli);

	if (r != BERTH_EXIT_OK)
		return r;
	if (is_seq_wanted) {
		queue = json_loadb(berth_text_str(&reply.body), reply.body.len, 0, NULL);
		(void)berth_json_number(queue, "seq", ret_seq);
	}
	berth_text_add(&reply.body, "\n");
	if (reply.body.is_failed)
		return berth_complain_memory(cli);
	*ret = BERTH_TAKE(reply.body.at);
	return BERTH_EXIT_OK;
}

/* One reading, into a text of its own. *ret_seq: what of the daemon it shows. */
static int read_queue_table(struct berth_cli *cli, const char *target, char **ret, uint64_t *ret_seq)
{
	BERTH_AUTO_JSON json_t *queue = NULL;
	BERTH_AUTO_JSON json_t *gpus = NULL;
	BERTH_AUTO_FREE char *text = NULL;
	size_t n = 0;
	FILE *out;
	int r = berth_ask(cli, "GET", target, NULL, &queue);

	if (r == BERTH_EXIT_OK)
		r = berth_ask(cli, "GET", "/api/v1/gpus", NULL, &gpus);
	if (r != BERTH_EXIT_OK)
		return r;
	out = open_memstream(&text, &n);
	if (!out)
		return berth_complain_memory(cli);
	r = berth_queue_print(json_object_get(queue, "jobs"), json_object_get(gpus, "gpus"), berth_clock_wall_ms(),
	                      out);
	if (fclose(out) == EOF)
		r = BERTH_EXIT_FAILED;
	(void)berth_json_number(queue, "seq", ret_seq);
	*ret = BERTH_TAKE(text);
	return r;
}

/* Over what stands there already, line by line, so that nothing flickers. */
static void redraw(const char *text)
{
	fputs("\033[H", stdout);
	while (*text) {
		const size_t n = strcspn(text, "\n");

		printf("%.*s\033[K\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", stdout);
}

static int watch(struct berth_cli *cli, const char *target, uint64_t seconds)
{
	const bool is_screen = isatty(STDOUT_FILENO) && !cli->is_json;
	const struct timespec pause = {.tv_sec = (time_t)seconds};
	uint64_t shown_seq = UINT64_MAX;

	if (is_screen)
		fputs("\033[2J", stdout);
	for (;;) {
		BERTH_AUTO_FREE char *text = NULL;
		uint64_t seq = 0;
		int r = cli->is_json ? read_queue_json(cli, target, true, &text, &seq)
		                     : read_queue_table(cli, target, &text, &seq);

		if (r != BERTH_EXIT_OK)
			return r;
		if (is_screen)
			redraw(text);
		else if (seq != shown_seq)
			printf("%s%s", text, cli->is_json ? "" : "\n");
		shown_seq = seq;
		if (fflush(stdout) == EOF)
			return BERTH_EXIT_FAILED;
		(void)nanosleep(&pause, NULL);
	}
}

int berth_verb_queue(struct berth_cli *cli)
{
	const char *every = berth_given_value(&cli->given, "watch");
	const char *target = make_target(cli);
	BERTH_AUTO_FREE char *text = NULL;
	struct berth_error err = {0};
	uint64_t seconds = WATCH_SECONDS;
	uint64_t seq = 0;
	int r;

	if (every && *every && berth_number_parse(every, "--watch", 1, 86400, &seconds, &err) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "%s", err.text);
	if (every)
		return watch(cli, target, seconds);
	r = cli->is_json ? read_queue_json(cli, target, false, &text, &seq)
	                 : read_queue_table(cli, target, &text, &seq);
	if (r != BERTH_EXIT_OK)
		return r;
	return fputs(text, stdout) == EOF || fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}
