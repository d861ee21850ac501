#include <string.h>
#include "cli/request.h"
#include "cli/verbs.h"

#define ANY (-1)

static const char submit_more[] =
	"SCRIPT may have options on lines that start with #BERTH, above its first\n"
	"command; - reads it from stdin. What the command line says wins over the\n"
	"variables BERTH_SUBMIT_* (BERTH_SUBMIT_GPU_MEM for --gpu-mem), these over the\n"
	"script, and the script over the configuration.\n"
	"\n"
	"  berth submit -G 2 -t 8h -- python train.py\n"
	"  berth submit --gpu-mem 40G train.sh --epochs 10\n";
static const char run_more[] =
	"Its output is yours, byte for byte, and so is its exit code (128 + signal;\n"
	"124 time limit, 130 cancelled, 125 a card was lost). Ctrl-C cancels it.\n"
	"\n"
	"  berth run -G 1 -- nvidia-smi\n";
static const char sim_more[] =
	"WHAT is one of:\n"
	"  util PERCENT   show this utilisation, whatever runs; util auto: what jobs say\n"
	"  mem SIZE       show this used memory; mem auto: what jobs say\n"
	"  lost           the card falls off the bus\n"
	"  hang SECONDS   the next reading of the card hangs so long\n"
	"  recover        neither lost nor hanging any more\n";

const struct berth_verb berth_verbs[] = {
	{"run", "[--] COMMAND...", "run a command on GPUs and follow it to its end", berth_verb_run, 1, ANY,
	 {berth_request_options, berth_launch_options}, true, run_more},
	{"submit", "-- COMMAND... | SCRIPT [ARGS...] | -", "put a command or a script into the queue",
	 berth_verb_submit, 0, ANY, {berth_request_options, berth_launch_options, berth_submit_options}, true,
	 submit_more},
	{"queue", "", "what waits and runs, why, and until when", berth_verb_queue, 0, 0, {berth_queue_options}},
	{"show", "JOB", "all about one job", berth_verb_show, 1, 1},
	{"why", "JOB", "every reason why a job waits, and what would help", berth_verb_why, 1, 1},
	{"logs", "JOB", "the output of a job", berth_verb_logs, 1, 1, {berth_logs_options}},
	{"wait", "JOB...", "wait until jobs are over; return their exit code",
	 berth_verb_wait, 1, ANY, {berth_wait_options}},
	{"history", "", "jobs that are over, newest first", berth_verb_history, 0, 0, {berth_history_options}},
	{"cancel", "JOB...", "end jobs, or take them out of the queue", berth_verb_cancel, 1, ANY},
	{"hold", "JOB...", "keep waiting jobs from starting", berth_verb_hold, 1, ANY},
	{"release", "JOB...", "let held jobs start again", berth_verb_release, 1, ANY},
	{"alter", "JOB...", "change what jobs ask for",
	 berth_verb_alter, 1, ANY, {berth_request_options, berth_change_options}},
	{"requeue", "JOB...", "stop running jobs and put them back into the queue", berth_verb_requeue, 1, ANY},
	{"gpus", "", "the cards: who has them, how busy they are", berth_verb_gpus, 0, 0},
	{"drain", "GPU...", "start no new job on cards", berth_verb_drain, 1, ANY, {berth_drain_options}},
	{"undrain", "GPU...", "take cards back into service", berth_verb_undrain, 1, ANY},
	{"web", "", "a link that signs you in to the page", berth_verb_web, 0, 0},
	{"doctor", "", "check the daemon and the machine, with the fix", berth_verb_doctor, 0, 0},
	{"config check", "FILE", "check a configuration file", berth_verb_config_check, 1, 1},
	{"config show", "", "every configuration value and where it comes from", berth_verb_config_show, 0, 0},
	{"admin sim", "GPU WHAT...", "load and faults for simulated cards",
	 berth_verb_admin_sim, 2, ANY, {NULL}, false, sim_more},
	{"help", "[COMMAND]", "what a command does", berth_verb_help, 0, 2},
	{"__complete", "WHAT [COMMAND]", NULL, berth_verb_complete, 1, 3},
	{0},
};

const struct berth_verb *berth_verb_find(const char *name)
{
	for (const struct berth_verb *verb = berth_verbs; verb->name; verb++)
		if (strcmp(verb->name, name) == 0)
			return verb;
	return NULL;
}
