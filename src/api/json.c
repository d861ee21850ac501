#include "api/json.h"

#include <inttypes.h>
#include <string.h>

struct berth_json berth_json_at(struct berth_text *text)
{
	return (struct berth_json){.text = text, .start = text->len, .minute = -1};
}

static void separate(struct berth_json *json, const char *key)
{
	const struct berth_text *text = json->text;
	const char last = text->len > json->start && !text->is_failed ? text->at[text->len - 1] : '[';

	if (last != '{' && last != '[')
		berth_text_add_n(json->text, ",", 1);
	if (!key)
		return;
	berth_text_add_n(json->text, "\"", 1);
	berth_text_add_n(json->text, key, strlen(key));
	berth_text_add_n(json->text, "\":", 2);
}

void berth_json_open(struct berth_json *json, const char *key, char kind)
{
	separate(json, key);
	berth_text_add_n(json->text, &kind, 1);
}

void berth_json_close(struct berth_json *json, char kind)
{
	berth_text_add_n(json->text, &kind, 1);
}

/* Decimal digits of value at the end of buf; returns where they begin. */
static const char *digits(uint64_t value, char *end)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	return end;
}

void berth_json_u64(struct berth_json *json, const char *key, uint64_t value)
{
	char buf[20];
	const char *at = digits(value, buf + sizeof(buf));

	separate(json, key);
	berth_text_add_n(json->text, at, (size_t)(buf + sizeof(buf) - at));
}

void berth_json_i64(struct berth_json *json, const char *key, int64_t value)
{
	separate(json, key);
	berth_text_addf(json->text, "%" PRId64, value);
}

void berth_json_bool(struct berth_json *json, const char *key, bool value)
{
	separate(json, key);
	berth_text_add(json->text, value ? "true" : "false");
}

void berth_json_null(struct berth_json *json, const char *key)
{
	separate(json, key);
	berth_text_add_n(json->text, "null", 4);
}

void berth_json_raw(struct berth_json *json, const char *key, const char *value, size_t n)
{
	separate(json, key);
	berth_text_add_n(json->text, value, n);
}

/* U+2028 and U+2029 need no escape in JSON; '<' gets one, so that an answer shown as a document by mistake holds no
 * tag. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\' && c != '<' && c != 0x7f;
}

static void add_escaped(struct berth_text *text, const char *s, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)s[i];

		if (is_plain(c))
			continue;
		berth_text_add_n(text, s + from, i - from);
		if (c == '"' || c == '\\')
			berth_text_add_n(text, (const char[]){'\\', (char)c}, 2);
		else if (c == '\n')
			berth_text_add_n(text, "\\n", 2);
		else
			berth_text_addf(text, "\\u%04x", c);
		from = i + 1;
	}
	berth_text_add_n(text, s + from, n - from);
}

void berth_json_str(struct berth_json *json, const char *key, const char *s)
{
	const size_t n = s ? strlen(s) : 0;

	if (!s) {
		berth_json_null(json, key);
		return;
	}
	separate(json, key);
	berth_text_add_n(json->text, "\"", 1);
	if (berth_utf8_is_valid(s, n)) {
		add_escaped(json->text, s, n);
	} else {
		BERTH_AUTO_FREE char *clean = berth_utf8_printable(s, 0);

		if (clean)
			add_escaped(json->text, clean, strlen(clean));
		else
			json->text->is_failed = true;
	}
	berth_text_add_n(json->text, "\"", 1);
}

/* Years beyond what a client's date can hold are written as not known. */
static bool format_minute(struct berth_json *json, time_t minute)
{
	const time_t at = minute * 60;
	struct tm tm;
	char zone[8];

	if (!localtime_r(&at, &tm) || tm.tm_year > 9999 - 1900 ||
	    strftime(json->minute_text, sizeof(json->minute_text), "%Y-%m-%dT%H:%M:", &tm) == 0 ||
	    strftime(zone, sizeof(zone), "%z", &tm) != 5)
		return false;
	(void)snprintf(json->zone_text, sizeof(json->zone_text), "%.3s:%.2s", zone, zone + 3);
	json->minute = minute;
	return true;
}

void berth_json_time(struct berth_json *json, const char *key, uint64_t at_ms)
{
	const time_t minute = (time_t)(at_ms / 60000);
	const unsigned ms = (unsigned)(at_ms % 60000);
	char seconds[6] = {(char)('0' + ms / 10000),    (char)('0' + ms / 1000 % 10), '.',
	                   (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10),   (char)('0' + ms % 10)};

	if (at_ms == 0 || at_ms == UINT64_MAX || (minute != json->minute && !format_minute(json, minute))) {
		berth_json_null(json, key);
		return;
	}
	separate(json, key);
	berth_text_add_n(json->text, "\"", 1);
	berth_text_add(json->text, json->minute_text);
	berth_text_add_n(json->text, seconds, sizeof(seconds));
	berth_text_add(json->text, json->zone_text);
	berth_text_add_n(json->text, "\"", 1);
}

void berth_json_u64_or_null(struct berth_json *json, const char *key, uint64_t value, uint64_t nothing)
{
	if (value == nothing)
		berth_json_null(json, key);
	else
		berth_json_u64(json, key, value);
}
