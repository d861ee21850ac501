#include "api/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "api/gpu_json.h"
#include "api/job_json.h"
#include "base/units.h"

#define STREAMS_MAX 200u /* per kind of socket */
#define TELL_US 50000u
#define PING_US 15000000u
#define PIECE (64u << 10)
#define BLOCK (16u << 10)

/* One reader. Lives as long as its response. */
struct stream {
	struct berth_api *api;
	struct berth_exchange *request;
	struct berth_cursor cursor;
	struct berth_text piece; /* written and not yet taken whole */
	size_t taken;
	bool is_tcp, is_new, is_reset, is_ping;
	struct stream *prev, *next;
};

struct berth_streams {
	sd_event *event;
	sd_event_source *teller, *pinger;
	struct stream *head;
	unsigned n[2]; /* unix, TCP */
	uint64_t told_us;
};

/* --- what is written ------------------------------------------------------------------------- */

static void add_event(struct stream *stream, const char *name, uint64_t seq, const struct berth_text *data)
{
	if (data->is_failed)
		stream->piece.is_failed = true;
	berth_text_addf(&stream->piece, "event: %s\n", name);
	if (seq > 0)
		berth_text_addf(&stream->piece, "id: %" PRIu64 "\n", seq);
	berth_text_add(&stream->piece, "data: ");
	berth_text_add_n(&stream->piece, data->at ? data->at : "{}", data->at ? data->len : 2);
	berth_text_add(&stream->piece, "\n\n");
}

static void add_hello(struct stream *stream)
{
	BERTH_AUTO_TEXT struct berth_text data = {0};

	berth_text_addf(&data, "{\"seq\":%" PRIu64 "}", berth_core_seq(berth_api_core(stream->api)));
	add_event(stream, "hello", 0, &data);
}

static void add_reset(struct stream *stream)
{
	BERTH_AUTO_TEXT struct berth_text data = {0};

	berth_text_addf(&data, "{\"seq\":%" PRIu64 "}", berth_core_seq(berth_api_core(stream->api)));
	add_event(stream, "reset", 0, &data);
}

static void write_job(struct berth_api *api, struct berth_json *json, uint64_t id)
{
	const struct berth_job *job = berth_core_job(berth_api_core(api), id);

	if (job) {
		berth_job_write(api, json, NULL, job, BERTH_JOB_ROW);
		return;
	}
	berth_json_open(json, NULL, '{');
	berth_json_u64(json, "id", id);
	berth_json_bool(json, "forgotten", true);
	berth_json_close(json, '}');
}

static void add_change(struct stream *stream, const struct berth_change *change)
{
	BERTH_AUTO_TEXT struct berth_text data = {0};
	struct berth_json json = berth_json_at(&data);
	struct berth_core *core = berth_api_core(stream->api);
	const struct berth_device *device;

	if (change->kind == BERTH_CHANGE_JOB) {
		if (berth_outlooks_refresh(&stream->api->outlooks, core, berth_api_now(stream->api)) < 0)
			data.is_failed = true;
		write_job(stream->api, &json, change->id);
		add_event(stream, "job", change->is_last ? change->seq : 0, &data);
		return;
	}
	device = berth_core_device(core, (uint32_t)change->id);
	if (!device)
		return;
	berth_gpu_write(stream->api, &json, NULL, device);
	add_event(stream, "gpu", change->is_last ? change->seq : 0, &data);
}

static void add_changes(struct stream *stream)
{
	struct berth_change change;
	int r = 1;

	while (stream->piece.len < PIECE && r > 0) {
		r = berth_events_next_change(stream->api->events, &stream->cursor, &change);
		if (r > 0)
			add_change(stream, &change);
		else if (r == -ESTALE)
			add_reset(stream);
	}
}

static void add_notices(struct stream *stream)
{
	const struct berth_notice *notice;

	while (stream->piece.len < PIECE && (notice = berth_events_next_notice(stream->api->events, &stream->cursor))) {
		const struct berth_text data = {.at = notice->data, .len = strlen(notice->data)};

		add_event(stream, notice->name, 0, &data);
	}
}

/* The next piece, empty when there is nothing to tell. */
static void write_piece(struct stream *stream)
{
	berth_text_fini(&stream->piece);
	stream->taken = 0;
	if (stream->is_new)
		add_hello(stream);
	if (stream->is_reset)
		add_reset(stream);
	add_changes(stream);
	add_notices(stream);
	if (stream->is_ping && stream->piece.len == 0)
		berth_text_add(&stream->piece, ":\n\n");
	stream->is_new = stream->is_reset = stream->is_ping = false;
}

static ssize_t on_read(void *arg, uint64_t at, char *buf, size_t cap)
{
	struct stream *stream = arg;
	size_t n;

	if (stream->taken == stream->piece.len)
		write_piece(stream);
	if (stream->piece.is_failed)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	n = stream->piece.len - stream->taken;
	if (n == 0) {
		berth_exchange_pause(stream->request);
		return 0;
	}
	if (n > cap)
		n = cap;
	memcpy(buf, stream->piece.at + stream->taken, n);
	stream->taken += n;
	return (ssize_t)n;
}

/* --- who listens ----------------------------------------------------------------------------- */

static void on_free(void *arg)
{
	struct stream *stream = arg;
	struct berth_streams *streams = stream->api->streams;

	if (stream->prev)
		stream->prev->next = stream->next;
	else
		streams->head = stream->next;
	if (stream->next)
		stream->next->prev = stream->prev;
	streams->n[stream->is_tcp]--;
	berth_text_fini(&stream->piece);
	free(stream);
}

/* The last event a reader knows, by query or by the header that browsers send. */
static int parse_since(const struct berth_exchange *request, bool *ret_is_given, uint64_t *ret, struct berth_error *err)
{
	const char *since = berth_exchange_header(request, "Last-Event-ID");

	if (!since)
		since = berth_exchange_query(request, "since");
	*ret_is_given = since != NULL;
	return since ? berth_number_parse(since, "since", 0, INT64_MAX, ret, err) : 0;
}

static struct stream *make_stream(struct berth_api *api, struct berth_exchange *request, bool is_resumed,
                                  uint64_t since)
{
	struct berth_streams *streams = api->streams;
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	*stream = (struct stream){.api = api,
	                          .request = request,
	                          .is_tcp = request->is_tcp,
	                          .is_new = true,
	                          .cursor = berth_events_end(api->events),
	                          .next = streams->head};
	if (is_resumed)
		stream->is_reset = !berth_events_seek(api->events, since, berth_core_seq(berth_api_core(api)),
		                                      &stream->cursor);
	if (stream->next)
		stream->next->prev = stream;
	streams->head = stream;
	streams->n[request->is_tcp]++;
	return stream;
}

void berth_get_events(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal bad = {MHD_HTTP_BAD_REQUEST, "BadQuery", NULL, NULL};
	const struct berth_refusal busy = {MHD_HTTP_TOO_MANY_REQUESTS, "TooManyStreams", NULL,
	                                   "Close some pages or followers, or poll the lists."};
	struct MHD_Response *response;
	struct stream *stream;
	struct berth_error err;
	bool is_resumed;
	uint64_t since;

	if (parse_since(request, &is_resumed, &since, &err) < 0) {
		berth_reply_error(request, &bad, "%s.", err.text);
		return;
	}
	if (api->streams->n[request->is_tcp] >= STREAMS_MAX) {
		berth_reply_error(request, &busy, "%u event streams are open already.", STREAMS_MAX);
		return;
	}
	stream = make_stream(api, request, is_resumed, since);
	if (!stream) {
		berth_reply_errno(request, -ENOMEM, "open an event stream");
		return;
	}
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, on_read, stream, on_free);
	if (!response)
		on_free(stream);
	berth_exchange_set_stream(request);
	berth_exchange_answer(request, MHD_HTTP_OK, berth_reply_dress(response, "text/event-stream; charset=utf-8"), 0);
}

/* --- when they are told ---------------------------------------------------------------------- */

static void resume_all(struct berth_streams *streams, bool is_ping)
{
	for (struct stream *stream = streams->head; stream; stream = stream->next) {
		stream->is_ping |= is_ping;
		berth_exchange_resume(stream->request);
	}
}

static int on_tell(sd_event_source *source, uint64_t now_us, void *arg)
{
	struct berth_streams *streams = arg;

	streams->told_us = now_us;
	resume_all(streams, false);
	return 0;
}

static int on_ping(sd_event_source *source, uint64_t now_us, void *arg)
{
	resume_all(arg, true);
	(void)sd_event_source_set_time(source, now_us + PING_US);
	(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

void berth_streams_wake(struct berth_streams *streams)
{
	int is_on = SD_EVENT_OFF;

	(void)sd_event_source_get_enabled(streams->teller, &is_on);
	if (!streams->head || is_on != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time(streams->teller, streams->told_us + TELL_US);
	(void)sd_event_source_set_enabled(streams->teller, SD_EVENT_ONESHOT);
}

static int add_timers(struct berth_streams *streams)
{
	uint64_t now_us = 0;
	int r = sd_event_now(streams->event, CLOCK_MONOTONIC, &now_us);

	if (r >= 0)
		r = sd_event_add_time(streams->event, &streams->teller, CLOCK_MONOTONIC, 0, 1000, on_tell, streams);
	if (r >= 0)
		r = sd_event_source_set_enabled(streams->teller, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(streams->event, &streams->pinger, CLOCK_MONOTONIC, now_us + PING_US, 0, on_ping,
		                      streams);
	return r < 0 ? r : 0;
}

int berth_streams_open(sd_event *event, struct berth_streams **ret)
{
	struct berth_streams *streams = calloc(1, sizeof(*streams));
	int r;

	if (!streams)
		return -ENOMEM;
	streams->event = sd_event_ref(event);
	r = add_timers(streams);
	if (r < 0) {
		berth_streams_close(streams);
		return r;
	}
	*ret = streams;
	return 0;
}

void berth_streams_close(struct berth_streams *streams)
{
	if (!streams)
		return;
	(void)sd_event_source_disable_unref(streams->teller);
	(void)sd_event_source_disable_unref(streams->pinger);
	(void)sd_event_unref(streams->event);
	free(streams);
}

unsigned berth_streams_count(const struct berth_streams *streams)
{
	return streams->n[0] + streams->n[1];
}
