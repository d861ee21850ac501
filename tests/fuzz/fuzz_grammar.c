/* Durations, sizes, moments, numbers and lists of cards as people write them: the first byte chooses.
 *
 * What was read is shown and read again: durations come back to the second, cards whole. */
#include <string.h>
#include "base/text.h"
#include "base/units.h"
#include "daemon/cards.h"
#include "daemon/source.h"
#include "target.h"

static void try_duration(const char *text)
{
	char shown[BERTH_FORMAT_MAX];
	uint64_t ms = 0, again = 0;

	if (berth_duration_parse(text, &ms, NULL) < 0)
		return;
	FUZZ_PROMISE(berth_duration_parse(berth_duration_format(ms, shown), &again, NULL) == 0);
	FUZZ_PROMISE(again == (ms == BERTH_UNLIMITED_MS ? ms : ms / 1000 * 1000));
}

static void try_size(const char *text)
{
	char shown[BERTH_FORMAT_MAX], digits[32];
	uint64_t bytes = 0, again = 0;

	if (berth_size_parse(text, &bytes, NULL) < 0)
		return;
	(void)berth_size_format(bytes, shown);
	(void)snprintf(digits, sizeof(digits), "%ju", (uintmax_t)bytes);
	FUZZ_PROMISE(berth_size_parse(digits, &again, NULL) == 0 && again == bytes);
	FUZZ_PROMISE(berth_number_parse(digits, "it", 0, UINT64_MAX, &again, NULL) == 0 && again == bytes);
}

static void try_moment(const char *text)
{
	const uint64_t now_ms = 1796000000000u;
	char shown[BERTH_FORMAT_MAX];
	uint64_t at_ms = 0, number = 0;

	if (berth_moment_parse(text, now_ms, &at_ms, NULL) == 0) {
		(void)berth_moment_format(at_ms, shown);
		(void)berth_moment_format_short(at_ms, now_ms, shown);
	}
	FUZZ_PROMISE(berth_number_parse(text, "it", 1, 16, &number, NULL) < 0 || (number > 0 && number <= 16));
}

static void try_cards(char *text)
{
	static char shown[8192], again[8192];
	struct berth_cards cards = {0}, copy = {0};
	char *rest = text, *item;
	size_t taken = 0;

	while ((item = strsep(&rest, ",")))
		taken += berth_cards_add(&cards, item, NULL) == 0;
	if (taken == 0)
		return;
	rest = berth_cards_format(&cards, shown, sizeof(shown));
	while ((item = strsep(&rest, ",")))
		FUZZ_PROMISE(berth_cards_add(&copy, item, NULL) == 0);
	FUZZ_PROMISE(berth_cards_equal(&cards, &copy));
	FUZZ_PROMISE(strlen(berth_cards_format(&copy, again, sizeof(again))) > 0);
}

static void try_words(const char *text, size_t size)
{
	static const char *const list[] = {"gpus", "gpu-mem", "time", "名字", NULL};
	struct berth_source source;
	struct berth_error err = {0};
	char *shown = berth_utf8_printable(text, 40);

	FUZZ_PROMISE(shown && berth_utf8_is_valid(shown, strlen(shown)) && berth_utf8_width(shown) <= 40);
	free(shown);
	shown = berth_utf8_printable(text, 0);
	FUZZ_PROMISE(shown && berth_utf8_is_valid(shown, strlen(shown)));
	free(shown);
	(void)berth_utf8_is_valid(text, size);
	(void)berth_text_nearest(text, list);
	if (berth_source_parse(text, &source, &err) < 0)
		FUZZ_PROMISE(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	switch (data[0]) {
	case 'd':
		try_duration(text);
		break;
	case 's':
		try_size(text);
		break;
	case 'm':
		try_moment(text);
		break;
	case 'c':
		try_cards(text);
		break;
	default:
		try_words(text, size - 1);
	}
	free(text);
	return 0;
}
