/* gpus, drain, undrain. */
#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "cli/client.h"
#include "cli/gpus.h"
#include "cli/job.h"
#include "cli/several.h"
#include "cli/table.h"
#include "cli/verbs.h"

const struct berth_option berth_drain_options[] = {
	{"note", 0, "TEXT", "why, for those who wonder", NULL},
	{0},
};

static const struct berth_column columns[] = {
	{"NODE", false, 24}, {"GPU", true, 0}, {"MODEL", false, 24}, {"STATE", false, 0},
	{"UTIL", true, 0},   {"MEM", true, 0}, {"JOB", true, 0},     {"USER", false, 16},
};

static enum berth_style style_of(const char *state)
{
	if (strcmp(state, "lost") == 0)
		return BERTH_STYLE_BAD;
	if (strcmp(state, "idle") == 0 || strcmp(state, "drained") == 0)
		return BERTH_STYLE_WARN;
	return strcmp(state, "free") == 0 ? BERTH_STYLE_GOOD : BERTH_STYLE_PLAIN;
}

/* "66/80 GB" in whole gigabytes; "-/80 GB" while the use is not known. */
static void add_memory(struct berth_table *table, const json_t *gpu)
{
	char buf[BERTH_FORMAT_MAX];
	uint64_t total;
	uint64_t used;

	if (!berth_json_number(gpu, "mem_total_bytes", &total))
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	else if (!berth_json_number(gpu, "mem_used_bytes", &used))
		berth_table_addf(table, BERTH_STYLE_PLAIN, "-/%s", berth_size_format(total, buf));
	else
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64 "/%s", (used + (UINT64_C(1) << 29)) >> 30,
		                 berth_size_format(total, buf));
}

static void add_gpu(struct berth_table *table, const json_t *gpu)
{
	const char *state = berth_json_text(gpu, "state");
	const json_t *jobs = json_object_get(gpu, "jobs");
	uint64_t number;

	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(gpu, "node"));
	if (berth_json_number(gpu, "index", &number))
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64, number);
	else
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(gpu, "model"));
	berth_table_addf(table, style_of(state), "%s%s", state, strcmp(state, "idle") == 0 ? "!" : "");
	if (berth_json_number(gpu, "util_permille", &number))
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" PRIu64 "%%", (number + 5) / 10);
	else
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	add_memory(table, gpu);
	if (json_array_size(jobs) > 0)
		berth_table_addf(table, BERTH_STYLE_PLAIN, "%" JSON_INTEGER_FORMAT,
		                 json_integer_value(json_array_get(jobs, 0)));
	else
		berth_table_add(table, BERTH_STYLE_FAINT, "-");
	berth_table_add(table, BERTH_STYLE_PLAIN, berth_json_text(gpu, "user"));
}

/* "8 GPUs: 5 busy, 1 idle, 2 free." */
static void print_sum(const json_t *gpus, FILE *out)
{
	static const char *const states[] = {"busy", "idle", "free", "drained", "lost"};
	const size_t n = json_array_size(gpus);
	const char *lead = ":";
	size_t simulated = 0;
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu)
		simulated += strncmp(berth_json_text(gpu, "uuid"), "SIM-", 4) == 0;
	fprintf(out, "%zu GPU%s", n, n == 1 ? "" : "s");
	for (size_t k = 0; k < sizeof(states) / sizeof(states[0]); k++) {
		size_t count = 0;

		json_array_foreach(gpus, i, gpu)
			count += strcmp(berth_json_text(gpu, "state"), states[k]) == 0;
		if (count > 0) {
			fprintf(out, "%s %zu %s", lead, count, states[k]);
			lead = ",";
		}
	}
	fputs(".", out);
	if (simulated > 0)
		fprintf(out, "  %s simulated: jobs run, but compute on no GPU.",
		        simulated == n ? "They are" : "Some are");
	fputs("\n", out);
}

/* Why cards are out of service, a line each. */
static void print_drains(const json_t *gpus, FILE *out)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(gpus, i, gpu) {
		const json_t *drain = json_object_get(gpu, "drain");
		BERTH_AUTO_FREE char *by = berth_json_printable(drain, "by", 0);
		BERTH_AUTO_FREE char *note = berth_json_printable(drain, "note", 0);

		if (!json_is_object(drain))
			continue;
		fprintf(out, "GPU %" JSON_INTEGER_FORMAT " drained by %s",
		        json_integer_value(json_object_get(gpu, "index")), by ? by : "?");
		if (*berth_json_text(drain, "note"))
			fprintf(out, ": %s", note ? note : "?");
		fputs("\n", out);
	}
}

int berth_gpus_print(const json_t *gpus, FILE *out)
{
	BERTH_AUTO_TABLE struct berth_table table = {0};
	const json_t *gpu;
	size_t i;

	berth_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach(gpus, i, gpu)
		add_gpu(&table, gpu);
	if (i > 0 && berth_table_print(&table, 0, out) < 0)
		return BERTH_EXIT_FAILED;
	print_sum(gpus, out);
	print_drains(gpus, out);
	return BERTH_EXIT_OK;
}

int berth_verb_gpus(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	int r = berth_ask(cli, "GET", "/api/v1/gpus", NULL, &answer);

	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	r = berth_gpus_print(json_object_get(answer, "gpus"), stdout);
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : r;
}

/* Before the first is touched: a word that names none of them is most likely another action. */
static int check_names(struct berth_cli *cli)
{
	for (int i = 0; i < cli->argc; i++)
		for (const char *name = cli->argv[i]; name;) {
			const size_t n = strcspn(name, ",");

			if (n == 0 || (strspn(name, "0123456789") < n && !memchr(name, '-', n)))
				return berth_complain(
					cli, BERTH_EXIT_USAGE, "Usage",
					"GPUs are named by index or UUID, as berth gpus shows them:  berth drain 3",
					"\"%.*s\" is no GPU", (int)n, name);
			name = name[n] ? name + n + 1 : NULL;
		}
	return BERTH_EXIT_OK;
}

/* Operands may be "3", "3,5", UUIDs. */
static int each_gpu(struct berth_cli *cli, const char *action, const json_t *body, const char *said)
{
	struct berth_several several;
	int r = check_names(cli);

	if (r != BERTH_EXIT_OK)
		return r;
	berth_several_begin(&several, cli);
	for (int i = 0; i < cli->argc; i++)
		for (char *rest = cli->argv[i]; rest && r != BERTH_EXIT_UNREACHABLE;) {
			const char *name = strsep(&rest, ",");
			BERTH_AUTO_JSON json_t *answer = NULL;

			r = berth_ask(cli, "POST", berth_target(cli, "/api/v1/gpus/", name, action), body, &answer);
			if (r != BERTH_EXIT_OK) {
				berth_several_failed(&several, r, json_string(name));
				continue;
			}
			berth_several_did(&several, json_object_get(answer, "gpu"));
			if (!cli->is_json)
				printf("GPU %s %s\n", name, said);
		}
	r = berth_several_end(&several, "berth.gpus/1", "gpus");
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : r;
}

int berth_verb_drain(struct berth_cli *cli)
{
	const char *note = berth_given_value(&cli->given, "note");
	BERTH_AUTO_JSON json_t *body = note ? json_pack("{s:s}", "note", note) : json_object();

	if (!body)
		return berth_complain(cli, BERTH_EXIT_USAGE, "NotUtf8", NULL, "--note: it is not UTF-8 text");
	return each_gpu(cli, "/drain", body, "is drained: what runs on it goes on, nothing new starts there");
}

int berth_verb_undrain(struct berth_cli *cli)
{
	return each_gpu(cli, "/undrain", NULL, "is back in service");
}
