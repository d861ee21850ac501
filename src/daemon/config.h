#ifndef BERTH_DAEMON_CONFIG_H
#define BERTH_DAEMON_CONFIG_H
/* Configuration: a YAML file, a table of keys, and for every value where it came from.
 *
 * The table (berth_config_keys) is the whole schema: path, type, bounds, default, meaning. Nothing else is a key; a key
 * that is not in it is an error with line, column and the nearest one that is. Values that were set on the command line
 * win over the file. A file is taken whole or not at all, and all its faults are told at once.
 *
 * Durations are written as everywhere in berth (90m, 24:00:00, 1-12, UNLIMITED). A bare number means minutes, as Slurm
 * has it, where a job's time limit is meant; elsewhere the unit must be written, since `grace: 30` meaning half an hour
 * would surprise.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/text.h"
#include "daemon/cards.h"
#include "daemon/log.h"
#include "daemon/source.h"

#define BERTH_CONFIG_FILE_MAX 4096
#define BERTH_CONFIG_VALUE_MAX 5120

struct berth_listen {
	bool is_on;    /* false: "none" */
	char addr[64]; /* "127.0.0.1", "::1" */
	uint16_t port; /* 0 = any free one */
};

enum berth_config_key {
	BERTH_KEY_LISTEN = 0,
	BERTH_KEY_DEVICES,
	BERTH_KEY_CARDS,
	BERTH_KEY_DEFAULT_GPUS,
	BERTH_KEY_DEFAULT_TIME,
	BERTH_KEY_DEFAULT_GRACE,
	BERTH_KEY_DEFAULT_REQUEUE,
	BERTH_KEY_MAX_TIME,
	BERTH_KEY_BACKOFF_FIRST,
	BERTH_KEY_BACKOFF_MAX,
	BERTH_KEY_RETENTION,
	BERTH_KEY_LOG_LEVEL,
	BERTH_CONFIG_KEYS
};

enum berth_origin_kind { BERTH_ORIGIN_DEFAULT = 0, BERTH_ORIGIN_FILE, BERTH_ORIGIN_COMMAND_LINE };
struct berth_origin {
	enum berth_origin_kind kind;
	uint32_t line, column; /* from 1; 0 unless from the file */
};

/* Plain values: copied by assignment. */
struct berth_config {
	struct berth_listen listen;
	struct berth_source devices;
	struct berth_cards cards;
	uint32_t default_gpus, default_requeue;
	uint64_t default_limit_ms, default_grace_ms; /* of jobs that say nothing */
	uint64_t max_limit_ms;                       /* UINT64_MAX = none */
	uint64_t backoff_first_ms, backoff_max_ms, retain_ms;
	enum berth_log_level log_level;
	struct berth_origin origin[BERTH_CONFIG_KEYS];
	char file[BERTH_CONFIG_FILE_MAX]; /* that was read; "" = none */
};

enum berth_config_type {
	BERTH_TYPE_LISTEN = 0,
	BERTH_TYPE_DEVICES,
	BERTH_TYPE_CARDS,
	BERTH_TYPE_COUNT,
	BERTH_TYPE_DURATION,
	BERTH_TYPE_LEVEL,
	BERTH_TYPES
};
struct berth_config_entry {
	const char *path; /* "limits.max_time": section and name, or a name alone */
	enum berth_config_type type;
	size_t offset;         /* in struct berth_config */
	uint64_t min, max;     /* COUNT, DURATION (ms) */
	bool has_bare_minutes; /* DURATION: a bare number is minutes */
	bool is_live;          /* SIGHUP applies it; else it needs a restart */
	const char *preset;    /* the default, as it would be written */
	const char *doc;
};
/* In the order of enum berth_config_key. */
extern const struct berth_config_entry berth_config_keys[BERTH_CONFIG_KEYS];

/* All defaults. */
void berth_config_init(struct berth_config *config);
/* Set one value from its text, as from the command line. -EINVAL with what is wrong; config unchanged then. */
BERTH_MUST_USE int berth_config_set(struct berth_config *config, enum berth_config_key key, const char *text,
                                    struct berth_origin origin, struct berth_error *err);
/* Read FILE over config, whose values from the command line stay. All or nothing.
 * complaints (empty at call): on -EINVAL one line for each fault, "FILE:LINE:COL: error: …"; on -ENOENT, -EACCES … one
 * line "FILE: error: …". */
BERTH_MUST_USE int berth_config_load(struct berth_config *config, const char *file, struct berth_text *complaints);
/* The default limit as it is applied: the site's maximum when that is lower and nobody wrote a default. */
uint64_t berth_config_limit_ms(const struct berth_config *config);

/* A value as it could be written in the file. Returns buf; cut when cap is too small (BERTH_CONFIG_VALUE_MAX never is).
 */
char *berth_config_value(const struct berth_config *config, enum berth_config_key key, char *buf, size_t cap);
/* "default", "command line" or "FILE:LINE". Returns buf. */
char *berth_config_origin(const struct berth_config *config, enum berth_config_key key, char *buf, size_t cap);
/* {"schema":"berth.config/1","file":…|null,"values":[{"key","value","origin","default","doc"}]}. Allocated; NULL when
 * memory is out. */
char *berth_config_json(const struct berth_config *config);
/* What a re-read changed: live values of next are put into config, with their origins. Returns the bits (1 << key) of
 * values that differ but need a restart; config keeps the old ones. */
uint32_t berth_config_apply_live(struct berth_config *config, const struct berth_config *next);
#endif
