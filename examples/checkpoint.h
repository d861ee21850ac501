#ifndef BERTH_EXAMPLES_CHECKPOINT_H
#define BERTH_EXAMPLES_CHECKPOINT_H
/* What a job does to live well under a scheduler: say how far it is, save its state when asked to stop, go on from there, and
 * say when it is really done. Nothing of berth is linked; it is four environment variables and a signal:
 *
 *   BERTH_PROGRESS_FILE   "120/500 loss 0.31" is shown everywhere and feeds the predicted end
 *   SIGTERM, and BERTH_STOP_FILE appearing: stop within the grace time
 *   BERTH_DONE_FILE       touched = finished; a job that exits with 0 after it was asked to stop, without it, runs again later
 *   CUDA_VISIBLE_DEVICES  the cards that the job was given
 *
 * Without these variables the examples run the same way by hand.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One run of an example. The texts are borrowed from the command line. */
struct job {
	const char *name;     /* of the program; the checkpoint is NAME[-TASK][-JOBID].checkpoint */
	const char *dir;      /* --checkpoint DIR, default: the working directory */
	unsigned seconds;     /* --seconds N, default 60: the amount of work, about a minute of one core */
	unsigned task;        /* --task N, default 0: which of several like it; seeds the data */
	unsigned workers;     /* --workers N, default 4: processes of the training */
	uint64_t said_ms;     /* when progress was told last, and printed last */
	uint64_t printed_ms;
};

/* Read the command line and print which cards were given. From here on SIGTERM and SIGINT wait to be asked about; false: the
 * command line was wrong and usage has been printed (exit with 2). */
bool job_begin(struct job *job, const char *name, int argc, char **argv);
/* Has anybody asked for a stop? Cheap enough to be asked every step. */
bool job_should_stop(const struct job *job);
/* Say how far it is: to berth about each second, on standard output about each 5. done == total is always said. text: "loss 0.31". */
void job_say(struct job *job, uint64_t done, uint64_t total, const char *text);
/* It is really done: says so to berth and removes the checkpoint. */
void job_done(const struct job *job);

/* Save size bytes, so that after a crash there is either the old or the new state. Prints what went wrong and returns false. */
bool checkpoint_save(const struct job *job, const void *state, size_t size);
/* Load what was saved by the same program for the same amount of work. False: nothing was, or it is damaged or of another size (which is
 * said); state is untouched then. */
bool checkpoint_load(const struct job *job, void *state, size_t size);

/* The same numbers in every run: 0 <= x < 1, and roughly normal with variance 1 (Irwin-Hall, four terms). */
float random_unit(uint64_t seed, uint64_t n);
float random_normal(uint64_t seed, uint64_t n);
#endif
