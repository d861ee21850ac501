#include "daemon/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

#define LINE_MAX_BYTES 4096

const char *const berth_log_level_names[BERTH_LOG_LEVELS + 1] = {"error", "warning", "info", "debug", NULL};

/* Syslog's numbers for the four levels. */
static const int priorities[BERTH_LOG_LEVELS] = {3, 4, 6, 7};

bool berth_log_is_journal(int fd, const char *journal_stream)
{
	struct stat st;
	char name[64];

	if (!journal_stream || fstat(fd, &st) < 0)
		return false;
	(void)snprintf(name, sizeof(name), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(name, journal_stream) == 0;
}

static void add_prefix(const struct berth_log *log, enum berth_log_level level, struct berth_text *line)
{
	char now[BERTH_FORMAT_MAX];

	if (log->is_journal) {
		berth_text_addf(line, "<%d>", priorities[level]);
		return;
	}
	berth_text_addf(line, "%s ", berth_moment_format(berth_clock_wall_ms(), now));
	if (level != BERTH_LOG_INFO)
		berth_text_addf(line, "%s: ", berth_log_level_names[level]);
}

void berth_log(const struct berth_log *log, enum berth_log_level level, const char *fmt, ...)
{
	BERTH_AUTO_TEXT struct berth_text line = {0};
	BERTH_AUTO_FREE char *clean = NULL;
	char raw[LINE_MAX_BYTES];
	va_list args;

	if (level > log->level)
		return;
	va_start(args, fmt);
	(void)vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	clean = berth_utf8_printable(raw, 0);
	add_prefix(log, level, &line);
	berth_text_addf(&line, "%s\n", clean ? clean : "out of memory while writing the log");
	if (berth_text_str(&line) && berth_fd_write_all(log->fd, line.at, line.len) < 0)
		return; /* there is nowhere left to say it */
}
