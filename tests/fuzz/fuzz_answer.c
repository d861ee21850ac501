/* An answer of the daemon and its events as the command line reads them. The first byte: how the bytes are cut; fed at
 * once or in pieces, the outcome is the same. */
#include <string.h>
#include "cli/http.h"
#include "cli/sse.h"
#include "target.h"

static int feed(struct berth_http *http, const char *data, size_t size, size_t piece)
{
	for (size_t at = 0; at < size;) {
		size_t n = size - at < piece ? size - at : piece;
		struct berth_error err = {0};
		int r = berth_http_feed(http, data + at, n, &err);

		if (r < 0) {
			FUZZ_PROMISE(err.text[0]);
			return r;
		}
		at += n;
	}
	return 0;
}

static void try_events(const struct berth_text *body)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_sse event = {0};
	size_t before;

	berth_text_add_n(&text, body->at ? body->at : "", body->len);
	for (before = text.len + 1; berth_sse_take(&text, &event); before = text.len) {
		FUZZ_PROMISE(text.len < before && event.data && memchr(event.name, '\0', sizeof(event.name)));
		free(event.data);
		event = (struct berth_sse){0};
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BERTH_AUTO_HTTP struct berth_http whole = {0};
	BERTH_AUTO_HTTP struct berth_http cut = {0};
	BERTH_AUTO_TEXT struct berth_text stream = {0};
	char *text;
	int r;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	r = feed(&whole, text, size - 1, size);
	FUZZ_PROMISE(r == feed(&cut, text, size - 1, 1 + data[0] % 16));
	if (r == 0) {
		FUZZ_PROMISE(whole.stage == cut.stage && whole.status == cut.status && whole.body.len == cut.body.len);
		FUZZ_PROMISE(whole.body.len == 0 || memcmp(whole.body.at, cut.body.at, cut.body.len) == 0);
		FUZZ_PROMISE(berth_http_end(&whole, NULL) == berth_http_end(&cut, NULL));
		try_events(&whole.body);
	}
	berth_text_add_n(&stream, text, size - 1);
	try_events(&stream);
	free(text);
	return 0;
}
