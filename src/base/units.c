#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "base/text.h"

#define SECOND_MS UINT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)
#define LONGEST_MS (36525 * DAY_MS) /* 100 years of the Julian calendar */

#define SHOWN_COLUMNS 40

static int refuse_duration(const char *s, struct berth_error *err)
{
	BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, SHOWN_COLUMNS);

	return berth_error_set(err, -EINVAL,
	                       "\"%s\" is no duration; write 90 (minutes), 1:30:00, 2-12 (days-hours), 90m, "
	                       "2h30m, 1d or UNLIMITED, with fields after the first below 60 (hours below 24)",
	                       shown ? shown : "?");
}

/* Digits at *at, moved past them; refuses none at all and what no duration can be. */
static bool take_number(const char **at, uint64_t *ret)
{
	uint64_t value = 0;
	const char *s = *at;

	for (; *s >= '0' && *s <= '9'; s++) {
		value = value * 10 + (uint64_t)(*s - '0');
		if (value > LONGEST_MS)
			return false;
	}
	if (s == *at)
		return false;
	*at = s;
	*ret = value;
	return true;
}

/* value times unit added to *sum, as long as that stays below the longest duration. */
static bool add_scaled(uint64_t *sum, uint64_t value, uint64_t unit_ms)
{
	if (value > LONGEST_MS / unit_ms || *sum + value * unit_ms > LONGEST_MS)
		return false;
	*sum += value * unit_ms;
	return true;
}

/* 2h30m: number and unit, each unit at most once, in falling order. */
static bool parse_units(const char *s, uint64_t *ret_ms)
{
	static const struct {
		char name;
		uint64_t ms;
	} units[] = {{'d', DAY_MS}, {'h', HOUR_MS}, {'m', MINUTE_MS}, {'s', SECOND_MS}};
	uint64_t sum = 0;

	for (size_t unit = 0; *s; unit++, s++) {
		uint64_t value;

		if (!take_number(&s, &value))
			return false;
		while (unit < sizeof(units) / sizeof(units[0]) && units[unit].name != *s)
			unit++;
		if (unit == sizeof(units) / sizeof(units[0]) || !add_scaled(&sum, value, units[unit].ms))
			return false;
	}
	*ret_ms = sum;
	return true;
}

/* What the colons separate: up to three fields, ret_n of them, each after the first below 60. */
static bool take_fields(const char **at, uint64_t fields[static 3], size_t *ret_n)
{
	size_t n = 0;

	do {
		if (n == 3 || !take_number(at, &fields[n]) || (n > 0 && fields[n] >= 60))
			return false;
		n++;
	} while (**at == ':' && (*at)++);
	*ret_n = n;
	return true;
}

/* M, M:S, H:M:S, D-H, D-H:M, D-H:M:S: where the fields begin depends on the dash and on how many there are. */
static bool parse_fields(const char *s, uint64_t *ret_ms)
{
	static const uint64_t units_ms[] = {HOUR_MS, MINUTE_MS, SECOND_MS};
	const char *dash = strchr(s, '-');
	uint64_t fields[3] = {0};
	uint64_t sum = 0;
	uint64_t days = 0;
	size_t first;
	size_t n = 0;

	if (dash && (!take_number(&s, &days) || *s++ != '-'))
		return false;
	if (!take_fields(&s, fields, &n) || *s)
		return false;
	if (dash && fields[0] >= 24)
		return false;
	if (!add_scaled(&sum, days, DAY_MS))
		return false;
	first = dash || n == 3 ? 0 : 1;
	for (size_t i = 0; i < n; i++)
		if (!add_scaled(&sum, fields[i], units_ms[first + i]))
			return false;
	*ret_ms = sum;
	return true;
}

int berth_duration_parse(const char *s, uint64_t *ret_ms, struct berth_error *err)
{
	const size_t n = strlen(s);
	bool is_good;

	if (strcasecmp(s, "UNLIMITED") == 0) {
		*ret_ms = BERTH_UNLIMITED_MS;
		return 0;
	}
	if (n > 0 && s[n - 1] >= 'a' && s[n - 1] <= 'z')
		is_good = parse_units(s, ret_ms);
	else
		is_good = parse_fields(s, ret_ms);
	return is_good ? 0 : refuse_duration(s, err);
}

static int refuse_size(const char *s, int code, struct berth_error *err)
{
	BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, SHOWN_COLUMNS);

	if (code == -ERANGE)
		return berth_error_set(err, code, "\"%s\" is more bytes than can be counted", shown ? shown : "?");
	return berth_error_set(err, code, "\"%s\" is no size; write 512M, 10G, 1.5GiB or a number of bytes",
	                       shown ? shown : "?");
}

/* The factor that the rest of a size names; 0 = none. */
static uint64_t size_unit(const char *s)
{
	const char letters[] = "kmgt";
	const char *letter;

	if (!*s)
		return 1;
	letter = strchr(letters, *s | 0x20);
	if (!letter || !*letter || (s[1] && strcasecmp(s + 1, "b") != 0 && strcasecmp(s + 1, "ib") != 0))
		return 0;
	return UINT64_C(1) << (10 * (letter - letters + 1));
}

/* Decimal digits at *at, moved past them; false on none. Saturates, so that the caller sees an overflow. */
static bool take_digits(const char **at, uint64_t *ret, bool *ret_is_over)
{
	const char *s = *at;
	uint64_t value = 0;

	*ret_is_over = false;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *s - '0', &value))
			*ret_is_over = true;
	if (s == *at)
		return false;
	*at = s;
	*ret = *ret_is_over ? UINT64_MAX : value;
	return true;
}

/* The fraction behind a point, in units of 10^-9; digits beyond these are dropped, being far below one byte. */
static bool take_fraction(const char **at, uint64_t *ret_nano)
{
	uint64_t scale = 100000000;
	const char *s = *at;

	*ret_nano = 0;
	for (; *s >= '0' && *s <= '9'; s++, scale /= 10)
		*ret_nano += (uint64_t)(*s - '0') * scale;
	if (s == *at)
		return false;
	*at = s;
	return true;
}

int berth_size_parse(const char *s, uint64_t *ret_bytes, struct berth_error *err)
{
	const char *at = s;
	uint64_t whole;
	uint64_t nano = 0;
	uint64_t unit;
	uint64_t bytes;
	bool is_over;
	bool has_fraction;

	if (!take_digits(&at, &whole, &is_over))
		return refuse_size(s, -EINVAL, err);
	has_fraction = *at == '.';
	if (has_fraction && (at++, !take_fraction(&at, &nano)))
		return refuse_size(s, -EINVAL, err);
	unit = size_unit(at);
	if (unit == 0 || (has_fraction && unit == 1)) /* there is no half a byte */
		return refuse_size(s, -EINVAL, err);
	if (is_over || __builtin_mul_overflow(whole, unit, &bytes) ||
	    __builtin_add_overflow(bytes, (uint64_t)((unsigned __int128)nano * unit / 1000000000u), &bytes))
		return refuse_size(s, -ERANGE, err);
	*ret_bytes = bytes;
	return 0;
}

int berth_number_parse(const char *s, const char *what, uint64_t min, uint64_t max, uint64_t *ret,
                       struct berth_error *err)
{
	const char *at = s;
	uint64_t value;
	bool is_over;

	if (!take_digits(&at, &value, &is_over) || *at) {
		BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, SHOWN_COLUMNS);

		return berth_error_set(err, -EINVAL, "%s must be a whole number, not \"%s\"", what,
		                       shown ? shown : "?");
	}
	if (is_over || value < min || value > max) {
		BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, SHOWN_COLUMNS);

		return berth_error_set(err, -ERANGE, "%s must be between %" PRIu64 " and %" PRIu64 ", not %s", what,
		                       min, max, shown ? shown : "?");
	}
	*ret = value;
	return 0;
}

char *berth_duration_format(uint64_t ms, char buf[static BERTH_FORMAT_MAX])
{
	const uint64_t days = ms / DAY_MS;
	const unsigned hours = (unsigned)(ms % DAY_MS / HOUR_MS);
	const unsigned minutes = (unsigned)(ms % HOUR_MS / MINUTE_MS);
	const unsigned seconds = (unsigned)(ms % MINUTE_MS / SECOND_MS);

	if (ms == BERTH_UNLIMITED_MS)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "unlimited");
	else if (days > 0)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 "-%02u:%02u:%02u", days, hours, minutes, seconds);
	else if (hours > 0)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%u:%02u:%02u", hours, minutes, seconds);
	else
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%u:%02u", minutes, seconds);
	return buf;
}

/* bytes in hundredths of unit, rounded to three significant digits. */
static uint64_t round_to_three(uint64_t bytes, uint64_t unit)
{
	const uint64_t whole = bytes / unit;
	const unsigned step = whole >= 100 ? 100 : whole >= 10 ? 10 : 1;
	const unsigned __int128 scaled = (unsigned __int128)bytes * (100 / step);

	return (uint64_t)((scaled + unit / 2) / unit) * step;
}

char *berth_size_format(uint64_t bytes, char buf[static BERTH_FORMAT_MAX])
{
	static const char units[] = "BKMGTPE";
	size_t i = 0;
	uint64_t hundredths = bytes;

	for (uint64_t unit = 1; i < sizeof(units) - 1; i++, unit *= 1024) {
		hundredths = round_to_three(bytes, unit);
		if (hundredths < 102400 || i == sizeof(units) - 2)
			break;
	}
	if (i == 0)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 " B", bytes);
	else if (hundredths % 100 == 0)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 " %cB", hundredths / 100, units[i]);
	else if (hundredths % 10 == 0)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 ".%u %cB", hundredths / 100,
		               (unsigned)(hundredths % 100 / 10), units[i]);
	else
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%" PRIu64 ".%02u %cB", hundredths / 100,
		               (unsigned)(hundredths % 100), units[i]);
	return buf;
}
