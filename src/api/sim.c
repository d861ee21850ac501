#include <errno.h>
#include <jansson.h>
#include "api/gpu_json.h"
#include "api/post.h"

/* An injection on its way to the probe. */
struct injection {
	struct berth_api *api;
	struct berth_ticket *ticket; /* owned */
	uint32_t device;
};

static void refuse_injection(struct berth_exchange *request, const char *text)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadInjection", NULL,
	                                      "`berth help admin` lists what can be injected."};

	berth_reply_error(request, &refusal, "%s.", text);
}

static void on_injected(void *arg, int result, const struct berth_error *err)
{
	const struct injection injection = *(struct injection *)arg;
	struct berth_exchange *request = berth_ticket_redeem(injection.ticket);
	const struct berth_device *device;

	free(arg);
	if (!request)
		return;
	device = berth_core_device(berth_api_core(injection.api), injection.device);
	if (result < 0 || !device)
		refuse_injection(request, err && err->text[0] ? err->text : "The simulator did not take it");
	else
		berth_reply_gpu(injection.api, request, device);
}

static void inject(struct berth_api *api, struct berth_exchange *request, const struct berth_device *device,
                   const char *what)
{
	struct injection *injection = calloc(1, sizeof(*injection));
	struct berth_ticket *ticket = injection ? berth_exchange_wait(request) : NULL;
	struct berth_error err = {0};
	int r = -ENOMEM;

	if (ticket) {
		*injection = (struct injection){api, ticket, device->id};
		r = api->host.inject(api->host.arg, device->uuid, what, on_injected, injection, &err);
	}
	if (r == 0)
		return;
	if (ticket)
		(void)berth_ticket_redeem(ticket);
	free(injection);
	if (r == -ENOMEM)
		berth_reply_errno(request, r, "ask the simulator");
	else
		refuse_injection(request, err.text);
}

static void check_and_inject(struct berth_api *api, struct berth_exchange *request, json_t *body)
{
	static const char *const known[] = {"gpu", "inject", NULL};
	const struct berth_refusal no_gpu = {MHD_HTTP_NOT_FOUND, "NoSuchGpu", NULL,
	                                     "`berth gpus` lists them; name one by its index or UUID."};
	const struct berth_refusal bad = {MHD_HTTP_BAD_REQUEST, "BadField", NULL, NULL};
	const char *gpu = json_string_value(json_object_get(body, "gpu"));
	const char *what = json_string_value(json_object_get(body, "inject"));
	const struct berth_device *device = gpu ? berth_gpu_find(berth_api_core(api), gpu) : NULL;
	struct berth_error err;

	if (!json_is_object(body) || !gpu || !what)
		berth_reply_error(request, &bad, "The body must be {\"gpu\":\"INDEX or UUID\",\"inject\":\"WORDS\"}.");
	else if (berth_api_check_names(body, known, "", &err) < 0)
		berth_reply_error(request, &bad, "%s.", err.text);
	else if (!device)
		berth_reply_error(request, &no_gpu, "There is no GPU %.64s.", gpu);
	else
		inject(api, request, device, what);
}

void berth_post_sim(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal real = {MHD_HTTP_CONFLICT, "NotSimulated", NULL,
	                                   "Start a daemon on simulated cards: `berthd --devices sim:8xA100-80GB`."};
	json_t *body;

	if (!api->host.is_simulated) {
		berth_reply_error(request, &real, "These cards are real: nothing can be injected.");
		return;
	}
	body = berth_api_body(request);
	if (!body)
		return;
	check_and_inject(api, request, body);
	json_decref(body);
}
