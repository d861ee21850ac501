#include "base/units.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include "base/text.h"

#define DAY_MS UINT64_C(86400000)
#define WEEK_MS (7 * DAY_MS)
#define YEAR_LAST 9999

static int refuse(const char *s, struct berth_error *err)
{
	BERTH_AUTO_FREE char *shown = berth_utf8_printable(s, 40);

	return berth_error_set(err, -EINVAL,
	                       "\"%s\" is no moment; write now+2h, 18:30, 2026-11-30, 2026-11-30T18:30 or the "
	                       "last with Z or +08:00 behind it",
	                       shown ? shown : "?");
}

/* Exactly n digits at *at, moved past them, at most max. */
static bool take(const char **at, unsigned n, int max, int *ret)
{
	int value = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((*at)[i] < '0' || (*at)[i] > '9')
			return false;
		value = value * 10 + ((*at)[i] - '0');
	}
	*at += n;
	*ret = value;
	return value <= max;
}

static bool take_char(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	(*at)++;
	return true;
}

/* HH:MM[:SS] */
static bool take_clock(const char **at, struct tm *tm)
{
	tm->tm_sec = 0;
	if (!take(at, 2, 23, &tm->tm_hour) || !take_char(at, ':') || !take(at, 2, 59, &tm->tm_min))
		return false;
	return !take_char(at, ':') || take(at, 2, 59, &tm->tm_sec);
}

/* YYYY-MM-DD; whether the month has such a day is seen after the calendar was asked. */
static bool take_date(const char **at, struct tm *tm)
{
	if (!take(at, 4, YEAR_LAST, &tm->tm_year) || !take_char(at, '-') || !take(at, 2, 12, &tm->tm_mon) ||
	    !take_char(at, '-') || !take(at, 2, 31, &tm->tm_mday))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon -= 1;
	return tm->tm_year >= 70 && tm->tm_mon >= 0 && tm->tm_mday >= 1;
}

/* Z or +hh:mm to the end of s, in seconds east of Greenwich. */
static bool parse_zone(const char *s, int *ret_east_s)
{
	const int sign = *s == '-' ? -1 : 1;
	int hours;
	int minutes;

	if (strcmp(s, "Z") == 0) {
		*ret_east_s = 0;
		return true;
	}
	if ((*s != '+' && *s != '-') || (s++, !take(&s, 2, 23, &hours)) || !take_char(&s, ':') ||
	    !take(&s, 2, 59, &minutes))
		return false;
	*ret_east_s = sign * (hours * 3600 + minutes * 60);
	return !*s;
}

static bool to_ms(time_t at, uint64_t *ret_ms)
{
	if (at < 0)
		return false;
	*ret_ms = (uint64_t)at * 1000;
	return true;
}

static bool parse_date(const char *s, uint64_t *ret_ms)
{
	struct tm tm = {.tm_isdst = -1};
	struct tm asked;
	int east_s = 0;
	bool has_zone;
	time_t at;

	if (!take_date(&s, &tm))
		return false;
	if (*s && (!take_char(&s, 'T') || !take_clock(&s, &tm)))
		return false;
	has_zone = *s;
	if (has_zone && !parse_zone(s, &east_s))
		return false;
	asked = tm;
	at = has_zone ? timegm(&tm) - east_s : mktime(&tm);
	return tm.tm_mday == asked.tm_mday && tm.tm_mon == asked.tm_mon && to_ms(at, ret_ms);
}

/* The next moment after now at which a clock on the wall shows this. */
static bool parse_clock(const char *s, uint64_t now_ms, uint64_t *ret_ms)
{
	const time_t now = (time_t)(now_ms / 1000);
	struct tm today;
	struct tm clock = {0};

	if (!take_clock(&s, &clock) || *s || !localtime_r(&now, &today))
		return false;
	for (int day = 0; day < 2; day++) {
		struct tm tm = {.tm_year = today.tm_year,
		                .tm_mon = today.tm_mon,
		                .tm_mday = today.tm_mday + day,
		                .tm_hour = clock.tm_hour,
		                .tm_min = clock.tm_min,
		                .tm_sec = clock.tm_sec,
		                .tm_isdst = -1};

		if (to_ms(mktime(&tm), ret_ms) && *ret_ms > now_ms)
			return true;
	}
	return false;
}

int berth_moment_parse(const char *s, uint64_t now_ms, uint64_t *ret_ms, struct berth_error *err)
{
	uint64_t at_ms = 0;

	if (strcmp(s, "now") == 0) {
		*ret_ms = now_ms;
		return 0;
	}
	if (strncmp(s, "now+", 4) == 0) {
		uint64_t later_ms = 0;
		int r = berth_duration_parse(s + 4, &later_ms, err);

		if (r < 0)
			return r;
		if (later_ms == BERTH_UNLIMITED_MS || __builtin_add_overflow(now_ms, later_ms, &at_ms))
			return refuse(s, err);
	} else if (!parse_date(s, &at_ms) && !parse_clock(s, now_ms, &at_ms)) {
		return refuse(s, err);
	}
	*ret_ms = at_ms;
	return 0;
}

/* Local calendar time; false for what no calendar of four-digit years shows. */
static bool to_local(uint64_t at_ms, struct tm *ret)
{
	const time_t at = (time_t)(at_ms / 1000);

	return localtime_r(&at, ret) && ret->tm_year + 1900 <= YEAR_LAST;
}

char *berth_moment_format(uint64_t at_ms, char buf[static BERTH_FORMAT_MAX])
{
	struct tm tm;
	size_t n;
	long east_min;

	if (!to_local(at_ms, &tm)) {
		(void)snprintf(buf, BERTH_FORMAT_MAX, "-");
		return buf;
	}
	n = strftime(buf, BERTH_FORMAT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	east_min = tm.tm_gmtoff / 60;
	(void)snprintf(buf + n, BERTH_FORMAT_MAX - n, ".%03u%c%02u:%02u", (unsigned)(at_ms % 1000),
	               east_min < 0 ? '-' : '+', (unsigned)labs(east_min) / 60, (unsigned)labs(east_min) % 60);
	return buf;
}

char *berth_moment_format_short(uint64_t at_ms, uint64_t now_ms, char buf[static BERTH_FORMAT_MAX])
{
	static const char *const weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	const uint64_t apart_ms = at_ms > now_ms ? at_ms - now_ms : now_ms - at_ms;
	struct tm tm;
	struct tm now;

	if (!to_local(at_ms, &tm) || !to_local(now_ms, &now))
		(void)snprintf(buf, BERTH_FORMAT_MAX, "-");
	else if (tm.tm_year == now.tm_year && tm.tm_yday == now.tm_yday)
		(void)strftime(buf, BERTH_FORMAT_MAX, "%H:%M", &tm);
	else if (apart_ms < WEEK_MS)
		(void)snprintf(buf, BERTH_FORMAT_MAX, "%s %02d:%02d", weekdays[tm.tm_wday], tm.tm_hour, tm.tm_min);
	else
		(void)strftime(buf, BERTH_FORMAT_MAX, "%Y-%m-%d", &tm);
	return buf;
}
