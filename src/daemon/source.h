#ifndef BERTH_DAEMON_SOURCE_H
#define BERTH_DAEMON_SOURCE_H
/* Where the devices come from: --devices SPEC, configuration `devices:`.
 *
 *   auto         what is found. This version has no driver for real cards yet, so auto is a simulated server:
 * sim:8xA100-80GB sim:MODELS   simulated cards, see device/sim/sim.h: "sim:8xA100-80GB", "sim:4xA100-80GB+2xL40S"
 *   sim:FILE     the same from a YAML file
 */
#include <stdbool.h>
#include "base/error.h"

#define BERTH_SOURCE_MAX 512
#define BERTH_SOURCE_AUTO "sim:8xA100-80GB" /* what auto stands for while there is no driver for real cards */

struct berth_source {
	char spec[BERTH_SOURCE_MAX]; /* resolved: never "auto" */
	char driver[16];             /* "sim" */
	char arg[BERTH_SOURCE_MAX];  /* "8xA100-80GB" */
	bool is_auto;                /* nobody chose it */
	bool is_simulated;
};

/* Take SPEC apart. -EINVAL with what is wrong and what works: unknown kinds, kinds of a later version, several with
 * commas. */
BERTH_MUST_USE int berth_source_parse(const char *spec, struct berth_source *ret, struct berth_error *err);
/* Would its driver open it (a model's name, a file's contents)? Only for drivers that cannot hang, which simulated ones
 * are: opens and scans in this process. 0, or the driver's error; -ENODEV when it has no devices. */
BERTH_MUST_USE int berth_source_check(const struct berth_source *source, struct berth_error *err);
#endif
