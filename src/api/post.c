#include "api/post.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* One post under way. Freed when the ledger tells how it ended, which it always does. */
struct posted {
	struct berth_api *api;
	struct berth_ticket *ticket; /* owned */
	berth_posted *tell;
};

static void on_done(void *arg, int result, const struct berth_fact *facts, size_t n)
{
	const struct posted posted = *(struct posted *)arg;
	struct berth_exchange *request = berth_ticket_redeem(posted.ticket);

	free(arg);
	/* The API was closed in the meantime, and its requests with it. */
	if (!request)
		return;
	posted.tell(posted.api, request, result, facts, n);
}

void berth_api_post(struct berth_api *api, struct berth_exchange *request, struct berth_post *post, berth_posted *tell)
{
	struct posted *posted = calloc(1, sizeof(*posted));
	struct berth_ticket *ticket = posted ? berth_exchange_wait(request) : NULL;
	int r = -ENOMEM;

	if (ticket) {
		*posted = (struct posted){api, ticket, tell};
		post->done = on_done;
		post->done_arg = posted;
		r = berth_ledger_post(api->host.ledger, post);
	}
	if (r == 0)
		return;
	if (ticket)
		(void)berth_ticket_redeem(ticket);
	free(posted);
	berth_reply_errno(request, r, "take this");
}

/* jansson's words for a place are for programmers. */
static void refuse_body(struct berth_exchange *request, const json_error_t *error)
{
	const struct berth_refusal refusal = {MHD_HTTP_BAD_REQUEST, "BadJson", NULL, NULL};

	berth_reply_error(request, &refusal, "The body is not JSON that berth takes: line %d, column %d: %.120s.",
	                  error->line, error->column, error->text);
}

json_t *berth_api_body(struct berth_exchange *request)
{
	const struct berth_refusal not_object = {MHD_HTTP_BAD_REQUEST, "BadJson", NULL, NULL};
	json_error_t error;
	json_t *body;

	if (request->body.len == 0)
		return json_object();
	body = json_loadb(request->body.at, request->body.len, JSON_REJECT_DUPLICATES, &error);
	if (!body) {
		refuse_body(request, &error);
		return NULL;
	}
	/* The text is not needed any more, and may be 16 MiB. */
	berth_text_fini(&request->body);
	if (json_is_object(body) || json_is_array(body))
		return body;
	json_decref(body);
	berth_reply_error(request, &not_object, "The body must be a JSON object.");
	return NULL;
}

int berth_api_check_names(json_t *object, const char *const *known, const char *where, struct berth_error *err)
{
	const char *nearest;
	const char *name;
	json_t *value;

	json_object_foreach(object, name, value)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], name) != 0)
			i++;
		if (known[i])
			continue;
		nearest = berth_text_nearest(name, known);
		if (nearest)
			return berth_error_set(err, -EINVAL, "%s%.40s is not a field; did you mean %s?", where, name,
			                       nearest);
		return berth_error_set(err, -EINVAL, "%s%.40s is not a field that berth knows", where, name);
	}
	return 0;
}
