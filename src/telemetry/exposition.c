#include "telemetry/exposition.h"

#include <inttypes.h>

void berth_exposition_family(struct berth_text *text, const char *name, const char *type, const char *help)
{
	berth_text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Backslash, quote and newline are all that the format needs escaped; berth_utf8_printable has taken newlines away. */
static void add_value(struct berth_text *text, const char *value)
{
	BERTH_AUTO_FREE char *printable = berth_utf8_printable(value, 0);

	if (!printable) {
		text->is_failed = true;
		return;
	}
	for (const char *s = printable; *s; s++) {
		if (*s == '\\' || *s == '"')
			berth_text_add_n(text, "\\", 1);
		berth_text_add_n(text, s, 1);
	}
}

static void add_name(struct berth_text *text, const char *name, const struct berth_exposition_label *labels, size_t n)
{
	berth_text_add(text, name);
	for (size_t i = 0; i < n; i++) {
		berth_text_addf(text, "%s%s=\"", i ? "," : "{", labels[i].name);
		add_value(text, labels[i].value);
		berth_text_add(text, "\"");
	}
	berth_text_add(text, n ? "} " : " ");
}

void berth_exposition_sample(struct berth_text *text, const char *name, const struct berth_exposition_label *labels,
                             size_t n, uint64_t value)
{
	add_name(text, name, labels, n);
	berth_text_addf(text, "%" PRIu64 "\n", value);
}

void berth_exposition_sample_milli(struct berth_text *text, const char *name,
                                   const struct berth_exposition_label *labels, size_t n, uint64_t value_milli)
{
	add_name(text, name, labels, n);
	berth_text_addf(text, "%" PRIu64 ".%03" PRIu64 "\n", value_milli / 1000, value_milli % 1000);
}
