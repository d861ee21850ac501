#include <string.h>
#include "cli/request.h"
#include "cli/verbs.h"

#define ANY (-1)
#define REQUEST berth_request_options, berth_launch_options

static const char submit_more[] =
	"SCRIPT may have options on lines that start with #BERTH, above its first command; - reads it\n"
	"from stdin. What the command line says wins over the variables BERTH_SUBMIT_* (such as\n"
	"BERTH_SUBMIT_GPU_MEM), these over the script, and the script over the configuration.\n"
	"\n"
	"  berth submit -G 2 -t 8h -- python train.py\n"
	"  berth submit --gpu-mem 40G train.sh --epochs 10\n";
static const char run_more[] =
	"Its output is yours, byte for byte, and so is its exit code (128 + signal; 124 time limit, 130\n"
	"cancelled, 125 a card was lost). Ctrl-C cancels it.\n"
	"\n"
	"  berth run -G 1 -- nvidia-smi\n";
static const char sim_more[] =
	"WHAT is one of:\n"
	"  util PERCENT | util auto    show this utilisation, whatever runs | show what the jobs declare\n"
	"  mem SIZE | mem auto         the same for used memory\n"
	"  lost                        the card falls off the bus\n"
	"  hang SECONDS                the next reading of the card hangs so long\n"
	"  recover                     neither lost nor hanging any more\n";

const struct berth_verb berth_verbs[] = {
	{"run", "[--] COMMAND...", "run a command on GPUs and follow it to its end", {REQUEST}, true, 1, ANY, berth_verb_run, run_more},
	{"submit", "-- COMMAND... | SCRIPT [ARGS...] | -", "put a command or a script into the queue", {REQUEST, berth_submit_options},
	 true, 0, ANY, berth_verb_submit, submit_more},
	{"queue", "", "what waits and runs, why, and until when", {berth_queue_options}, false, 0, 0, berth_verb_queue, NULL},
	{"show", "JOB", "all about one job", {NULL}, false, 1, 1, berth_verb_show, NULL},
	{"why", "JOB", "every reason why a job waits, and what would help", {NULL}, false, 1, 1, berth_verb_why, NULL},
	{"logs", "JOB", "the output of a job", {berth_logs_options}, false, 1, 1, berth_verb_logs, NULL},
	{"wait", "JOB...", "wait until jobs are over; return their exit code", {berth_wait_options}, false, 1, ANY, berth_verb_wait, NULL},
	{"history", "", "jobs that are over, newest first", {berth_history_options}, false, 0, 0, berth_verb_history, NULL},
	{"cancel", "JOB...", "end jobs, or take them out of the queue", {NULL}, false, 1, ANY, berth_verb_cancel, NULL},
	{"hold", "JOB...", "keep waiting jobs from starting", {NULL}, false, 1, ANY, berth_verb_hold, NULL},
	{"release", "JOB...", "let held jobs start again", {NULL}, false, 1, ANY, berth_verb_release, NULL},
	{"alter", "JOB...", "change what jobs ask for", {berth_request_options, berth_change_options}, false, 1, ANY, berth_verb_alter,
	 NULL},
	{"requeue", "JOB...", "stop running jobs and put them back into the queue", {NULL}, false, 1, ANY, berth_verb_requeue, NULL},
	{"gpus", "", "the cards: who has them, how busy they are", {NULL}, false, 0, 0, berth_verb_gpus, NULL},
	{"drain", "GPU...", "start no new job on cards", {berth_drain_options}, false, 1, ANY, berth_verb_drain, NULL},
	{"undrain", "GPU...", "take cards back into service", {NULL}, false, 1, ANY, berth_verb_undrain, NULL},
	{"web", "", "a link that signs you in to the page", {NULL}, false, 0, 0, berth_verb_web, NULL},
	{"doctor", "", "check the daemon and the machine, with the fix", {NULL}, false, 0, 0, berth_verb_doctor, NULL},
	{"config check", "FILE", "check a configuration file", {NULL}, false, 1, 1, berth_verb_config_check, NULL},
	{"config show", "", "every configuration value and where it comes from", {NULL}, false, 0, 0, berth_verb_config_show, NULL},
	{"admin sim", "GPU WHAT...", "load and faults for simulated cards", {NULL}, false, 2, ANY, berth_verb_admin_sim, sim_more},
	{"help", "[COMMAND]", "what a command does", {NULL}, false, 0, 2, berth_verb_help, NULL},
	{"__complete", "WHAT [COMMAND]", NULL, {NULL}, false, 1, 3, berth_verb_complete, NULL},
	{0},
};

const struct berth_verb *berth_verb_find(const char *name)
{
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}
