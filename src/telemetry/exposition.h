#ifndef BERTH_TELEMETRY_EXPOSITION_H
#define BERTH_TELEMETRY_EXPOSITION_H
/* Prometheus' text format 0.0.4, line by line: https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * A family is opened once, its samples follow at once. Values are whole numbers or thousandths, never floating point,
 * so no locale can turn a point into a comma. Failed allocations stick in the text, as everywhere.
 */
#include "base/text.h"

struct berth_exposition_label {
	const char *name, *value; /* value: any bytes; what is no UTF-8 or a control character becomes '?' */
};

/* type: "gauge", "counter", "histogram". help: one line, ends with a full stop. */
void berth_exposition_family(struct berth_text *text, const char *name, const char *type, const char *help);
/* name: the family's, or with _bucket, _sum, _count. labels: n of them; may be NULL for n = 0. */
void berth_exposition_sample(struct berth_text *text, const char *name, const struct berth_exposition_label *labels,
                             size_t n, uint64_t value);
/* The same for value / 1,000. */
void berth_exposition_sample_milli(struct berth_text *text, const char *name,
                                   const struct berth_exposition_label *labels, size_t n, uint64_t value_milli);
#endif
