#include <errno.h>
#include <jansson.h>
#include <string.h>
#include "api/gpu_json.h"
#include "api/post.h"

#define NOTE_MAX 200u

void berth_get_gpus(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_core *core = berth_api_core(api);
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_json json = berth_json_at(&text);
	const struct berth_device *device;

	berth_json_open(&json, NULL, '{');
	berth_json_str(&json, "schema", "berth.gpus/1");
	berth_json_u64(&json, "seq", berth_core_seq(core));
	berth_json_open(&json, "gpus", '[');
	for (size_t i = 0; (device = berth_core_device_at(core, i)); i++)
		berth_gpu_write(api, &json, NULL, device);
	berth_json_close(&json, ']');
	berth_json_close(&json, '}');
	berth_reply_json(request, MHD_HTTP_OK, &text);
}

static void refuse_gpu(struct berth_exchange *request, const char *name)
{
	const struct berth_refusal refusal = {MHD_HTTP_NOT_FOUND, "NoSuchGpu", NULL,
	                                      "`berth gpus` lists them; name one by its index or UUID."};

	berth_reply_error(request, &refusal, "There is no GPU %.64s.", name);
}

static void on_drained(struct berth_api *api, struct berth_exchange *request, int result,
                       const struct berth_fact *facts, size_t n)
{
	const struct berth_device *device = berth_core_device(berth_api_core(api), facts[0].u.drain.device);

	if (result < 0 && result != -ESTALE)
		berth_reply_errno(request, result, "note the drain");
	else if (!device)
		refuse_gpu(request, request->arg);
	else
		berth_reply_gpu(api, request, device);
}

/* The note of a drain: optional, short, one line. */
static int take_note(json_t *body, const char **ret, struct berth_error *err)
{
	static const char *const known[] = {"note", NULL};
	json_t *note = json_object_get(body, "note");
	int r = json_is_object(body) ? berth_api_check_names(body, known, "", err)
	                             : berth_error_set(err, -EINVAL, "the body must be an object");

	if (r < 0)
		return r;
	*ret = note && json_is_string(note) ? json_string_value(note) : "";
	if (note && !json_is_null(note) && !json_is_string(note))
		return berth_error_set(err, -EINVAL, "note must be a string");
	if (strlen(*ret) > NOTE_MAX)
		return berth_error_set(err, -EINVAL, "note has more than %u bytes", NOTE_MAX);
	return 0;
}

static void post_drain(struct berth_api *api, struct berth_exchange *request, const struct berth_device *device,
                       bool is_draining, const char *note)
{
	char buf[24];
	struct berth_post post = {.n_facts = 1};
	struct berth_fact fact;

	berth_fact_init(&fact, BERTH_FACT_DEVICE_DRAIN);
	fact.u.drain.device = device->id;
	fact.u.drain.is_draining = is_draining;
	fact.u.drain.by = berth_api_user_name(api, request->uid, buf);
	fact.u.drain.note = note;
	post.facts = &fact;
	berth_api_post(api, request, &post, on_drained);
}

static void change_drain(struct berth_api *api, struct berth_exchange *request, bool is_draining)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadField", NULL, NULL};
	const struct berth_device *device = berth_gpu_find(berth_api_core(api), request->arg);
	json_t *body = berth_api_body(request);
	const char *note = "";
	struct berth_error err;

	if (!body)
		return;
	if (!device)
		refuse_gpu(request, request->arg);
	else if (take_note(body, &note, &err) < 0)
		berth_reply_error(request, &refusal, "%s.", err.text);
	else
		post_drain(api, request, device, is_draining, note);
	json_decref(body);
}

void berth_post_drain(struct berth_api *api, struct berth_exchange *request)
{
	change_drain(api, request, true);
}

void berth_post_undrain(struct berth_api *api, struct berth_exchange *request)
{
	change_drain(api, request, false);
}
