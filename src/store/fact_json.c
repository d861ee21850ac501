#include "store/fact_json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <jansson.h>
#include "store/clean.h"
#include "store/store.h"

/* --- writing --------------------------------------------------------------------------------------------- */

static void add_digits(struct berth_text *text, uint64_t number)
{
	char buf[20];
	size_t at = sizeof(buf);

	do {
		buf[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	berth_text_add_n(text, buf + at, sizeof(buf) - at);
}

static void add_u64(struct berth_text *text, uint64_t number)
{
	const bool is_wide = number > INT64_MAX;

	if (is_wide)
		berth_text_add_n(text, "\"", 1);
	add_digits(text, number);
	if (is_wide)
		berth_text_add_n(text, "\"", 1);
}

static void add_i32(struct berth_text *text, int32_t number)
{
	if (number < 0)
		berth_text_add_n(text, "-", 1);
	add_digits(text, (uint64_t)(number < 0 ? -(int64_t)number : number));
}

/* One character that JSON wants escaped, or the first byte of something that is no UTF-8. */
static void add_special(struct berth_text *text, char c)
{
	if (c == '"' || c == '\\')
		berth_text_addf(text, "\\%c", c);
	else if ((unsigned char)c < 0x20)
		berth_text_addf(text, "\\u%04x", (unsigned)c);
	else
		berth_text_add_n(text, "?", 1);
}

static void add_string(struct berth_text *text, const char *s)
{
	const bool is_valid = berth_utf8_is_valid(s, strlen(s));
	const char *plain = s;

	berth_text_add_n(text, "\"", 1);
	while (*s) {
		const bool is_special = *s == '"' || *s == '\\' || (unsigned char)*s < 0x20;
		size_t step = is_valid ? 1 : berth_clean_step(s);

		if (is_special || step == 0) {
			berth_text_add_n(text, plain, (size_t)(s - plain));
			add_special(text, *s);
			plain = s + 1;
		}
		s += step ? step : 1;
	}
	berth_text_add_n(text, plain, (size_t)(s - plain));
	berth_text_add_n(text, "\"", 1);
}

static void add_shares(struct berth_text *text, const struct berth_share_set *set)
{
	berth_text_add_n(text, "[", 1);
	for (uint32_t i = 0; i < set->n && i < BERTH_NODE_DEVICES_MAX; i++) {
		if (i > 0)
			berth_text_add_n(text, ",", 1);
		add_digits(text, set->share[i].device);
	}
	berth_text_add_n(text, "]", 1);
}

static void add_enum(struct berth_text *text, const struct berth_field *field, uint32_t value)
{
	/* A value without a name is a defect of its maker; its number makes the row unreadable rather than wrong. */
	if (value < field->n_names && field->names[value])
		add_string(text, field->names[value]);
	else
		add_digits(text, value);
}

static void add_value(struct berth_text *text, const struct berth_field *field, const void *at)
{
	switch (field->type) {
	case BERTH_FIELD_U64:
		add_u64(text, *(const uint64_t *)at);
		break;
	case BERTH_FIELD_U32:
		add_digits(text, *(const uint32_t *)at);
		break;
	case BERTH_FIELD_I32:
		add_i32(text, *(const int32_t *)at);
		break;
	case BERTH_FIELD_BOOL:
		berth_text_add(text, *(const bool *)at ? "true" : "false");
		break;
	case BERTH_FIELD_STR:
		add_string(text, *(const char *const *)at);
		break;
	case BERTH_FIELD_ENUM:
		add_enum(text, field, *(const uint32_t *)at);
		break;
	case BERTH_FIELD_SHARES:
		add_shares(text, at);
		break;
	case BERTH_FIELD_END:
		break;
	}
}

static bool is_zero(const struct berth_field *field, const void *at)
{
	switch (field->type) {
	case BERTH_FIELD_U64:
		return *(const uint64_t *)at == 0;
	case BERTH_FIELD_U32:
	case BERTH_FIELD_I32:
	case BERTH_FIELD_ENUM:
		return *(const uint32_t *)at == 0;
	case BERTH_FIELD_BOOL:
		return !*(const bool *)at;
	case BERTH_FIELD_STR:
		return **(const char *const *)at == '\0';
	case BERTH_FIELD_SHARES:
		return ((const struct berth_share_set *)at)->n == 0;
	case BERTH_FIELD_END:
		break;
	}
	return false;
}

void berth_fact_json_write(const struct berth_fact *fact, struct berth_text *text)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);
	const bool is_sparse = fact->kind == BERTH_FACT_JOB_IMAGE;
	const char *before = "{\"";

	if (!shape) {
		text->is_failed = true;
		return;
	}
	for (const struct berth_field *field = shape->fields; field->type != BERTH_FIELD_END; field++) {
		const void *at = (const char *)fact + field->offset;

		if (is_sparse && is_zero(field, at))
			continue;
		berth_text_add(text, before);
		berth_text_add(text, field->name);
		berth_text_add_n(text, "\":", 2);
		add_value(text, field, at);
		before = ",\"";
	}
	berth_text_add(text, *before == '{' ? "{}" : "}");
}

char *berth_fact_to_json(const struct berth_fact *fact)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_fact_json_write(fact, &text);
	return text.is_failed ? NULL : BERTH_TAKE(text.at);
}

/* --- reading --------------------------------------------------------------------------------------------- */

struct reader {
	const char *kind;
	struct berth_arena *arena;
	struct berth_error *err;
};

static void release(json_t **json)
{
	json_decref(*json);
}

static int refuse(const struct reader *reader, const struct berth_field *field, const char *wanted)
{
	return berth_error_set(reader->err, -EBADMSG, "the field \"%s\" of a %s is no %s", field->name, reader->kind,
	                       wanted);
}

/* Digits only, as add_u64 writes them. */
static bool parse_digits(const char *s, uint64_t *ret)
{
	uint64_t number = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*s - '0'), &number))
			return false;
	}
	*ret = number;
	return true;
}

static bool read_u64(const json_t *json, uint64_t *ret)
{
	if (json_is_string(json))
		return parse_digits(json_string_value(json), ret);
	if (!json_is_integer(json) || json_integer_value(json) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(json);
	return true;
}

static bool read_u32(const json_t *json, uint32_t *ret)
{
	if (!json_is_integer(json) || json_integer_value(json) < 0 || json_integer_value(json) > UINT32_MAX)
		return false;
	*ret = (uint32_t)json_integer_value(json);
	return true;
}

static bool read_i32(const json_t *json, int32_t *ret)
{
	if (!json_is_integer(json) || json_integer_value(json) < INT32_MIN || json_integer_value(json) > INT32_MAX)
		return false;
	*ret = (int32_t)json_integer_value(json);
	return true;
}

static bool read_enum(const json_t *json, const struct berth_field *field, uint32_t *ret)
{
	const char *name = json_string_value(json);

	for (uint32_t i = 0; name && i < field->n_names; i++) {
		if (field->names[i] && strcmp(field->names[i], name) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static bool read_shares(const json_t *json, struct berth_share_set *ret)
{
	struct berth_share_set set = {0};

	if (!json_is_array(json) || json_array_size(json) > BERTH_NODE_DEVICES_MAX)
		return false;
	set.n = (uint32_t)json_array_size(json);
	for (uint32_t i = 0; i < set.n; i++) {
		if (!read_u32(json_array_get(json, i), &set.share[i].device))
			return false;
	}
	*ret = set;
	return true;
}

static int read_string(const struct reader *reader, const struct berth_field *field, const json_t *json,
                       const char **ret)
{
	char *copy;

	if (!json_is_string(json))
		return refuse(reader, field, "text");
	copy = berth_arena_strdup(reader->arena, json_string_value(json));
	if (!copy)
		return berth_error_set(reader->err, -ENOMEM, "no memory to read a %s", reader->kind);
	*ret = copy;
	return 0;
}

static int read_field(const struct reader *reader, const struct berth_field *field, const json_t *json, void *at)
{
	switch (field->type) {
	case BERTH_FIELD_U64:
		return read_u64(json, at) ? 0 : refuse(reader, field, "whole number of 64 bits");
	case BERTH_FIELD_U32:
		return read_u32(json, at) ? 0 : refuse(reader, field, "whole number of 32 bits");
	case BERTH_FIELD_I32:
		return read_i32(json, at) ? 0 : refuse(reader, field, "signed number of 32 bits");
	case BERTH_FIELD_BOOL:
		if (!json_is_boolean(json))
			return refuse(reader, field, "true or false");
		*(bool *)at = json_is_true(json);
		return 0;
	case BERTH_FIELD_STR:
		return read_string(reader, field, json, at);
	case BERTH_FIELD_ENUM:
		return read_enum(json, field, at) ? 0 : refuse(reader, field, "word that this version knows");
	case BERTH_FIELD_SHARES:
		return read_shares(json, at) ? 0 : refuse(reader, field, "list of device ids");
	case BERTH_FIELD_END:
		break;
	}
	return 0;
}

int berth_fact_from_json(struct berth_fact *fact, const char *json, struct berth_arena *arena, struct berth_error *err)
{
	const struct berth_fact_shape *shape = berth_fact_shape(fact->kind);
	const uint64_t seq = fact->seq, at_ms = fact->at_ms;
	struct reader reader = {.arena = arena, .err = err};
	json_error_t where;
	__attribute__((cleanup(release))) json_t *root = NULL;

	if (!shape)
		return berth_error_set(err, -EBADMSG, "a fact of an unknown kind, %u", (unsigned)fact->kind);
	reader.kind = shape->name;
	root = json_loads(json, JSON_REJECT_DUPLICATES, &where);
	if (!json_is_object(root))
		return berth_error_set(err, -EBADMSG, "a %s is no JSON object: byte %d: %s", shape->name,
		                       root ? 0 : where.position, root ? "another kind of value" : where.text);
	berth_fact_init(fact, fact->kind);
	fact->seq = seq;
	fact->at_ms = at_ms;
	for (const struct berth_field *field = shape->fields; field->type != BERTH_FIELD_END; field++) {
		const json_t *value = json_object_get(root, field->name);
		int r = value ? read_field(&reader, field, value, (char *)fact + field->offset) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}
