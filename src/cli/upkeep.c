/* doctor, config, admin sim, web: for those who keep the machine. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include "cli/client.h"
#include "cli/field.h"
#include "cli/paint.h"
#include "cli/programs.h"
#include "cli/table.h"
#include "cli/verbs.h"

static void print_check(const json_t *check)
{
	static const struct {
		const char *result, *shown;
		enum berth_style style;
	} results[] = {
		{"ok", "ok", BERTH_STYLE_GOOD}, {"warn", "warn", BERTH_STYLE_WARN}, {"fail", "FAIL", BERTH_STYLE_BAD}};
	const char *result = berth_json_text(check, "result");
	BERTH_AUTO_FREE char *name = berth_json_printable(check, "name", 0);
	BERTH_AUTO_FREE char *text = berth_json_printable(check, "text", 0);
	BERTH_AUTO_FREE char *fix = berth_json_printable(check, "fix", 0);
	size_t i = 0;

	while (i < 2 && strcmp(results[i].result, result) != 0)
		i++;
	printf("%s%-4s%s  %-12s %s\n", berth_paint(stdout, results[i].style), results[i].shown,
	       berth_paint(stdout, BERTH_STYLE_PLAIN), name ? name : "?", text ? text : "?");
	if (*berth_json_text(check, "fix"))
		printf("%-19sfix: %s\n", "", fix ? fix : "?");
}

int berth_verb_doctor(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	const json_t *checks;
	const json_t *check;
	size_t failed = 0;
	size_t i;
	int r = berth_ask(cli, "GET", "/api/v1/doctor", NULL, &answer);

	if (r != BERTH_EXIT_OK)
		return r;
	checks = json_object_get(answer, "checks");
	json_array_foreach(checks, i, check)
		failed += strcmp(berth_json_text(check, "result"), "fail") == 0;
	if (cli->is_json)
		r = berth_print_json(answer);
	json_array_foreach(checks, i, check)
		if (!cli->is_json)
			print_check(check);
	if (fflush(stdout) == EOF)
		r = BERTH_EXIT_FAILED;
	return failed > 0 ? BERTH_EXIT_FAILED : r;
}

/* Run it in our place, so that its words and its exit code are what the user gets. */
static int become(struct berth_cli *cli, const char *program, char *const *argv)
{
	(void)execv(program, argv);
	return berth_complain(cli, BERTH_EXIT_FAILED, "Exec", NULL, "cannot run %s: %s", program,
	                      strerrordesc_np(errno));
}

/* With --json the words of the check go into an object. */
static int check_as_json(struct berth_cli *cli, const char *program, char *const *argv)
{
	BERTH_AUTO_TEXT struct berth_text words = {0};
	BERTH_AUTO_JSON json_t *object = NULL;
	int status = 0;
	int r = berth_program_capture(program, argv, &words, &status);

	if (r < 0)
		return berth_complain(cli, BERTH_EXIT_FAILED, "Exec", NULL, "cannot run %s: %s", program,
		                      strerrordesc_np(-r));
	while (words.len > 0 && words.at[words.len - 1] == '\n')
		words.at[--words.len] = '\0';
	object = json_pack("{s:s, s:b, s:s}", "schema", "berth.check/1", "is_good", status == 0, "text",
	                   words.at ? words.at : "");
	(void)berth_print_json(object);
	return status;
}

int berth_verb_config_check(struct berth_cli *cli)
{
	char *const argv[] = {(char *)"berthd", (char *)"--check-config", cli->argc > 0 ? cli->argv[0] : NULL, NULL};
	const char *program = berth_program_find(cli->program, "berthd", &cli->arena);

	if (!program)
		return berth_complain(cli, BERTH_EXIT_FAILED, "NoProgram",
		                      "It checks the file; reinstall berth, or put berthd into PATH.",
		                      "berthd is not where berth is");
	return cli->is_json ? check_as_json(cli, program, argv) : become(cli, program, argv);
}

int berth_verb_config_show(struct berth_cli *cli)
{
	static const struct berth_column columns[] = {{"KEY", false, 0}, {"VALUE", false, 0}, {"FROM", false, 0}};
	BERTH_AUTO_TABLE struct berth_table table = {0};
	BERTH_AUTO_JSON json_t *answer = NULL;
	const json_t *value;
	size_t i;
	int r = berth_ask(cli, "GET", "/api/v1/config", NULL, &answer);

	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	berth_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
	json_array_foreach(json_object_get(answer, "values"), i, value) {
		const char *origin = berth_json_text(value, "origin");

		berth_table_add(&table, BERTH_STYLE_PLAIN, berth_json_text(value, "key"));
		berth_table_add(&table, BERTH_STYLE_PLAIN, berth_json_text(value, "value"));
		berth_table_add(&table, strcmp(origin, "default") == 0 ? BERTH_STYLE_FAINT : BERTH_STYLE_PLAIN, origin);
	}
	if (berth_table_print(&table, 0, stdout) < 0 || fflush(stdout) == EOF)
		return BERTH_EXIT_FAILED;
	return BERTH_EXIT_OK;
}

int berth_verb_admin_sim(struct berth_cli *cli)
{
	BERTH_AUTO_TEXT struct berth_text what = {0};
	BERTH_AUTO_JSON json_t *body = NULL;
	BERTH_AUTO_JSON json_t *answer = NULL;
	int r;

	for (int i = 1; i < cli->argc; i++)
		berth_text_addf(&what, "%s%s", i > 1 ? " " : "", cli->argv[i]);
	body = json_pack("{s:s, s:s}", "gpu", cli->argv[0], "inject", what.at ? what.at : "");
	if (!body)
		return berth_complain(cli, BERTH_EXIT_USAGE, "NotUtf8", NULL, "what to inject is not UTF-8 text");
	r = berth_ask(cli, "POST", "/api/v1/admin/sim", body, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	printf("GPU %s: %s\n", cli->argv[0], what.at);
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}

static bool has_display(void)
{
	return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY");
}

int berth_verb_web(struct berth_cli *cli)
{
	BERTH_AUTO_JSON json_t *answer = NULL;
	BERTH_AUTO_FREE char *url = NULL;
	int r = berth_ask(cli, "POST", "/api/v1/login-links", NULL, &answer);

	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json)
		return berth_print_json(answer);
	url = berth_json_printable(answer, "url", 0);
	if (!url)
		return BERTH_EXIT_FAILED;
	printf("%s\n", url);
	if (fflush(stdout) == EOF)
		return BERTH_EXIT_FAILED;
	berth_say("this link signs in once, within 10 minutes, from this machine");
	if (has_display() && isatty(STDOUT_FILENO)) {
		char *const argv[] = {(char *)"xdg-open", url, NULL};

		if (berth_program_start("xdg-open", argv) < 0)
			berth_say("no browser could be started; open the link by hand");
	}
	return BERTH_EXIT_OK;
}
