#include "base/error.h"

#include <stdarg.h>
#include <string.h>

/* Shorten text, which a full buffer may have cut inside a character, to its last whole UTF-8 character. */
static void drop_cut_character(char *text, size_t len)
{
	size_t lead = len;
	size_t need = 1;

	while (lead > 0 && ((unsigned char)text[lead - 1] & 0xc0u) == 0x80u)
		lead--;
	if (lead == 0)
		return;
	lead--;
	if (((unsigned char)text[lead] & 0xe0u) == 0xc0u)
		need = 2;
	else if (((unsigned char)text[lead] & 0xf0u) == 0xe0u)
		need = 3;
	else if (((unsigned char)text[lead] & 0xf8u) == 0xf0u)
		need = 4;
	if (len - lead < need)
		text[lead] = '\0';
}

static void fill(struct berth_error *err, int code, const char *fmt, va_list args) BERTH_PRINTF(3, 0);
static void fill(struct berth_error *err, int code, const char *fmt, va_list args)
{
	int n = vsnprintf(err->text, sizeof(err->text), fmt, args);

	err->code = code;
	if (n < 0)
		err->text[0] = '\0';
	else if ((size_t)n >= sizeof(err->text))
		drop_cut_character(err->text, sizeof(err->text) - 1);
}

int berth_error_set(struct berth_error *err, int code, const char *fmt, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	fill(err, code, fmt, args);
	va_end(args);
	return code;
}

int berth_error_errno(struct berth_error *err, int code, const char *fmt, ...)
{
	const char *words = strerrordesc_np(-code); /* never translated, needs no buffer */
	char what[sizeof(err->text)];
	struct berth_error cause;
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	fill(&cause, code, fmt, args);
	va_end(args);
	memcpy(what, cause.text, sizeof(what));
	return berth_error_set(err, code, "%s: %s", what, words ? words : "unknown error");
}
