#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>
#include "base/text.h"
#include "cli/paint.h"

const struct berth_option berth_common_options[] = {
	{"json", 0, NULL, "print one JSON object instead of text", NULL},
	{"socket", 0, "PATH", "the daemon's socket, instead of looking for it", NULL},
	{"help", 'h', NULL, "say what this command does", NULL},
	{0},
};

/* Lines of help below an error, two columns in. */
static void print_help(const char *help)
{
	while (*help) {
		const size_t n = strcspn(help, "\n");

		fprintf(stderr, "  %.*s\n", (int)n, help);
		help += n + (help[n] == '\n');
	}
}

static int complain(const struct berth_cli *cli, enum berth_exit code, json_t *error)
{
	const char *message = json_string_value(json_object_get(error, "message"));
	const char *help = json_string_value(json_object_get(error, "help"));
	BERTH_AUTO_FREE char *printable = NULL;
	json_t *object;

	if (cli->is_json && cli->errors) {
		(void)json_array_append_new(cli->errors, json_pack("{s:O}", "error", error));
		return (int)code;
	}
	if (cli->is_json) {
		object = json_pack("{s:s, s:O}", "schema", "berth.error/1", "error", error);
		(void)berth_print_json(object);
		json_decref(object);
		return (int)code;
	}
	(void)fflush(stdout); /* what was said before stands before, also where both streams end in one file */
	printable = berth_utf8_printable(message ? message : "out of memory", 0);
	fprintf(stderr, "%serror:%s %s\n", berth_paint(stderr, BERTH_STYLE_BAD), berth_paint(stderr, BERTH_STYLE_PLAIN),
	        printable ? printable : "out of memory");
	if (help)
		print_help(help);
	return (int)code;
}

int berth_complain(const struct berth_cli *cli, enum berth_exit code, const char *word, const char *help,
                   const char *fmt, ...)
{
	BERTH_AUTO_FREE char *text = NULL;
	BERTH_AUTO_FREE char *printable = NULL;
	json_t *error;
	va_list args;
	int r;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	printable = text ? berth_utf8_printable(text, 0)
	                 : NULL; /* it may quote what no JSON and no terminal should see */
	error = json_pack("{s:s, s:s, s:{}, s:s?}", "code", word, "message", printable ? printable : "out of memory",
	                  "params", "help", help);
	r = complain(cli, code, error);
	json_decref(error);
	return r;
}

int berth_complain_memory(const struct berth_cli *cli)
{
	return berth_complain(cli, BERTH_EXIT_FAILED, "OutOfMemory", NULL, "out of memory");
}

int berth_complain_answer(const struct berth_cli *cli, enum berth_exit code, const json_t *error)
{
	if (!json_is_string(json_object_get(error, "message")))
		return berth_complain(cli, BERTH_EXIT_FAILED, "Protocol",
		                      "Are berth and berthd of the same version?  berth --version",
		                      "the daemon's answer is not understood");
	return complain(cli, code, (json_t *)error);
}

static void say(enum berth_style style, const char *lead, const char *fmt, va_list args) BERTH_PRINTF(3, 0);
static void say(enum berth_style style, const char *lead, const char *fmt, va_list args)
{
	BERTH_AUTO_FREE char *text = NULL;
	BERTH_AUTO_FREE char *printable = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	printable = text ? berth_utf8_printable(text, 0) : NULL;
	fprintf(stderr, "%s%s:%s %s\n", berth_paint(stderr, style), lead, berth_paint(stderr, BERTH_STYLE_PLAIN),
	        printable ? printable : "out of memory");
}

void berth_warn(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(BERTH_STYLE_WARN, "warning", fmt, args);
	va_end(args);
}

void berth_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(BERTH_STYLE_FAINT, "berth", fmt, args);
	va_end(args);
}

int berth_print_json(const json_t *object)
{
	if (!object || json_dumpf(object, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
		return BERTH_EXIT_FAILED;
	return BERTH_EXIT_OK;
}

enum berth_exit berth_exit_of_status(int status)
{
	switch (status) {
	case 200 ... 299:
		return BERTH_EXIT_OK;
	case 400:
		return BERTH_EXIT_USAGE;
	case 401:
	case 403:
		return BERTH_EXIT_DENIED;
	case 404:
		return BERTH_EXIT_NO_SUCH;
	case 413:
	case 422:
	case 429:
		return BERTH_EXIT_REFUSED;
	default:
		return BERTH_EXIT_FAILED;
	}
}
