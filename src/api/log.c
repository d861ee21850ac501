#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "api/job_json.h"
#include "base/units.h"
#include "engine/local/local.h"

#define LENGTH_DEFAULT (64u << 10)
#define LENGTH_MAX (1u << 20)

/* A range of output on its way from the shim. */
struct reading {
	struct berth_api *api;
	struct berth_ticket *ticket; /* owned */
	uint64_t job;
	uint64_t from_end; /* 0 = the offset counts from the start */
	uint32_t length;
	bool is_sized; /* the size was asked and from_end is settled */
};

static void refuse_missing(struct berth_exchange *request, uint64_t job)
{
	const struct berth_refusal refusal = {
		MHD_HTTP_NOT_FOUND, "NoOutput", NULL,
		"A job that waits has none yet; `berth show` names the file, which may have been moved or removed."};

	berth_reply_error(request, &refusal, "Job %" PRIu64 " has no output that can be read.", job);
}

static void reply_bytes(struct berth_exchange *request, const void *data, size_t n, uint64_t size)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char number[24];

	berth_text_add_n(&text, data, n);
	(void)snprintf(number, sizeof(number), "%" PRIu64, size);
	berth_reply_text(request, MHD_HTTP_OK, "text/plain; charset=utf-8", &text);
	if (request->status == MHD_HTTP_OK)
		berth_reply_header(request, "Berth-Log-Size", number);
}

static void on_log(void *arg, int result, const void *data, size_t n, uint64_t size);

/* An offset from the end needs the size first: it comes with a range of one byte. */
static void read_tail(struct reading *reading, uint64_t size)
{
	const uint64_t offset = size > reading->from_end ? size - reading->from_end : 0;

	reading->is_sized = true;
	berth_engine_log(reading->api->host.engine, reading->job, offset, reading->length, on_log, reading);
}

static void on_log(void *arg, int result, const void *data, size_t n, uint64_t size)
{
	struct reading *reading = arg;
	const struct reading last = *reading;
	struct berth_exchange *request;

	if (result == 0 && reading->from_end > 0 && !reading->is_sized) {
		read_tail(reading, size);
		return;
	}
	free(reading);
	request = berth_ticket_redeem(last.ticket);
	if (!request)
		return;
	if (result == 0)
		reply_bytes(request, data, n, size);
	else if (result == -ENOENT)
		refuse_missing(request, last.job);
	else
		berth_reply_errno(request, result, "read the output");
}

/* offset=N from the start, -N from the end. */
static int parse_range(const struct berth_exchange *request, struct reading *ret, uint64_t *ret_offset,
                       struct berth_error *err)
{
	const char *offset = berth_exchange_query(request, "offset");
	const char *length = berth_exchange_query(request, "length");
	uint64_t n = LENGTH_DEFAULT;
	int r = 0;

	*ret_offset = 0;
	if (offset && offset[0] == '-')
		r = berth_number_parse(offset + 1, "offset", 1, INT64_MAX, &ret->from_end, err);
	else if (offset)
		r = berth_number_parse(offset, "offset", 0, INT64_MAX, ret_offset, err);
	if (r == 0 && length)
		r = berth_number_parse(length, "length", 1, LENGTH_MAX, &n, err);
	ret->length = (uint32_t)n;
	return r;
}

void berth_get_log(struct berth_api *api, struct berth_exchange *request)
{
	const struct berth_refusal bad = {MHD_HTTP_BAD_REQUEST, "BadQuery", NULL, NULL};
	struct reading *reading = NULL;
	struct reading asked = {.api = api};
	struct berth_error err;
	uint64_t offset;

	if (berth_number_parse(request->arg, "job", 1, INT64_MAX, &asked.job, NULL) < 0) {
		berth_reply_no_job(request, request->arg);
		return;
	}
	if (parse_range(request, &asked, &offset, &err) < 0) {
		berth_reply_error(request, &bad, "%s.", err.text);
		return;
	}
	reading = malloc(sizeof(*reading));
	asked.ticket = reading ? berth_exchange_wait(request) : NULL;
	if (!asked.ticket) {
		free(reading);
		berth_reply_errno(request, -ENOMEM, "read the output");
		return;
	}
	*reading = asked;
	berth_engine_log(api->host.engine, asked.job, offset, asked.from_end > 0 ? 1 : asked.length, on_log, reading);
}
