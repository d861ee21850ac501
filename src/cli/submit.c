/* submit and run. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "cli/client.h"
#include "cli/follow.h"
#include "cli/job.h"
#include "cli/reason.h"
#include "cli/request.h"
#include "cli/script.h"
#include "cli/verbs.h"

#define NAME_BYTES 128 /* the API takes no longer ones */
#define NAME_COLUMNS 60

const struct berth_option berth_submit_options[] = {
	{"dry-run", 0, NULL, "say what would happen, submit nothing", "wait"},
	{"wait", 0, NULL, "wait for its end and return its exit code", NULL},
	{"parsable", 0, NULL, "print the job's id and nothing else", "json"},
	{0},
};

const struct berth_option berth_run_options[] = {{0}};

/* The command's words as JSON can carry them. */
static int put_argv(struct berth_cli *cli, char *const *words, json_t *argv)
{
	for (size_t i = 0; words[i]; i++) {
		if (!berth_utf8_is_valid(words[i], strlen(words[i])))
			return berth_complain(
				cli, BERTH_EXIT_USAGE, "NotUtf8",
				"Put the command into a script that makes this word, or rename the file to a UTF-8 "
				"name.",
				"word %zu of the command, \"%s\", is not UTF-8 text, which is all that berth can carry",
				i + 1, words[i]);
		if (json_array_append_new(argv, json_string(words[i])) < 0)
			return berth_complain_memory(cli);
	}
	return BERTH_EXIT_OK;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* A name that the daemon takes, from a file name that may be anything. */
static json_t *make_name(const char *file)
{
	BERTH_AUTO_FREE char *name = berth_utf8_printable(file, NAME_COLUMNS);

	if (name && strlen(name) > NAME_BYTES) /* combining marks take no columns */
		return json_string("job");
	return name ? json_string(name) : NULL;
}

/* Command or script, and what the job is called when nothing says so: after it. */
static int put_command(struct berth_cli *cli, const struct berth_script *script, json_t *job)
{
	json_t *spec = json_object_get(job, "spec");
	json_t *argv = json_array();
	const char *name = script ? script->name : base_name(cli->argv[0]);
	int r = put_argv(cli, cli->argv, argv);

	if (json_object_set_new(spec, "argv", argv) < 0 && r == BERTH_EXIT_OK)
		r = berth_complain_memory(cli);
	if (r == BERTH_EXIT_OK && script && json_object_set_new(spec, "script", json_string(script->text)) < 0)
		r = berth_complain_memory(cli);
	if (r == BERTH_EXIT_OK && !json_object_get(job, "name"))
		(void)json_object_set_new(job, "name", make_name(name));
	return r;
}

/* The job as the daemon takes it; the caller owns it. */
static int make_job(struct berth_cli *cli, json_t **ret)
{
	const bool is_script = cli->verb->run == berth_verb_submit && !cli->has_dashes && cli->argc > 0;
	struct berth_script script = {0};
	struct berth_given variables;
	struct berth_request request = {.given = {&cli->given, &variables, NULL}};
	int r;

	if (cli->argc == 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage",
		                      "berth submit [options] -- COMMAND   or   berth submit [options] SCRIPT",
		                      "there is nothing to run");
	r = berth_request_variables(cli, environ, &variables);
	if (r == BERTH_EXIT_OK && is_script) {
		r = berth_script_read(cli, cli->argv[0], &script);
		request.given[BERTH_SOURCE_SCRIPT] = &script.given;
	}
	if (r == BERTH_EXIT_OK)
		r = berth_request_job(cli, &request, environ, berth_clock_wall_ms(), ret);
	if (r != BERTH_EXIT_OK)
		return r;
	r = put_command(cli, is_script ? &script : NULL, *ret);
	if (r != BERTH_EXIT_OK) {
		json_decref(*ret);
		*ret = NULL;
	}
	return r;
}

/* A word that no other submission has. */
static void make_key(char ret[static 33])
{
	unsigned char bytes[16] = {0};

	if (getrandom(bytes, sizeof(bytes), 0) !=
	    sizeof(bytes)) /* cannot fail for so few once the system has started */
		(void)snprintf((char *)bytes, sizeof(bytes), "%x%" PRIx64, getpid(), berth_clock_boot_ms());
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static int submit(struct berth_cli *cli, bool is_dry, json_t **ret)
{
	BERTH_AUTO_JSON json_t *job = NULL;
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	char key[33];
	struct berth_call call = {.method = "POST", .target = is_dry ? "/api/v1/jobs?dry_run=1" : "/api/v1/jobs"};
	int r = make_job(cli, &job);

	if (r != BERTH_EXIT_OK)
		return r;
	make_key(key);
	call.body = job;
	call.key = is_dry ? NULL : key;
	r = berth_call(cli, &call, &reply);
	if (r == BERTH_EXIT_OK)
		*ret = BERTH_TAKE(reply.json);
	return r;
}

/* That it starts now, or why it waits and until when at most, from a job of the answer. Added to text. */
static void add_outlook(const json_t *job, bool is_dry, struct berth_text *text)
{
	const uint64_t now_ms = berth_clock_wall_ms();
	const json_t *start = json_object_get(job, "predicted_start");
	const char *code = berth_json_text(json_object_get(job, "reason"), "code");
	char when[BERTH_FORMAT_MAX];
	uint64_t latest_ms;

	if (strcmp(code, "Starting") == 0 || (strcmp(code, "None") == 0 && !is_dry)) {
		berth_text_add(text, is_dry ? "would start now" : "starts now");
		return;
	}
	berth_text_add(text, is_dry ? "would wait" : "waits");
	if (strcmp(code, "None") != 0) {
		berth_text_add(text, ": ");
		berth_reason_words(json_object_get(job, "reason"), now_ms, text);
	}
	if (berth_json_moment(start, "latest", &latest_ms))
		berth_text_addf(text, "; starts at %s at the latest",
		                berth_moment_format_short(latest_ms, now_ms, when));
}

static int print_submitted(struct berth_cli *cli, const json_t *answer)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0);
	const uint64_t id = berth_job_id(job);
	BERTH_AUTO_TEXT struct berth_text outlook = {0};
	BERTH_AUTO_FREE char *printable = NULL;

	if (cli->is_json)
		return berth_print_json(answer);
	if (berth_given_has(&cli->given, "parsable"))
		return printf("%" PRIu64 "\n", id) < 0 || fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
	printf("Submitted job %" PRIu64 "\n", id);
	if (isatty(STDOUT_FILENO)) {
		add_outlook(job, false, &outlook);
		printable = berth_utf8_printable(outlook.at ? outlook.at : "", 0);
		printf("  it %s\n  follow it:  berth logs -f %" PRIu64 "     ask why it waits:  berth why %" PRIu64
		       "\n",
		       printable ? printable : "", id, id);
	}
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}

static int print_verdict(struct berth_cli *cli, const json_t *answer)
{
	const json_t *job = json_array_get(json_object_get(answer, "jobs"), 0);
	const bool is_now = strcmp(berth_json_text(job, "verdict"), "starts_now") == 0;
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_FREE char *printable = NULL;
	uint64_t charge_ms;

	if (cli->is_json)
		return berth_print_json(answer);
	berth_text_add(&text, "This job ");
	if (is_now)
		berth_text_add(&text, "would start now");
	else
		add_outlook(job, true, &text);
	if (berth_json_number(job, "charge_gpu_ms", &charge_ms))
		berth_text_addf(&text, "; charges at most %" PRIu64 ".%" PRIu64 " GPU-h", charge_ms / 3600000,
		                charge_ms % 3600000 / 360000);
	printable = berth_utf8_printable(text.at ? text.at : "", 0);
	printf("%s. Nothing was submitted.\n", printable ? printable : "?");
	return fflush(stdout) == EOF ? BERTH_EXIT_FAILED : BERTH_EXIT_OK;
}

/* Is the exit code all there is to say? On a terminal a failure is said too, since nobody sees codes there. */
static bool is_told_by_code(const json_t *job)
{
	const char *state = berth_json_text(job, "state");
	const char *code = berth_json_text(json_object_get(job, "reason"), "code");

	if (strcmp(state, "COMPLETED") == 0)
		return true;
	return strcmp(state, "FAILED") == 0 && json_is_integer(json_object_get(job, "exit_code")) &&
	       strcmp(code, "ExecFailed") != 0 && !isatty(STDERR_FILENO);
}

/* Follow to the end, say what the exit code alone does not, and return the job's code. */
static int follow_to_end(struct berth_cli *cli, uint64_t id, const struct berth_follow_mode *mode)
{
	BERTH_AUTO_JSON json_t *job = NULL;
	BERTH_AUTO_JSON json_t *object = NULL;
	BERTH_AUTO_TEXT struct berth_text outcome = {0};
	int r = berth_follow(cli, id, mode, &job);

	if (r != BERTH_EXIT_OK)
		return r;
	if (cli->is_json) {
		object = json_pack("{s:s, s:O}", "schema", "berth.job/1", "job", job);
		(void)berth_print_json(object);
	}
	if (!is_told_by_code(job)) {
		berth_job_outcome(job, &outcome);
		berth_say("job %" PRIu64 " %s", id, outcome.at ? outcome.at : "");
	}
	return berth_job_exit_code(job);
}

int berth_verb_submit(struct berth_cli *cli)
{
	const struct berth_follow_mode mode = {.is_silent = true, .out = STDOUT_FILENO};
	const bool is_dry = berth_given_has(&cli->given, "dry-run");
	const bool must_wait = berth_given_has(&cli->given, "wait");
	BERTH_AUTO_JSON json_t *answer = NULL;
	int r = submit(cli, is_dry, &answer);

	if (r != BERTH_EXIT_OK)
		return r;
	if (is_dry)
		return print_verdict(cli, answer);
	if (!must_wait || !cli->is_json)
		r = print_submitted(cli, answer);
	if (r != BERTH_EXIT_OK || !must_wait)
		return r;
	return follow_to_end(cli, berth_job_id(json_array_get(json_object_get(answer, "jobs"), 0)), &mode);
}

/* From here on Ctrl-C is for the job: a job that was submitted and not followed would run on unseen. */
static void keep_interrupts(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
}

int berth_verb_run(struct berth_cli *cli)
{
	const struct berth_follow_mode mode = {.is_ours = true, .out = cli->is_json ? STDERR_FILENO : STDOUT_FILENO};
	BERTH_AUTO_JSON json_t *answer = NULL;
	int r;

	keep_interrupts();
	r = submit(cli, false, &answer);
	if (r != BERTH_EXIT_OK)
		return r;
	return follow_to_end(cli, berth_job_id(json_array_get(json_object_get(answer, "jobs"), 0)), &mode);
}
