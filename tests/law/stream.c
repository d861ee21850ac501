#include <inttypes.h>
#include <stdio.h>
#include "stream.h"

uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
	return random_next(state) % n;
}

static uint64_t below(struct stream_maker *maker, uint64_t n)
{
	return random_below(&maker->random, n);
}

static bool one_in(struct stream_maker *maker, uint64_t n)
{
	return below(maker, n) == 0;
}

static const char *const names[] = { "", "train", "eval", "serve", "微调", "a rather long name with blanks in it" };
static const char *const models[] = { "A100-80GB", "V100-32GB", "a100-80gb" };
static const char *const uuids[] = {
	"U-a", "U-b", "U-c", "U-d", "U-e", "U-f", "U-g", "U-h", "U-i", "U-j", "U-k", "U-l",
	"U-m", "U-n", "U-o", "U-p", "U-q", "U-r", "U-s", "U-t", "U-u", "U-v", "U-w", "U-x"
};

#define PICK(maker, list) ((list)[below(maker, sizeof(list) / sizeof(*(list)))])

static const struct berth_job *any_job(struct stream_maker *maker, const struct berth_core *core)
{
	size_t n = berth_core_job_count(core);

	return n ? berth_core_job_at(core, below(maker, n)) : NULL;
}

static const struct berth_job *live_job(struct stream_maker *maker, const struct berth_core *core)
{
	size_t n = berth_core_job_count(core);
	size_t first = n ? below(maker, n) : 0;

	for (size_t i = 0; i < n; i++) {
		const struct berth_job *job = berth_core_job_at(core, (first + i) % n);

		if (berth_job_state_is_live(job->state))
			return job;
	}
	return NULL;
}

static uint64_t some_job_id(struct stream_maker *maker, const struct berth_core *core)
{
	const struct berth_job *job = any_job(maker, core);

	return job && !one_in(maker, 20) ? job->id : below(maker, berth_core_next_job(core) + 2);
}

static uint32_t some_device_id(struct stream_maker *maker, const struct berth_core *core)
{
	size_t n = berth_core_device_count(core);

	return n ? berth_core_device_at(core, below(maker, n))->id : 1;
}

static uint64_t some_limit(struct stream_maker *maker)
{
	const uint64_t minutes[] = { 1, 5, 10, 60, 600 };

	return one_in(maker, 12) ? UINT64_MAX : PICK(maker, minutes) * 60000;
}

static struct berth_request some_request(struct stream_maker *maker)
{
	const uint32_t gpus[] = { 0, 1, 1, 1, 2, 2, 3, 4, 6, 8 };
	struct berth_request request = { .gpus = PICK(maker, gpus), .limit_ms = some_limit(maker), .gpu_model = "" };

	if (one_in(maker, 4))
		request.gpu_mem_bytes = (1 + below(maker, 3)) * 16;
	if (one_in(maker, 6))
		request.gpu_model = PICK(maker, models);
	if (one_in(maker, 8))
		request.index_mask = below(maker, 256);
	return request;
}

/* --- what happens -------------------------------------------------------------------------------------------- */

static void make_device(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	const uint64_t mem_bytes[] = { 0, 16, 32, 32, 48 };
	const char *uuid = PICK(maker, uuids);
	const struct berth_device *known = berth_core_device_by_uuid(core, uuid);

	if (!berth_core_node(core, 1) || one_in(maker, 6)) {
		berth_fact_init(fact, BERTH_FACT_NODE_SEEN);
		fact->u.node = (struct berth_fact_node){ 1 + (uint32_t)below(maker, berth_core_node(core, 1) ? 3 : 1),
			                                 "node" };
		return;
	}
	berth_fact_init(fact, BERTH_FACT_DEVICE_SEEN);
	fact->u.device = (struct berth_fact_device){
		.device = known ? known->id : berth_core_next_device(core) + (uint32_t)below(maker, 3),
		.node = known && !one_in(maker, 20) ? known->node : 1 + (uint32_t)below(maker, 3),
		.index = (uint32_t)below(maker, 9),
		.uuid = uuid,
		.kind = "gpu",
		.model = PICK(maker, models),
		.mem_bytes = PICK(maker, mem_bytes),
	};
}

static void make_trouble(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	if (one_in(maker, 2)) {
		const enum berth_health health[] = { BERTH_HEALTH_UNKNOWN, BERTH_HEALTH_OK, BERTH_HEALTH_OK,
			                             BERTH_HEALTH_OK, BERTH_HEALTH_LOST };

		berth_fact_init(fact, BERTH_FACT_DEVICE_HEALTH);
		fact->u.health = (struct berth_fact_device_health){ some_device_id(maker, core), PICK(maker, health) };
		return;
	}
	berth_fact_init(fact, BERTH_FACT_DEVICE_DRAIN);
	fact->u.drain = (struct berth_fact_device_drain){ some_device_id(maker, core), one_in(maker, 3), "op", "fan" };
}

static void make_policy(struct stream_maker *maker, struct berth_fact *fact)
{
	const uint64_t times[] = { 0, 1, 1000, 10000, 600000, UINT64_MAX };

	berth_fact_init(fact, BERTH_FACT_POLICY_SET);
	fact->u.policy = (struct berth_fact_policy){ PICK(maker, times), PICK(maker, times), 1 + below(maker, 600000) };
}

static void make_submit(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	berth_fact_init(fact, BERTH_FACT_JOB_SUBMITTED);
	fact->u.submit = (struct berth_fact_submit){
		.job = berth_core_next_job(core) + (one_in(maker, 30) ? 3 : 0),
		.uid = 1000,
		.user = "ann",
		.name = PICK(maker, names),
		.spec = PICK(maker, names),
		.request = some_request(maker),
		.tier = (enum berth_tier)below(maker, BERTH_TIER_COUNT),
		.is_held = one_in(maker, 12),
		.begin_ms = one_in(maker, 8) ? maker->now_ms + below(maker, 120000) : 0,
		.grace_ms = below(maker, 4) * 10000,
		.requeue_max = (uint32_t)below(maker, 3),
	};
}

static void make_alter(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	berth_fact_init(fact, BERTH_FACT_JOB_ALTERED);
	fact->u.alter = (struct berth_fact_alter){
		.job = some_job_id(maker, core),
		.fields = 1u << below(maker, 10) | 1u << below(maker, 10),
		.by = "ann",
		.name = PICK(maker, names),
		.tier = (enum berth_tier)below(maker, BERTH_TIER_COUNT),
		.begin_ms = maker->now_ms + below(maker, 60000),
		.grace_ms = below(maker, 60000),
		.requeue_max = (uint32_t)below(maker, 3),
		.request = some_request(maker),
	};
}

static void make_wish(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	const enum berth_fact_kind wishes[] = { BERTH_FACT_JOB_CANCEL_ASKED, BERTH_FACT_JOB_CANCEL_ASKED,
		                                BERTH_FACT_JOB_HELD,         BERTH_FACT_JOB_RELEASED,
		                                BERTH_FACT_JOB_RELEASED,     BERTH_FACT_JOB_REQUEUE_ASKED };

	berth_fact_init(fact, PICK(maker, wishes));
	fact->u.job = (struct berth_fact_job){ some_job_id(maker, core), "ann" };
}

static void make_end(struct stream_maker *maker, struct berth_fact *fact, uint64_t job, uint32_t attempt)
{
	const enum berth_reason_code ways[] = { BERTH_REASON_NONE,
		                                BERTH_REASON_NONE,
		                                BERTH_REASON_NONE,
		                                BERTH_REASON_NONE,
		                                BERTH_REASON_EXIT_CODE_UNKNOWN,
		                                BERTH_REASON_OUT_OF_MEMORY,
		                                BERTH_REASON_OUTPUT_FAILED,
		                                BERTH_REASON_EXEC_FAILED };

	berth_fact_init(fact, BERTH_FACT_ATTEMPT_ENDED);
	fact->u.ended = (struct berth_fact_ended){
		.job = job,
		.attempt = attempt,
		.exit_code = one_in(maker, 2) ? 0 : (int32_t)below(maker, 4),
		.signal = one_in(maker, 6) ? 9 : 0,
		.cause = one_in(maker, 3) ? (enum berth_stop_cause)below(maker, BERTH_STOP_CAUSE_COUNT)
		                          : BERTH_STOP_NONE,
		.how = PICK(maker, ways),
		.is_done = one_in(maker, 5),
		.started_ms = one_in(maker, 4) ? 0 : maker->now_ms - below(maker, 1000),
		.ended_ms = maker->now_ms + below(maker, 1000) - 500,
	};
	if (fact->u.ended.how == BERTH_REASON_EXIT_CODE_UNKNOWN)
		fact->u.ended.exit_code = -1;
}

/* Mostly about an attempt that is under way, sometimes about one reported on long ago, or one that was never made. */
static void make_report(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	const struct berth_job *job = live_job(maker, core);
	uint64_t id = job && !one_in(maker, 8) ? job->id : maker->late_job;
	uint32_t attempt = job && id == job->id ? job->attempt : maker->late_attempt;

	if (one_in(maker, 25))
		attempt += (uint32_t)below(maker, 3) - 1;
	maker->late_job = id;
	maker->late_attempt = attempt;
	if (one_in(maker, 10)) {
		berth_fact_init(fact, BERTH_FACT_ATTEMPT_REFUSED);
		fact->u.refused = (struct berth_fact_refused){ id, attempt, 12 };
	} else if (job && job->state == BERTH_JOB_STARTING && !one_in(maker, 4)) {
		berth_fact_init(fact, BERTH_FACT_ATTEMPT_STARTED);
		fact->u.started = (struct berth_fact_started){ id, attempt, 4711 };
	} else if (maker->is_slow && !one_in(maker, 4)) {
		make_submit(maker, core, fact);
	} else {
		make_end(maker, fact, id, attempt);
	}
}

static uint64_t noise_number(struct stream_maker *maker)
{
	const uint64_t shift = below(maker, 64);

	return one_in(maker, 3)   ? below(maker, 20)
	       : one_in(maker, 3) ? UINT64_MAX - below(maker, 3)
	                          : random_next(&maker->random) >> shift;
}

static void make_noise_field(struct stream_maker *maker, const struct berth_field *field, void *at)
{
	struct berth_share_set *set = at;

	switch (field->type) {
	case BERTH_FIELD_U64:
		*(uint64_t *)at = noise_number(maker);
		break;
	case BERTH_FIELD_U32:
	case BERTH_FIELD_I32:
		*(uint32_t *)at = (uint32_t)noise_number(maker);
		break;
	case BERTH_FIELD_ENUM:
		*(uint32_t *)at = (uint32_t)(one_in(maker, 10) ? noise_number(maker) : below(maker, field->n_names));
		break;
	case BERTH_FIELD_BOOL:
		*(bool *)at = one_in(maker, 2);
		break;
	case BERTH_FIELD_STR:
		*(const char **)at = one_in(maker, 2) ? PICK(maker, uuids) : PICK(maker, models);
		if (one_in(maker, 30))
			*(const char **)at = NULL;
		break;
	case BERTH_FIELD_SHARES:
		set->n = one_in(maker, 10) ? (uint32_t)noise_number(maker) : (uint32_t)below(maker, 4);
		for (uint32_t i = 0; i < BERTH_NODE_DEVICES_MAX; i++)
			set->share[i].device = one_in(maker, 10) ? (uint32_t)noise_number(maker)
			                                         : 1 + i + (uint32_t)below(maker, 2);
		break;
	case BERTH_FIELD_END:
		break;
	}
}

/* A fact of noise, or a sensible one with one field of noise. */
static void make_noise(struct stream_maker *maker, struct berth_fact *fact)
{
	bool is_whole = fact->kind == BERTH_FACT_UNKNOWN;
	const struct berth_fact_shape *shape;
	size_t n = 0, only;

	if (is_whole)
		berth_fact_init(fact, (enum berth_fact_kind)below(maker, BERTH_FACT_COUNT + 1));
	shape = berth_fact_shape(fact->kind);
	while (shape && shape->fields[n].type != BERTH_FIELD_END)
		n++;
	only = n ? below(maker, n) : 0;
	for (size_t i = 0; i < n; i++) {
		if (is_whole || i == only)
			make_noise_field(maker, &shape->fields[i], (char *)fact + shape->fields[i].offset);
	}
	/* A next id at the end of the numbers would end the story; the unit tests have that. */
	if (fact->kind == BERTH_FACT_COUNTERS)
		fact->u.counters = (struct berth_fact_counters){ below(maker, 100), (uint32_t)below(maker, 100) };
	/* The oracle looks at the first nodes only. */
	if (fact->kind == BERTH_FACT_NODE_SEEN && fact->u.node.node > 20)
		fact->u.node.node = (uint32_t)below(maker, 20);
	if (fact->kind == BERTH_FACT_JOB_IMAGE && fact->u.image.id > 1u << 14)
		fact->u.image.id = below(maker, 1000);
	if (fact->kind == BERTH_FACT_JOB_SUBMITTED && fact->u.submit.job > 1u << 14)
		fact->u.submit.job = below(maker, 1000);
}

static void make_fact(struct stream_maker *maker, const struct berth_core *core, struct berth_fact *fact)
{
	uint64_t dice = below(maker, 100);

	*fact = (struct berth_fact){ 0 };
	if (maker->is_hostile && dice < 10) {
		make_noise(maker, fact);
		return;
	}
	if (berth_core_device_count(core) < 3 || dice < 14)
		make_device(maker, core, fact);
	else if (dice < 20)
		make_trouble(maker, core, fact);
	else if (dice < 21)
		make_policy(maker, fact);
	else if (dice < 50 && berth_core_job_count(core) < 120)
		make_submit(maker, core, fact);
	else if (dice < 58)
		make_wish(maker, core, fact);
	else if (dice < 63)
		make_alter(maker, core, fact);
	else
		make_report(maker, core, fact);
	if (maker->is_hostile && one_in(maker, 10))
		make_noise(maker, fact);
}

struct step stream_next(struct stream_maker *maker, const struct berth_core *core)
{
	struct step step = { .kind = STEP_FACT };
	uint64_t dice = below(maker, 100);

	if (one_in(maker, 3))
		maker->now_ms += one_in(maker, 6) ? below(maker, 120000) : below(maker, 2000);
	step.now_ms = maker->now_ms;
	if (dice < 30) {
		step.kind = STEP_DECIDE;
	} else if (dice == 30) {
		step.kind = STEP_RESTART;
	} else if (dice < 33) {
		step.kind = STEP_ASK;
		step.pick = random_next(&maker->random);
		step.job = any_job(maker, core) ? any_job(maker, core)->id : 0;
	} else {
		make_fact(maker, core, &step.fact);
		step.fact.at_ms = step.now_ms;
	}
	return step;
}

/* --- for people ------------------------------------------------------------------------------------------------ */

static void print_field(const struct berth_field *field, const void *at)
{
	const struct berth_share_set *set = at;
	const char *s;
	uint32_t number;

	switch (field->type) {
	case BERTH_FIELD_U64:
		printf(" %s=%" PRIu64, field->name, *(const uint64_t *)at);
		break;
	case BERTH_FIELD_U32:
		printf(" %s=%" PRIu32, field->name, *(const uint32_t *)at);
		break;
	case BERTH_FIELD_I32:
		printf(" %s=%" PRId32, field->name, *(const int32_t *)at);
		break;
	case BERTH_FIELD_BOOL:
		printf(" %s=%d", field->name, *(const bool *)at);
		break;
	case BERTH_FIELD_STR:
		s = *(const char *const *)at;
		printf(s ? " %s=\"%s\"" : " %s=%s", field->name, s ? s : "NULL");
		break;
	case BERTH_FIELD_ENUM:
		number = *(const uint32_t *)at;
		printf(" %s=%s(%" PRIu32 ")", field->name, number < field->n_names ? field->names[number] : "?",
		       number);
		break;
	case BERTH_FIELD_SHARES:
		printf(" %s=[", field->name);
		for (uint32_t i = 0; i < set->n && i < BERTH_NODE_DEVICES_MAX; i++)
			printf("%s%" PRIu32, i ? " " : "", set->share[i].device);
		printf("]/%" PRIu32, set->n);
		break;
	case BERTH_FIELD_END:
		break;
	}
}

void stream_print(const struct step *step)
{
	static const char *const kinds[] = { "fact", "decide", "restart", "ask" };
	const struct berth_fact_shape *shape = berth_fact_shape(step->fact.kind);

	printf("  %" PRIu64 " %s", step->now_ms, kinds[step->kind]);
	if (step->kind == STEP_ASK)
		printf(" about job %" PRIu64 ", pick=%" PRIu64, step->job, step->pick);
	if (step->kind == STEP_FACT) {
		printf(" %s", shape ? shape->name : "of no known kind");
		for (const struct berth_field *field = shape ? shape->fields : NULL;
		     field && field->type != BERTH_FIELD_END; field++)
			print_field(field, (const char *)&step->fact + field->offset);
	}
	printf("\n");
}
