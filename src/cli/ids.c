#include "cli/ids.h"

#include <inttypes.h>
#include <string.h>
#include "base/units.h"
#include "cli/several.h"

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

static int do_one(struct berth_cli *cli, uint64_t id, const struct berth_call *how, const char *action,
                  struct berth_reply *ret)
{
	struct berth_call call = *how;
	char target[96];

	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64 "%s", id, action);
	call.target = target;
	return berth_call(cli, &call, ret);
}

int berth_ids_do(struct berth_cli *cli, const struct berth_ids *ids, const struct berth_call *how, const char *action,
                 void (*done)(const json_t *job))
{
	struct berth_several several;
	int r = BERTH_EXIT_OK;

	if (ids->n == 1 && cli->is_json) {
		BERTH_AUTO_REPLY struct berth_reply reply = {0};

		r = do_one(cli, ids->id[0], how, action, &reply);
		return r == BERTH_EXIT_OK ? berth_print_json(reply.json) : r;
	}
	berth_several_begin(&several, cli);
	for (size_t i = 0; i < ids->n && r != BERTH_EXIT_UNREACHABLE; i++) {
		BERTH_AUTO_REPLY struct berth_reply reply = {0};

		r = do_one(cli, ids->id[i], how, action, &reply);
		if (r != BERTH_EXIT_OK) {
			berth_several_failed(&several, r, json_integer((json_int_t)ids->id[i]));
			continue;
		}
		berth_several_did(&several, json_object_get(reply.json, "job"));
		if (!cli->is_json)
			done(json_object_get(reply.json, "job"));
	}
	return berth_several_end(&several, "berth.jobs/1", "jobs");
}
