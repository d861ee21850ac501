#include <errno.h>
#include <string.h>
#include <yaml.h>
#include "base/text.h"
#include "base/units.h"
#include "device/sim/fleet.h"

/* What the functions below read; lives for one parse. */
struct reader {
	yaml_document_t document;
	const char *name; /* of the file, for messages */
	struct berth_error *err;
};

static int refuse(struct reader *reader, const yaml_node_t *node, const char *what)
{
	return berth_error_set(reader->err, -EINVAL, "%s:%zu:%zu: %s", reader->name, node->start_mark.line + 1,
	                       node->start_mark.column + 1, what);
}

static int refuse_key(struct reader *reader, const yaml_node_t *key, const char *const *known)
{
	const char *word = key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : "";
	const char *near = berth_text_nearest(word, known);
	BERTH_AUTO_TEXT struct berth_text text = {0};

	berth_text_addf(&text, "unknown key '%s'; %s '%s'", word, near ? "did you mean" : "known is",
	                near ? near : known[0]);
	return refuse(reader, key, text.is_failed ? "unknown key" : berth_text_str(&text));
}

/* The text of a scalar, NULL for anything else or for one with a NUL inside. */
static const char *scalar(const yaml_node_t *node)
{
	if (node->type != YAML_SCALAR_NODE || strlen((const char *)node->data.scalar.value) != node->data.scalar.length)
		return NULL;
	return (const char *)node->data.scalar.value;
}

/* {model: A100-80GB, count: 8} */
static int read_group(struct reader *reader, const yaml_node_t *node, struct berth_sim_fleet *fleet)
{
	static const char *const known[] = {"model", "count", NULL};
	const yaml_node_t *model = NULL;
	struct berth_error why;
	uint64_t n = 1;
	int r;

	if (node->type != YAML_MAPPING_NODE)
		return refuse(reader, node, "a group of cards is written {model: A100-80GB, count: 8}");
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
	     pair++) {
		const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
		const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);

		if (!scalar(key) || (strcmp(scalar(key), known[0]) != 0 && strcmp(scalar(key), known[1]) != 0))
			return refuse_key(reader, key, known);
		if (!scalar(value))
			return refuse(reader, value, "one value belongs here, not a list or a mapping");
		if (strcmp(scalar(key), "model") == 0) {
			model = value;
			continue;
		}
		r = berth_number_parse(scalar(value), "count", 1, BERTH_SIM_CARDS_MAX, &n, &why);
		if (r < 0)
			return refuse(reader, value, why.text);
	}
	if (!model)
		return refuse(reader, node, "model is missing");
	r = berth_sim_fleet_add(fleet, scalar(model), n, &why);
	return r < 0 ? refuse(reader, model, why.text) : 0;
}

static int read_groups(struct reader *reader, const yaml_node_t *node, struct berth_sim_fleet *fleet)
{
	int r;

	if (node->type != YAML_SEQUENCE_NODE || node->data.sequence.items.start == node->data.sequence.items.top)
		return refuse(reader, node, "devices is a list: [{model: A100-80GB, count: 8}]");
	for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
	     item++) {
		r = read_group(reader, yaml_document_get_node(&reader->document, *item), fleet);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_root(struct reader *reader, struct berth_sim_fleet *ret)
{
	static const char *const known[] = {"devices", NULL};
	const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
	struct berth_sim_fleet fleet = {0};
	int r;

	if (!root)
		return berth_error_set(reader->err, -EINVAL,
		                       "%s: is empty; it needs devices: [{model: A100-80GB, count: 8}]", reader->name);
	if (root->type != YAML_MAPPING_NODE || root->data.mapping.pairs.start == root->data.mapping.pairs.top)
		return refuse(reader, root, "the file needs devices: [{model: A100-80GB, count: 8}]");
	for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top;
	     pair++) {
		const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);

		if (!scalar(key) || strcmp(scalar(key), known[0]) != 0)
			return refuse_key(reader, key, known);
		r = read_groups(reader, yaml_document_get_node(&reader->document, pair->value), &fleet);
		if (r < 0)
			return r;
	}
	*ret = fleet;
	return 0;
}

int berth_sim_fleet_parse_yaml(const char *text, size_t len, const char *name, struct berth_sim_fleet *ret,
                               struct berth_error *err)
{
	struct reader reader = {.name = name, .err = err};
	yaml_parser_t parser;
	int r;

	if (!yaml_parser_initialize(&parser))
		return berth_error_set(err, -ENOMEM, "%s: memory is out", name);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &reader.document)) {
		r = berth_error_set(err, parser.error == YAML_MEMORY_ERROR ? -ENOMEM : -EINVAL, "%s:%zu:%zu: %s", name,
		                    parser.problem_mark.line + 1, parser.problem_mark.column + 1,
		                    parser.problem ? parser.problem : "is no YAML");
	} else {
		r = read_root(&reader, ret);
		yaml_document_delete(&reader.document);
	}
	yaml_parser_delete(&parser);
	return r;
}
