#include "cli/field.h"

#include <string.h>
#include "base/text.h"

const char *berth_json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

bool berth_json_number(const json_t *object, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

/* The API's moments have milliseconds, which people do not write and berth_moment_parse does not read: they are cut out
 * here. */
bool berth_moment_read(const char *iso, uint64_t *ret_ms)
{
	const size_t whole = strlen("2026-11-30T19:16:54");
	char plain[BERTH_FORMAT_MAX];
	uint64_t ms = 0;
	size_t digits = 0;

	if (strlen(iso) < whole || strlen(iso) >= sizeof(plain))
		return false;
	if (iso[whole] == '.') {
		digits = 1 + strspn(iso + whole + 1, "0123456789");
		if (digits != 4)
			return false;
		for (size_t i = 1; i < digits; i++)
			ms = ms * 10 + (uint64_t)(iso[whole + i] - '0');
	}
	(void)snprintf(plain, sizeof(plain), "%.*s%s", (int)whole, iso, iso + whole + digits);
	if (berth_moment_parse(plain, 0, ret_ms, NULL) < 0)
		return false;
	*ret_ms += ms;
	return true;
}

char *berth_moment_send(uint64_t at_ms, char buf[static BERTH_FORMAT_MAX])
{
	char *point;

	berth_moment_format(at_ms, buf);
	point = strchr(buf, '.');
	if (point)
		memmove(point, point + 4, strlen(point + 4) + 1);
	return buf;
}

bool berth_json_moment(const json_t *object, const char *key, uint64_t *ret_ms)
{
	return berth_moment_read(berth_json_text(object, key), ret_ms);
}

char *berth_json_printable(const json_t *object, const char *key, size_t width)
{
	const char *text = berth_json_text(object, key);

	return berth_utf8_printable(*text ? text : "-", width);
}
