/* help, and what shells ask for completion. */
#include <inttypes.h>
#include <string.h>
#include "cli/client.h"
#include "cli/job.h"
#include "cli/paint.h"
#include "cli/verbs.h"

#define OPTION_COLUMNS 26 /* of an option's name and value, behind the indent */
#define HELP_COLUMNS 80

/* What an option does, from column `from` on, broken between words. */
static void print_wrapped(const char *words, int from, FILE *out)
{
	int column = from;

	while (*words) {
		const int n = (int)strcspn(words, " ");

		if (column > from && column + 1 + n > HELP_COLUMNS) {
			fprintf(out, "\n%*s", from, "");
			column = from;
		}
		column += fprintf(out, "%s%.*s", column > from ? " " : "", n, words);
		words += n + (words[n] == ' ');
	}
	fputc('\n', out);
}

static void print_option(const struct berth_option *option, FILE *out)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};

	if (option->letter)
		berth_text_addf(&text, "-%c, ", option->letter);
	else
		berth_text_add(&text, "    ");
	berth_text_addf(&text, "--%s", option->name);
	if (option->value && option->value[0] == '[')
		berth_text_addf(&text, "[=%s", option->value + 1);
	else if (option->value)
		berth_text_addf(&text, " %s", option->value);
	if (text.len <= OPTION_COLUMNS)
		fprintf(out, "  %-*s ", OPTION_COLUMNS, text.at);
	else
		fprintf(out, "  %s\n  %*s ", text.at ? text.at : "?", OPTION_COLUMNS, "");
	print_wrapped(option->help, OPTION_COLUMNS + 3, out);
}

void berth_help_print(const struct berth_verb *verb, FILE *out)
{
	fprintf(out, "berth %s%s%s%s\n  %s\n\nOptions:\n", verb->name, verb->tables[0] ? " [options]" : "",
	        *verb->args ? " " : "", verb->args, verb->summary ? verb->summary : "");
	for (size_t i = 0; i < BERTH_TABLES_MAX && verb->tables[i]; i++)
		for (const struct berth_option *option = verb->tables[i]; option->name; option++)
			print_option(option, out);
	for (const struct berth_option *option = berth_common_options; option->name; option++)
		print_option(option, out);
	if (verb->more)
		fprintf(out, "\n%s", verb->more);
}

void berth_help_overview(FILE *out)
{
	fputs("berth finds every job its place on shared GPU servers.\n\n"
	      "  berth run -G 2 -- python train.py       run it now, or as soon as 2 GPUs are free\n"
	      "  berth submit -G 2 -- python train.py    put it into the queue and go home\n\n",
	      out);
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++)
		if (verb->summary)
			fprintf(out, "  %s%-13s%s %s\n", berth_paint(out, BERTH_STYLE_BOLD), verb->name,
			        berth_paint(out, BERTH_STYLE_PLAIN), verb->summary);
	fputs("\nOptions of each:  berth help COMMAND      Version:  berth --version\n", out);
}

int berth_verb_help(struct berth_cli *cli)
{
	BERTH_AUTO_TEXT struct berth_text name = {0};
	const struct berth_verb *verb;
	bool is_found = false;

	for (int i = 0; i < cli->argc; i++)
		berth_text_addf(&name, "%s%s", i > 0 ? " " : "", cli->argv[i]);
	if (name.len == 0) {
		berth_help_overview(stdout);
		return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
	}
	for (verb = berth_verbs; verb->name && verb->summary; verb++) {
		const bool is_family = strncmp(verb->name, name.at, name.len) == 0 && verb->name[name.len] == ' ';

		if (!is_family && strcmp(verb->name, name.at) != 0)
			continue;
		if (is_found)
			putchar('\n');
		berth_help_print(verb, stdout);
		is_found = true;
	}
	if (!is_found)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", "All of them:  berth help", "no command '%s'",
		                      name.at);
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}

static void print_options(const struct berth_verb *verb)
{
	for (size_t i = 0; i < BERTH_TABLES_MAX && verb->tables[i]; i++)
		for (const struct berth_option *option = verb->tables[i]; option->name; option++)
			printf("--%s\n", option->name);
	for (const struct berth_option *option = berth_common_options; option->name; option++)
		printf("--%s\n", option->name);
}

/* One field of every element of a list, one a line. A shell that completes wants no error messages. */
static int print_list(struct berth_cli *cli, const char *target, const char *list, const char *field)
{
	const struct berth_call call = {.method = "GET", .target = target};
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	const json_t *element;
	size_t i;

	if (berth_call_try(cli, &call, &reply, NULL) < 0)
		return BERTH_EXIT_UNREACHABLE;
	json_array_foreach(json_object_get(reply.json, list), i, element)
		printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(json_object_get(element, field)));
	return BERTH_EXIT_OK;
}

int berth_verb_complete(struct berth_cli *cli)
{
	BERTH_AUTO_TEXT struct berth_text name = {0};
	const struct berth_verb *verb;

	for (int i = 1; i < cli->argc; i++)
		berth_text_addf(&name, "%s%s", i > 1 ? " " : "", cli->argv[i]);
	verb = name.at ? berth_verb_find(name.at) : NULL;
	if (strcmp(cli->argv[0], "jobs") == 0)
		return print_list(cli, "/api/v1/jobs", "jobs", "id");
	if (strcmp(cli->argv[0], "gpus") == 0)
		return print_list(cli, "/api/v1/gpus", "gpus", "index");
	if (strcmp(cli->argv[0], "options") == 0 && verb)
		print_options(verb);
	for (verb = berth_verbs; strcmp(cli->argv[0], "verbs") == 0 && verb->name; verb++)
		if (verb->summary)
			printf("%s\n", verb->name);
	return BERTH_EXIT_OK;
}
