#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include "base/text.h"
#include "daemon/server.h"

struct berth_demo {
	struct berth_server *server;
	sd_event_source *child;        /* the submitting script while it runs */
	char berth[BERTH_PATH_MAX];    /* folder of the command line; "" = not found */
	char examples[BERTH_PATH_MAX]; /* folder of the examples; "" = not found */
};

/* Jobs that wait or run. */
static size_t count_active(const struct berth_server *server)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	size_t n = 0;

	for (int state = BERTH_JOB_UNKNOWN + 1; state < BERTH_JOB_STATE_COUNT; state++)
		for (int tier = 0; tier < BERTH_TIER_COUNT && !berth_job_state_is_final((enum berth_job_state)state);
		     tier++)
			n += berth_core_count_in(core, (enum berth_job_state)state, (enum berth_tier)tier);
	return n;
}

static size_t count_running(const struct berth_server *server)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	size_t n = 0;

	for (int tier = 0; tier < BERTH_TIER_COUNT; tier++)
		n += berth_core_count_in(core, BERTH_JOB_RUNNING, (enum berth_tier)tier) +
		     berth_core_count_in(core, BERTH_JOB_STARTING, (enum berth_tier)tier) +
		     berth_core_count_in(core, BERTH_JOB_STOPPING, (enum berth_tier)tier);
	return n;
}

/* "8 x A100-80GB", of the first model; others are counted behind it. */
static void add_cards(const struct berth_server *server, struct berth_text *out)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	size_t n = berth_core_device_count(core), same = 0;

	if (n == 0) {
		berth_text_add(out, "none found yet");
		return;
	}
	for (size_t i = 0; i < n; i++)
		same += strcmp(berth_core_device_at(core, i)->model, berth_core_device_at(core, 0)->model) == 0;
	berth_text_addf(out, "%zu x %s", same, berth_core_device_at(core, 0)->model);
	if (same < n)
		berth_text_addf(out, " and %zu others", n - same);
	if (server->config.devices.is_simulated)
		berth_text_add(out, ", SIMULATED: jobs are real processes, the cards are not there");
	if (server->config.devices.is_auto)
		berth_text_add(out,
		               "\n          (this version has no driver for real cards, so it did not look for any)");
}

static void add_commands(const struct berth_demo *demo, struct berth_text *out)
{
	const struct berth_server *server = demo->server;

	berth_text_add(out, "\nIn another terminal:\n\n");
	if (demo->berth[0])
		berth_text_addf(out, "  export PATH=%s:$PATH\n", demo->berth);
	if (server->paths.is_socket_given)
		berth_text_addf(out, "  export BERTH_SOCKET=%s\n", server->paths.socket);
	berth_text_add(out, "  berth run -G 2 -- sh -c 'echo my cards: $CUDA_VISIBLE_DEVICES'\n"
	                    "  berth queue\n"
	                    "  berth gpus\n"
	                    "  berth help\n\n"
	                    "Ctrl-C here ends the daemon; jobs run on.\n\n");
}

static void welcome(const struct berth_demo *demo, const char *jobs)
{
	struct berth_server *server = demo->server;
	BERTH_AUTO_TEXT struct berth_text out = {0};
	BERTH_AUTO_FREE char *link = berth_api_login_link(server->api);

	berth_text_addf(&out, "\nberth " BERTH_VERSION " runs on %s.\n\n  cards   ", server->node_name);
	add_cards(server, &out);
	if (link)
		berth_text_addf(
			&out,
			"\n  page    %s\n          (good for one sign-in within 10 minutes; `berth web` gives another)",
			link);
	berth_text_addf(&out, "\n  jobs    %s\n  state   %s\n", jobs, server->paths.state);
	add_commands(demo, &out);
	if (!berth_text_str(&out) || fputs(out.at, stdout) == EOF || fflush(stdout) == EOF)
		berth_log(&server->log, BERTH_LOG_WARNING, "the welcome could not be printed");
}

static int on_submitted(sd_event_source *source, const siginfo_t *info, void *arg)
{
	struct berth_demo *demo = arg;
	BERTH_AUTO_TEXT struct berth_text jobs = {0};

	if (info->si_code == CLD_EXITED && info->si_status == 0)
		berth_text_addf(&jobs, "%zu examples were submitted, see %s", count_active(demo->server),
		                demo->examples);
	else
		berth_text_addf(&jobs, "the examples could not be submitted (%s/submit.sh ended with %d)",
		                demo->examples, info->si_status);
	welcome(demo, berth_text_str(&jobs) ? berth_text_str(&jobs) : "");
	return 0;
}

/* The surroundings of the script: ours, with our `berth` in front and our socket. Allocated strings in ret, which ends
 * with NULL. */
static int make_environment(const struct berth_demo *demo, struct berth_text *path, struct berth_text *socket,
                            const char *ret[], size_t cap)
{
	const char *old = getenv("PATH");
	size_t n = 0;

	berth_text_addf(path, "PATH=%s:%s", demo->berth, old ? old : "/usr/bin:/bin");
	berth_text_addf(socket, "BERTH_SOCKET=%s", demo->server->paths.socket);
	if (!berth_text_str(path) || !berth_text_str(socket))
		return -ENOMEM;
	ret[n++] = path->at;
	ret[n++] = socket->at;
	for (char **var = environ; *var && n + 1 < cap; var++)
		if (strncmp(*var, "PATH=", 5) != 0 && strncmp(*var, "BERTH_SOCKET=", 13) != 0)
			ret[n++] = *var;
	ret[n] = NULL;
	return 0;
}

/* With a clean signal mask: ours is blocked for the loop. */
static int spawn_script(const struct berth_demo *demo, pid_t *ret)
{
	BERTH_AUTO_TEXT struct berth_text path = {0}, socket = {0}, script = {0};
	const char *env[512];
	const char *argv[] = {"sh", NULL, NULL};
	posix_spawnattr_t attributes;
	sigset_t none, piped;
	int r = make_environment(demo, &path, &socket, env, sizeof(env) / sizeof(env[0]));

	if (r < 0)
		return r;
	berth_text_addf(&script, "%s/submit.sh", demo->examples);
	argv[1] = berth_text_str(&script);
	if (!argv[1])
		return -ENOMEM;
	(void)sigemptyset(&none);
	(void)sigemptyset(&piped);
	(void)sigaddset(&piped, SIGPIPE);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &piped);
	r = -posix_spawn(ret, "/bin/sh", NULL, &attributes, (char *const *)argv, (char *const *)env);
	(void)posix_spawnattr_destroy(&attributes);
	return r;
}

static void submit(struct berth_demo *demo)
{
	pid_t pid = 0;
	int r = spawn_script(demo, &pid);

	if (r == 0)
		r = sd_event_add_child(demo->server->event, &demo->child, pid, WEXITED, on_submitted, demo);
	if (r < 0) {
		berth_log(&demo->server->log, BERTH_LOG_WARNING, "the examples could not be submitted: %s",
		          strerror(-r));
		welcome(demo, "no examples were submitted");
	}
}

/* The folder of the programs, and that of the examples: beside it in the source tree, or installed. */
static void find_folders(struct berth_demo *demo)
{
	const struct berth_program_dirs *dirs = &demo->server->dirs;
	const char *const places[][2] = {{dirs->called, "../examples"},
	                                 {dirs->real, "../../examples"},
	                                 {dirs->real, "../share/berth/examples"}};

	if (berth_program_find(dirs, "berth", "cli", demo->berth, sizeof(demo->berth), NULL) == 0)
		*strrchr(demo->berth, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !demo->examples[0]; i++) {
		BERTH_AUTO_TEXT struct berth_text script = {0};
		BERTH_AUTO_FREE char *found = NULL;

		berth_text_addf(&script, "%s/%s/submit.sh", places[i][0], places[i][1]);
		found = berth_text_str(&script) ? realpath(script.at, NULL) : NULL;
		if (found)
			(void)snprintf(demo->examples, sizeof(demo->examples), "%.*s",
			               (int)(strrchr(found, '/') - found), found);
	}
}

struct berth_demo *berth_demo_begin(struct berth_server *server)
{
	struct berth_demo *demo = calloc(1, sizeof(*demo));
	size_t active = count_active(server);
	char jobs[80];

	if (!demo)
		return NULL;
	demo->server = server;
	find_folders(demo);
	(void)snprintf(jobs, sizeof(jobs), "%zu from before are waiting or running", active);
	if (active == 0 && demo->berth[0] && demo->examples[0])
		submit(demo);
	else
		welcome(demo, active ? jobs : "none; the examples were not found");
	return demo;
}

void berth_demo_end(struct berth_demo *demo)
{
	size_t running;

	if (!demo)
		return;
	running = count_running(demo->server);
	if (running)
		(void)printf(
			"\nThe daemon ends; %zu job%s, keeping cards and limits.\n"
			"To see or end them, start it again (`make run`) and type: berth queue, berth cancel JOB...\n",
			running, running == 1 ? " runs on" : "s run on");
	else
		(void)printf("\nThe daemon ends; no job was running.\n");
	(void)fflush(stdout);
	sd_event_source_disable_unref(demo->child);
	free(demo);
}
