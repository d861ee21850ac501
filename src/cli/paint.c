#include "cli/paint.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

bool berth_paint_is_on(FILE *stream)
{
	const char *term = getenv("TERM");

	if (is_set("NO_COLOR"))
		return false;
	if (is_set("FORCE_COLOR"))
		return strcmp(getenv("FORCE_COLOR"), "0") != 0;
	return term && strcmp(term, "dumb") != 0 && isatty(fileno(stream));
}

const char *berth_paint(FILE *stream, enum berth_style style)
{
	static const char *const escapes[] = {
		[BERTH_STYLE_PLAIN] = "\033[0m", [BERTH_STYLE_BAD] = "\033[31m",  [BERTH_STYLE_WARN] = "\033[33m",
		[BERTH_STYLE_GOOD] = "\033[32m", [BERTH_STYLE_FAINT] = "\033[2m", [BERTH_STYLE_BOLD] = "\033[1m",
	};

	return berth_paint_is_on(stream) ? escapes[style] : "";
}
