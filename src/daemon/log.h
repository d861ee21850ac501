#ifndef BERTH_DAEMON_LOG_H
#define BERTH_DAEMON_LOG_H
/* The daemon's log: one line per event on standard error. Rooms below never log; they return errors, and the daemon
 * says them here, once.
 *
 * On a terminal or a file a line is "2026-11-30T19:16:54.123+08:00 warning: text". Under systemd (standard error is the
 * stream that JOURNAL_STREAM names) it is "<4>text": the journal has its own clock, and the number is its priority
 * (sd-daemon(3)). Control characters in what users named (jobs, files) become '?', so that a line is always one line.
 */
#include <stdbool.h>
#include <stdint.h>
#include "base/cleanup.h"

enum berth_log_level { BERTH_LOG_ERROR = 0, BERTH_LOG_WARNING, BERTH_LOG_INFO, BERTH_LOG_DEBUG, BERTH_LOG_LEVELS };

struct berth_log {
	int fd;                     /* borrowed; standard error in the daemon */
	enum berth_log_level level; /* finer lines are dropped */
	bool is_journal;            /* lines for systemd's journal */
};

/* "error", "warning", "info", "debug"; then NULL. */
extern const char *const berth_log_level_names[BERTH_LOG_LEVELS + 1];

/* Does JOURNAL_STREAM's value (may be NULL), "DEVICE:INODE", name the file behind fd? */
bool berth_log_is_journal(int fd, const char *journal_stream);
/* Write one line; what cannot be written is lost, silently: a full disk must not stop the scheduler. */
void berth_log(const struct berth_log *log, enum berth_log_level level, const char *fmt, ...) BERTH_PRINTF(3, 4);
#endif
