/* Reading the configuration file: from YAML to the table's keys, with every fault at its line and column. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>
#include "base/file.h"
#include "daemon/config.h"

#define FILE_BYTES_MAX (1u << 20)
#define NAMES_MAX (BERTH_CONFIG_KEYS + 1)

struct reader {
	const char *file;
	struct berth_config *config;
	struct berth_text *complaints;
	yaml_document_t *document;
	bool is_bad;
};

static void complain(struct reader *reader, size_t line, size_t column, const char *text)
{
	reader->is_bad = true;
	berth_text_addf(reader->complaints, "%s:%zu:%zu: error: %s\n", reader->file, line, column, text);
}

static void complain_at(struct reader *reader, const yaml_node_t *node, const char *text)
{
	complain(reader, node->start_mark.line + 1, node->start_mark.column + 1, text);
}

static const char *scalar(const yaml_node_t *node)
{
	return (const char *)node->data.scalar.value;
}

/* A scalar without NUL inside, else NULL and a complaint. */
static const char *read_scalar(struct reader *reader, const yaml_node_t *node, const char *what)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	if (node->type == YAML_SCALAR_NODE && strlen(scalar(node)) == node->data.scalar.length)
		return scalar(node);
	berth_text_addf(&text, "%s must be a plain word or number", what);
	complain_at(reader, node, berth_text_str(&text));
	return NULL;
}

/* Nothing after the colon: all below a section is commented out, perhaps. */
static bool is_null(const yaml_node_t *node)
{
	return node->type == YAML_SCALAR_NODE && node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       (node->data.scalar.length == 0 || strcmp(scalar(node), "~") == 0 || strcmp(scalar(node), "null") == 0);
}

/* Length of the section in "limits.max_time", its dot included; 0 for a key at the top. */
static size_t section_len(const char *path)
{
	const char *dot = strchr(path, '.');

	return dot ? (size_t)(dot - path) + 1 : 0;
}

/* The key whose path is section and name; section is "" or ends in a dot. -1 when there is none. */
static int find_key(const char *section, const char *name)
{
	size_t n = strlen(section);

	for (int key = 0; key < BERTH_CONFIG_KEYS; key++) {
		const char *path = berth_config_keys[key].path;

		if (section_len(path) == n && strncmp(path, section, n) == 0 && strcmp(path + n, name) == 0)
			return key;
	}
	return -1;
}

static bool is_section(const char *name)
{
	size_t n = strlen(name);

	for (int key = 0; n > 0 && key < BERTH_CONFIG_KEYS; key++)
		if (section_len(berth_config_keys[key].path) == n + 1 &&
		    strncmp(berth_config_keys[key].path, name, n) == 0)
			return true;
	return false;
}

/* Names that may stand in a section ("" = the top, where sections are names too), once each, and NULL. Buffers hold
 * cut-out section names. */
static void names_in(const char *section, char buffers[NAMES_MAX][32], const char *ret[NAMES_MAX])
{
	size_t n = strlen(section), count = 0;

	for (int key = 0; key < BERTH_CONFIG_KEYS; key++) {
		const char *path = berth_config_keys[key].path;
		size_t own = section_len(path);
		int len;

		if (n > 0 && (own != n || strncmp(path, section, n) != 0))
			continue;
		len = n == 0 && own > 0 ? (int)own - 1 : (int)strlen(path + n);
		(void)snprintf(buffers[count], sizeof(buffers[count]), "%.*s", len, path + n);
		if (count == 0 || strcmp(buffers[count - 1], buffers[count]) != 0) {
			ret[count] = buffers[count];
			count++;
		}
	}
	ret[count] = NULL;
}

/* The whole path of the key whose last name is nearest, wherever it stands; NULL when none is near. */
static const char *nearest_anywhere(const char *name)
{
	const char *list[NAMES_MAX] = {0};
	const char *near;

	for (int key = 0; key < BERTH_CONFIG_KEYS; key++)
		list[key] = berth_config_keys[key].path + section_len(berth_config_keys[key].path);
	near = berth_text_nearest(name, list);
	for (int key = 0; near && key < BERTH_CONFIG_KEYS; key++)
		if (list[key] == near)
			return berth_config_keys[key].path;
	return NULL;
}

static void complain_unknown(struct reader *reader, const yaml_node_t *node, const char *section, const char *name)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_FREE char *shown = berth_utf8_printable(name, 60);
	char buffers[NAMES_MAX][32];
	const char *names[NAMES_MAX];
	const char *near;

	names_in(section, buffers, names);
	near = berth_text_nearest(name, names);
	berth_text_addf(&text, "unknown key \"%s%s\"", section, shown ? shown : "");
	if (near)
		berth_text_addf(&text, "; did you mean \"%s%s\"?", section, near);
	else if (nearest_anywhere(name))
		berth_text_addf(&text, "; did you mean \"%s\"?", nearest_anywhere(name));
	else
		for (size_t i = 0; names[i]; i++)
			berth_text_addf(&text, "%s%s", i ? ", " : "; known here: ", names[i]);
	complain_at(reader, node, berth_text_str(&text));
}

static void read_cards(struct reader *reader, const yaml_node_t *list)
{
	struct berth_cards cards = {0};

	if (list->data.sequence.items.start == list->data.sequence.items.top)
		complain_at(reader, list, "cards lists no card; leave the key out for all of them");
	for (const yaml_node_item_t *item = list->data.sequence.items.start; item < list->data.sequence.items.top;
	     item++) {
		const yaml_node_t *node = yaml_document_get_node(reader->document, *item);
		const char *text = read_scalar(reader, node, "an item of cards");
		struct berth_error err = {0};

		if (text && berth_cards_add(&cards, text, &err) < 0)
			complain_at(reader, node, err.text);
	}
	reader->config->cards = cards;
}

static void read_value(struct reader *reader, int key, const yaml_node_t *node)
{
	const struct berth_config_entry *entry = &berth_config_keys[key];
	struct berth_origin origin = {BERTH_ORIGIN_FILE, (uint32_t)node->start_mark.line + 1,
	                              (uint32_t)node->start_mark.column + 1};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_error err = {0};
	struct berth_config checked = *reader->config;
	bool is_overridden = reader->config->origin[key].kind == BERTH_ORIGIN_COMMAND_LINE;
	const char *value;

	if (entry->type == BERTH_TYPE_CARDS && node->type == YAML_SEQUENCE_NODE) {
		read_cards(reader, node);
		reader->config->origin[key] = origin;
		return;
	}
	if (is_null(node)) {
		berth_text_addf(&text, "%s has no value", entry->path);
		complain_at(reader, node, berth_text_str(&text));
		return;
	}
	value = read_scalar(reader, node, entry->path);
	if (!value)
		return;
	/* checked even when the command line wins: a fault would show at the next start otherwise */
	if (berth_config_set(is_overridden ? &checked : reader->config, key, value, origin, &err) < 0) {
		berth_text_addf(&text, "%s: %s", entry->path, err.text);
		complain_at(reader, node, berth_text_str(&text));
	}
}

static void read_mapping(struct reader *reader, const char *section, const yaml_node_t *map);

/* One "name: value" of a section ("" = the top). */
static void read_pair(struct reader *reader, const char *section, const yaml_node_t *name_node,
                      const yaml_node_t *value)
{
	const char *name = read_scalar(reader, name_node, "a key");
	char inner[40];
	int key = name ? find_key(section, name) : -1;

	if (!name)
		return;
	if (key >= 0) {
		read_value(reader, key, value);
		return;
	}
	if (section[0] || !is_section(name)) {
		complain_unknown(reader, name_node, section, name);
		return;
	}
	(void)snprintf(inner, sizeof(inner), "%s.", name);
	if (value->type == YAML_MAPPING_NODE)
		read_mapping(reader, inner, value);
	else if (!is_null(value))
		complain_at(reader, value, "this key is a section: put its keys below it, indented, or in {…}");
}

/* Did an equal key stand earlier in this mapping? Its line, 0 = no. */
static size_t line_of_earlier(struct reader *reader, const yaml_node_t *map, const yaml_node_pair_t *pair)
{
	const yaml_node_t *node = yaml_document_get_node(reader->document, pair->key);

	for (const yaml_node_pair_t *other = map->data.mapping.pairs.start; other < pair; other++) {
		const yaml_node_t *earlier = yaml_document_get_node(reader->document, other->key);

		if (node->type == YAML_SCALAR_NODE && earlier->type == YAML_SCALAR_NODE &&
		    strcmp(scalar(node), scalar(earlier)) == 0)
			return earlier->start_mark.line + 1;
	}
	return 0;
}

static void read_mapping(struct reader *reader, const char *section, const yaml_node_t *map)
{
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start; pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = yaml_document_get_node(reader->document, pair->key);
		size_t earlier = line_of_earlier(reader, map, pair);
		char text[128];

		if (earlier == 0) {
			read_pair(reader, section, name, yaml_document_get_node(reader->document, pair->value));
			continue;
		}
		(void)snprintf(text, sizeof(text), "the key \"%s%.40s\" stands already in line %zu", section,
		               scalar(name), earlier);
		complain_at(reader, name, text);
	}
}

/* Faults that show only when all values are known. */
static void check_together(struct reader *reader)
{
	const struct berth_config *config = reader->config;
	const struct berth_origin *time = &config->origin[BERTH_KEY_DEFAULT_TIME],
				  *first = &config->origin[BERTH_KEY_BACKOFF_FIRST];
	const struct berth_origin *at;

	if (reader->is_bad)
		return;
	if (time->kind == BERTH_ORIGIN_FILE && config->default_limit_ms > config->max_limit_ms)
		complain(
			reader, time->line, time->column,
			"defaults.time is longer than limits.max_time: a job that names no limit could never be taken");
	at = first->kind == BERTH_ORIGIN_FILE ? first : &config->origin[BERTH_KEY_BACKOFF_MAX];
	if (config->backoff_first_ms > config->backoff_max_ms)
		complain(reader, at->line, at->column, "backoff.first is longer than backoff.max");
}

static void complain_syntax(struct reader *reader, const yaml_parser_t *parser, const char *text, size_t len)
{
	BERTH_AUTO_TEXT struct berth_text words = {0};
	size_t line = parser->problem_mark.line + 1, column = parser->problem_mark.column + 1;

	if (parser->error == YAML_READER_ERROR) { /* bytes that are no UTF-8 have an offset only */
		line = column = 1;
		for (size_t i = 0; i < parser->problem_offset && i < len; i++) {
			column = text[i] == '\n' ? 1 : column + 1;
			line += text[i] == '\n';
		}
	}
	berth_text_addf(&words, "this is not YAML: %s", parser->problem ? parser->problem : "memory is out");
	if (parser->context)
		berth_text_addf(&words, " %s in line %zu", parser->context, parser->context_mark.line + 1);
	complain(reader, line, column, berth_text_str(&words));
}

/* A second document behind "---" would be ignored in silence. */
static void check_no_more(struct reader *reader, yaml_parser_t *parser)
{
	yaml_document_t next;
	const yaml_node_t *root;

	if (!yaml_parser_load(parser, &next))
		return;
	root = yaml_document_get_root_node(&next);
	if (root)
		complain_at(reader, root, "a second document begins here; the configuration is one");
	yaml_document_delete(&next);
}

static void read_document(struct reader *reader, yaml_parser_t *parser, const char *text, size_t len)
{
	yaml_document_t document;
	const yaml_node_t *root;

	if (!yaml_parser_load(parser, &document)) {
		complain_syntax(reader, parser, text, len);
		return;
	}
	reader->document = &document;
	root = yaml_document_get_root_node(&document);
	if (root && root->type == YAML_MAPPING_NODE)
		read_mapping(reader, "", root);
	else if (root && !is_null(root))
		complain_at(reader, root, "the configuration is a list of keys, each \"name: value\"");
	if (root)
		check_no_more(reader, parser);
	yaml_document_delete(&document);
	reader->document = NULL;
	check_together(reader);
}

/* Links are followed, unlike in berth's own directories: sites link their configuration from elsewhere. */
static int read_text(const char *file, char **ret, size_t *ret_len, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	BERTH_AUTO_FREE char *buf = malloc(FILE_BYTES_MAX + 1);
	struct stat st;
	size_t len = 0;
	ssize_t got = 1;

	if (!buf)
		return berth_error_errno(err, -ENOMEM, "cannot be read");
	if (fd < 0 || fstat(fd, &st) < 0)
		return berth_error_errno(err, -errno, "cannot be read");
	if (!S_ISREG(st.st_mode))
		return berth_error_set(err, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "is no regular file");
	while (got > 0 && len <= FILE_BYTES_MAX) {
		got = read(fd, buf + len, FILE_BYTES_MAX + 1 - len);
		if (got < 0)
			return berth_error_errno(err, -errno, "cannot be read");
		len += (size_t)got;
	}
	if (len > FILE_BYTES_MAX)
		return berth_error_set(err, -EFBIG, "has more than %u bytes", FILE_BYTES_MAX);
	*ret = BERTH_TAKE(buf);
	*ret_len = len;
	return 0;
}

int berth_config_load(struct berth_config *config, const char *file, struct berth_text *complaints)
{
	struct berth_config next = *config;
	struct reader reader = {.file = file, .config = &next, .complaints = complaints};
	BERTH_AUTO_FREE char *text = NULL;
	struct berth_error err = {0};
	yaml_parser_t parser;
	size_t len = 0;
	int r = strlen(file) < sizeof(next.file) ? read_text(file, &text, &len, &err)
	                                         : berth_error_set(&err, -ENAMETOOLONG, "has too long a name");

	if (r < 0) {
		berth_text_addf(complaints, "%s: error: %s\n", file, err.text);
		return r;
	}
	(void)snprintf(next.file, sizeof(next.file), "%s", file);
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	read_document(&reader, &parser, text, len);
	yaml_parser_delete(&parser);
	if (complaints->is_failed)
		return -ENOMEM;
	if (reader.is_bad)
		return -EINVAL;
	*config = next;
	return 0;
}
