/* berth: the command line. Finds the verb, reads its options, runs it. */
#include <string.h>
#include "base/text.h"
#include "cli/verbs.h"

/* Was JSON asked for? Known before the options are read, so that a complaint about them is JSON too. */
static bool wants_json(char *const *argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--json") == 0)
			return true;
	return false;
}

static int complain_verb(struct berth_cli *cli, const char *word)
{
	const char *names[64] = {0};
	const char *nearest;
	size_t n = 0;

	for (const struct berth_verb *verb = berth_verbs; verb->name && n < 63; verb++)
		if (verb->summary)
			names[n++] = verb->name;
	nearest = berth_text_nearest(word, names);
	if (nearest)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "no command '%s'. Did you mean '%s'?", word,
		                      nearest);
	return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", "All of them:  berth help", "no command '%s'", word);
}

/* "config" alone: which of its commands was meant? */
static int complain_family(struct berth_cli *cli, const char *first, const char *second)
{
	BERTH_AUTO_TEXT struct berth_text help = {0};

	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++)
		if (strncmp(verb->name, first, strlen(first)) == 0)
			berth_text_addf(&help, "berth %s%s%s\n", verb->name, *verb->args ? " " : "", verb->args);
	if (second)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", berth_text_str(&help), "no command '%s %s'",
		                      first, second);
	return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", berth_text_str(&help), "%s needs a word behind it",
	                      first);
}

/* argv[0] is the verb's first word. *ret_words: how many words its name has. 0, or an exit code after a complaint. */
static int find_verb(struct berth_cli *cli, char *const *argv, int *ret_words)
{
	const size_t n = strlen(argv[0]);
	BERTH_AUTO_TEXT struct berth_text two = {0};

	*ret_words = 1;
	cli->verb = berth_verb_find(argv[0]);
	if (cli->verb)
		return 0;
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++) {
		if (strncmp(verb->name, argv[0], n) != 0 || verb->name[n] != ' ')
			continue;
		if (!argv[1] || argv[1][0] == '-')
			return complain_family(cli, argv[0], NULL);
		berth_text_addf(&two, "%s %s", argv[0], argv[1]);
		*ret_words = 2;
		cli->verb = two.at ? berth_verb_find(two.at) : NULL;
		return cli->verb ? 0 : complain_family(cli, argv[0], argv[1]);
	}
	return complain_verb(cli, argv[0]);
}

static int check_operands(const struct berth_cli *cli)
{
	const struct berth_verb *verb = cli->verb;

	if (cli->argc < verb->min_operands)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "too few words; it is  berth %s %s",
		                      verb->name, verb->args);
	if (verb->max_operands >= 0 && cli->argc > verb->max_operands)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL,
		                      "\"%s\" is one word too many; it is  berth %s%s%s", cli->argv[verb->max_operands],
		                      verb->name, *verb->args ? " " : "", verb->args);
	return 0;
}

/* argv[0] is the last word of the verb's name. */
static int run_verb(struct berth_cli *cli, int argc, char **argv)
{
	const struct berth_option *tables[BERTH_TABLES_MAX + 1] = {0};
	struct berth_error err = {0};
	const char *help = NULL;
	size_t n = 0;
	int operand = 0;
	int r;

	for (; n < BERTH_TABLES_MAX && cli->verb->tables[n]; n++)
		tables[n] = cli->verb->tables[n];
	tables[n] = berth_common_options;
	berth_given_init(&cli->given, tables);
	if (berth_given_parse(&cli->given, argc, argv, "", cli->verb->has_command, &cli->arena, &operand,
	                      &cli->has_dashes, &help, &err) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", help, "%s", err.text);
	if (berth_given_has(&cli->given, "help")) {
		berth_help_print(cli->verb, stdout);
		return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
	}
	cli->argc = argc - operand;
	cli->argv = argv + operand;
	r = check_operands(cli);
	return r ? r : cli->verb->run(cli);
}

/* Only --help and --version stand before a command. */
static int run(struct berth_cli *cli, int argc, char **argv)
{
	int words = 1;
	int r;

	if (argc < 2) {
		berth_help_overview(stderr);
		return BERTH_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		berth_help_overview(stdout);
		return BERTH_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		return puts("berth " BERTH_VERSION) == EOF || fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
	}
	if (argv[1][0] == '-')
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", "berth COMMAND [options]",
		                      "options stand behind the command, not before it: %s", argv[1]);
	r = find_verb(cli, argv + 1, &words);
	return r ? r : run_verb(cli, argc - words, argv + words);
}

int main(int argc, char **argv)
{
	struct berth_cli cli = {.program = argc > 0 ? argv[0] : "berth", .is_json = argc > 0 && wants_json(argv)};
	int r = run(&cli, argc, argv);

	berth_arena_fini(&cli.arena);
	return r;
}
