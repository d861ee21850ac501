#include "engine/local/environment.h"
#include <inttypes.h>
#include <string.h>
#include "base/text.h"

struct building {
	const struct berth_environment *of;
	struct berth_arena *arena;
	char **at;
	size_t n;
	bool is_failed;
};

/* Names that speak of one attempt: never inherited from where the job was submitted. */
static bool is_own(const char *entry)
{
	static const char *const own[] = {
		"BERTH_",        "CUDA_VISIBLE_DEVICES=", "SLURM_JOB",  "SLURM_RESTART_COUNT=",
		"SLURM_GPUS",    "SLURM_SUBMIT_DIR=",     "SLURM_STEP", "SLURM_ARRAY",
		"SLURM_PROCID=", "SLURM_LOCALID="};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strncmp(entry, own[i], strlen(own[i])) == 0)
			return true;
	return false;
}

static void set(struct building *b, const char *name, const char *value)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_add(&text, name);
	berth_text_add(&text, "=");
	berth_text_add(&text, value);
	char *copy = text.is_failed ? NULL : berth_arena_strdup(b->arena, text.at);
	if (copy)
		b->at[b->n++] = copy;
	else
		b->is_failed = true;
}

static void set_u64(struct building *b, const char *name, uint64_t value)
{
	char digits[24];

	(void)snprintf(digits, sizeof(digits), "%" PRIu64, value);
	set(b, name, digits);
}

/* Only where the user has not chosen. */
static void set_default(struct building *b, const char *name, const char *value)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < b->n; i++)
		if (strncmp(b->at[i], name, len) == 0 && b->at[i][len] == '=')
			return;
	set(b, name, value);
}

static void set_file(struct building *b, const char *name, enum berth_attempt_file file)
{
	const struct berth_attempt_id id = {b->of->job->id, b->of->job->attempt};
	BERTH_AUTO_TEXT struct berth_text path = {0};
	char base[BERTH_ATTEMPT_NAME_MAX];

	berth_text_add(&path, b->of->attempts_dir);
	berth_text_add(&path, "/");
	berth_text_add(&path, berth_attempt_file_name(&id, file, base));
	b->is_failed = b->is_failed || path.is_failed;
	set(b, name, berth_text_str(&path) ? berth_text_str(&path) : "");
}

static void set_devices(struct building *b)
{
	const struct berth_share_set *set_of = &b->of->job->set;
	BERTH_AUTO_TEXT struct berth_text list = {0};
	uint64_t least_mem = UINT64_MAX;

	for (uint32_t i = 0; i < set_of->n; i++) {
		const struct berth_device *device = berth_core_device(b->of->core, set_of->share[i].device);

		if (!device)
			continue;
		berth_text_add(&list, list.len ? "," : "");
		berth_text_add(&list, device->uuid);
		least_mem = device->mem_bytes < least_mem ? device->mem_bytes : least_mem;
	}
	b->is_failed = b->is_failed || list.is_failed;
	set(b, "CUDA_VISIBLE_DEVICES", list.len ? list.at : "-1");
	set_default(b, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	set_u64(b, "BERTH_GPUS", set_of->n);
	set_u64(b, "SLURM_GPUS", set_of->n);
	if (set_of->n)
		set_u64(b, "BERTH_GPU_MEM_BYTES", least_mem);
}

static void set_attempt(struct building *b)
{
	const struct berth_job *job = b->of->job;
	/* The first attempt is no restart. */
	const uint64_t restarts = job->restarts;

	set_u64(b, "BERTH_JOB_ID", job->id);
	set(b, "BERTH_JOB_NAME", job->asked.name);
	set_u64(b, "BERTH_ATTEMPT", job->attempt);
	set_u64(b, "BERTH_RESTART_COUNT", restarts);
	set_file(b, "BERTH_STOP_FILE", BERTH_ATTEMPT_STOP);
	set_file(b, "BERTH_DONE_FILE", BERTH_ATTEMPT_DONE);
	set_file(b, "BERTH_PROGRESS_FILE", BERTH_ATTEMPT_PROGRESS);
	set(b, "BERTH_SOCKET", b->of->socket_path);
	set_u64(b, "SLURM_JOB_ID", job->id);
	set_u64(b, "SLURM_JOBID", job->id);
	set(b, "SLURM_JOB_NAME", job->asked.name);
	set_u64(b, "SLURM_RESTART_COUNT", restarts);
	set(b, "SLURM_SUBMIT_DIR", b->of->cwd);
	set(b, "SLURM_JOB_NODELIST", b->of->node);
	set_default(b, "PYTHONUNBUFFERED", "1");
}

char **berth_environment_make(const struct berth_environment *of, json_t *submitted, struct berth_arena *arena)
{
	/* Behind the submitted ones: at most 32 of ours. */
	struct building b = {.of = of, .arena = arena};
	json_t *entry;
	size_t i;

	b.at = berth_arena_alloc(arena, (json_array_size(submitted) + 32) * sizeof(*b.at));
	if (!b.at)
		return NULL;
	json_array_foreach(submitted, i, entry)
	{
		const char *text = json_string_value(entry);

		if (text && !is_own(text))
			b.at[b.n++] = (char *)(uintptr_t)text;
	}
	set_devices(&b);
	set_attempt(&b);
	return b.is_failed ? NULL : b.at;
}
