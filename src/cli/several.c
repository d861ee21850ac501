#include "cli/several.h"

void berth_several_begin(struct berth_several *several, struct berth_cli *cli)
{
	*several = (struct berth_several){.cli = cli, .done = json_array(), .errors = json_array()};
	cli->errors = several->errors;
}

void berth_several_did(struct berth_several *several, json_t *object)
{
	(void)json_array_append_new(several->done, object ? json_incref(object) : json_null());
}

void berth_several_failed(struct berth_several *several, int code, json_t *which)
{
	const size_t n = json_array_size(several->errors);

	if (n > 0)
		(void)json_object_set(json_array_get(several->errors, n - 1), "id", which);
	json_decref(which);
	if (several->first == BERTH_EXIT_OK)
		several->first = code;
}

int berth_several_end(struct berth_several *several, const char *schema, const char *list)
{
	const bool is_any_done = json_array_size(several->done) > 0;
	int r = several->first;
	json_t *object;

	if (r != BERTH_EXIT_OK && is_any_done)
		r = BERTH_EXIT_PARTLY;
	if (several->cli->is_json) {
		object = json_pack("{s:s, s:O, s:O}", "schema", schema, list, several->done, "errors", several->errors);
		if (berth_print_json(object) != BERTH_EXIT_OK)
			r = BERTH_EXIT_FAILED;
		json_decref(object);
	}
	several->cli->errors = NULL;
	json_decref(several->done);
	json_decref(several->errors);
	*several = (struct berth_several){0};
	return r;
}
