#include "cli/ids.h"

#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "cli/job.h"

static int add(struct berth_cli *cli, const char *word, struct berth_ids *ids)
{
	uint64_t id;

	if (berth_number_parse(word, "a job id", 1, INT64_MAX, &id, NULL) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage",
		                      "Job ids are numbers, as berth queue shows them:  berth cancel 12 13",
		                      "\"%s\" is no job id", word);
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == id)
			return BERTH_EXIT_OK;
	ids->id[ids->n++] = id;
	return BERTH_EXIT_OK;
}

static size_t count(const struct berth_cli *cli, int from)
{
	size_t n = 0;

	for (int i = from; i < cli->argc; i++, n++)
		for (const char *s = cli->argv[i]; *s; s++)
			n += *s == ',';
	return n;
}

int berth_ids_parse(struct berth_cli *cli, int from, struct berth_ids *ret)
{
	int r = BERTH_EXIT_OK;

	*ret = (struct berth_ids){.id = berth_arena_alloc(&cli->arena, count(cli, from) * sizeof(*ret->id))};
	for (int i = from; r == BERTH_EXIT_OK && i < cli->argc; i++) {
		char *rest = berth_arena_strdup(&cli->arena, cli->argv[i]);

		if (!ret->id || !rest)
			return berth_complain_memory(cli);
		while (r == BERTH_EXIT_OK && rest)
			r = add(cli, strsep(&rest, ","), ret);
	}
	return r;
}

int berth_ids_do(struct berth_cli *cli, const struct berth_ids *ids, const struct berth_call *how, const char *action,
                 void (*done)(const json_t *job))
{
	BERTH_AUTO_JSON json_t *jobs = json_array();
	int first = BERTH_EXIT_OK;

	for (size_t i = 0; i < ids->n; i++) {
		BERTH_AUTO_REPLY struct berth_reply reply = {0};
		char target[96];
		struct berth_call call = *how;
		int r;

		(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64 "%s", ids->id[i], action);
		call.target = target;
		r = berth_call(cli, &call, &reply);
		if (r != BERTH_EXIT_OK) {
			first = first ? first : r;
			if (r == BERTH_EXIT_UNREACHABLE)
				return json_array_size(jobs) > 0 ? BERTH_EXIT_PARTLY : r;
			continue;
		}
		if (cli->is_json && ids->n == 1)
			return berth_print_json(reply.json);
		if (!cli->is_json)
			done(json_object_get(reply.json, "job"));
		(void)json_array_append(jobs, json_object_get(reply.json, "job"));
	}
	if (json_array_size(jobs) == 0)
		return first;
	if (cli->is_json) {
		BERTH_AUTO_JSON json_t *object = json_pack("{s:s, s:O}", "schema", "berth.jobs/1", "jobs", jobs);

		(void)berth_print_json(object);
	}
	return first == BERTH_EXIT_OK ? BERTH_EXIT_OK : BERTH_EXIT_PARTLY;
}
