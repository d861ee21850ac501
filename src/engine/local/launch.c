#include <errno.h>
#include <string.h>
#include "base/arena.h"
#include "engine/local/engine.h"
#include "engine/local/environment.h"
#include "engine/local/jobspec.h"
#include "host/spec.h"

static const char *spec_string(json_t *root, const char *name)
{
	const char *s = json_string_value(json_object_get(root, name));

	return s ? s : "";
}

/* A script has no command line of its own: its name stands for it. */
static char **make_argv(json_t *root, const char *name, struct berth_arena *arena)
{
	json_t *argv = json_object_get(root, "argv");
	size_t n = json_array_size(argv);
	char **at = berth_arena_alloc(arena, (n + 2) * sizeof(*at));

	if (!at)
		return NULL;
	for (size_t i = 0; i < n; i++)
		at[i] = (char *)(uintptr_t)json_string_value(json_array_get(argv, i));
	if (n == 0)
		at[0] = (char *)(uintptr_t)name;
	return at;
}

/* The specification with everything that is known only now; an fd, or -errno. */
static int seal(struct berth_engine *engine, const struct berth_job *job, const struct berth_jobspec *spec)
{
	BERTH_AUTO_ARENA struct berth_arena arena = {0};
	const char *cwd = spec_string(spec->root, "cwd");
	const char *error = spec_string(spec->root, "error");
	const char *node = engine->options.node_name;
	BERTH_AUTO_FREE char *stdout_path = berth_jobspec_path(spec_string(spec->root, "output"), cwd, job, node, NULL);
	BERTH_AUTO_FREE char *stderr_path = error[0] ? berth_jobspec_path(error, cwd, job, node, NULL) : NULL;
	const struct berth_environment environment = {
		.core = berth_ledger_core(engine->ledger),
		.job = job,
		.attempts_dir = engine->attempts_dir,
		.socket_path = engine->options.socket_path,
		.node = node,
		.cwd = cwd,
	};
	char **argv = make_argv(spec->root, job->asked.name, &arena);
	char **env = berth_environment_make(&environment, spec->env, &arena);

	if (!argv || !env || !stdout_path || (error[0] && !stderr_path))
		return -ENOMEM;
	const char *const path[BERTH_SPEC_PATHS] = {
		[BERTH_SPEC_CWD] = cwd,
		[BERTH_SPEC_STDOUT] = stdout_path,
		[BERTH_SPEC_STDERR] = stderr_path ? stderr_path : "",
		[BERTH_SPEC_SCRIPT] = spec_string(spec->root, "script"),
	};
	/* What an earlier attempt wrote is kept. */
	return berth_spec_seal(argv, env, path, job->attempt > 1);
}

static void fill(struct berth_wire *msg, struct berth_engine *engine, const struct berth_job *job, json_t *root)
{
	const struct berth_core *core = berth_ledger_core(engine->ledger);
	const struct berth_attempt_id id = {job->id, job->attempt};

	berth_wire_init(msg, BERTH_WIRE_LAUNCH, &id);
	msg->uid = job->asked.uid;
	msg->gid = getegid();
	msg->limit_ms = job->asked.request.limit_ms;
	msg->grace_ms = job->asked.grace_ms;
	msg->stop_signal = (uint32_t)json_integer_value(json_object_get(root, "stop_signal"));
	msg->warn_signal = (uint32_t)json_integer_value(json_object_get(root, "warn_signal"));
	msg->warn_ms = (uint64_t)json_integer_value(json_object_get(root, "warn_ms"));
	for (uint32_t i = 0; i < job->set.n; i++) {
		const struct berth_device *device = berth_core_device(core, job->set.share[i].device);

		if (device)
			(void)snprintf(msg->uuid[msg->n_uuid++], sizeof(msg->uuid[0]), "%s", device->uuid);
	}
}

int berth_launch(struct berth_engine *engine, const struct berth_job *job)
{
	__attribute__((cleanup(berth_jobspec_fini))) struct berth_jobspec spec = {0};
	struct berth_wire msg;

	if (!berth_execlink_is_ready(engine->link))
		return -ENOTCONN;
	int r = berth_jobspec_load(berth_ledger_store(engine->ledger), job->asked.spec, &spec, NULL);
	if (r < 0)
		return r;
	int fd = seal(engine, job, &spec);
	if (fd < 0)
		return fd;
	fill(&msg, engine, job, spec.root);
	return berth_execlink_send(engine->link, &msg, fd);
}
