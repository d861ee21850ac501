#include "checkpoint.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATH_TEXT_MAX 4096
#define SAY_EVERY_MS 1000
#define PRINT_EVERY_MS 5000

static uint64_t clock_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool parse_number(const char *text, unsigned max, unsigned *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' || value > max)
		return false;
	*ret = (unsigned)value;
	return true;
}

static bool parse(struct job *job, int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
	                                        {"checkpoint", required_argument, NULL, 'c'},
	                                        {"task", required_argument, NULL, 't'},
	                                        {"workers", required_argument, NULL, 'w'},
	                                        {0}};
	bool is_right = true;
	int c;

	while (is_right && (c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 's')
			is_right = parse_number(optarg, 1000000, &job->seconds) && job->seconds > 0;
		else if (c == 'c')
			job->dir = optarg;
		else if (c == 't')
			is_right = parse_number(optarg, 1000000, &job->task);
		else if (c == 'w')
			is_right = parse_number(optarg, 64, &job->workers) && job->workers > 0;
		else
			is_right = false;
	}
	return is_right && optind == argc;
}

static void print_cards(const struct job *job)
{
	const char *cards = getenv("CUDA_VISIBLE_DEVICES");
	const char *id = getenv("BERTH_JOB_ID");

	if (!cards || !*cards || strcmp(cards, "-1") == 0)
		cards = "none";
	(void)printf("%s: job %s, cards: %s\n", job->name, id ? id : "by hand", cards);
}

bool job_begin(struct job *job, const char *name, int argc, char **argv)
{
	sigset_t stops;

	*job = (struct job){.name = name, .dir = ".", .seconds = 60, .workers = 4};
	if (!parse(job, argc, argv)) {
		(void)fprintf(stderr, "usage: %s [--seconds N] [--checkpoint DIR] [--task N] [--workers N]\n", name);
		return false;
	}
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)sigemptyset(&stops);
	(void)sigaddset(&stops, SIGTERM);
	(void)sigaddset(&stops, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &stops, NULL);
	print_cards(job);
	return true;
}

bool job_should_stop(const struct job *job)
{
	const char *stop_file = getenv("BERTH_STOP_FILE");
	sigset_t pending;

	(void)sigpending(&pending);
	if (sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT))
		return true;
	return stop_file && access(stop_file, F_OK) == 0;
}

/* Whole or not at all: a reader never sees half a line. */
static bool replace_file(const char *path, const void *data, size_t size, bool is_durable)
{
	char temporary[PATH_TEXT_MAX + 8];
	bool is_written;
	int fd;

	(void)snprintf(temporary, sizeof(temporary), "%s.new", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	is_written = write(fd, data, size) == (ssize_t)size && (!is_durable || fsync(fd) == 0);
	if (close(fd) < 0 || !is_written || rename(temporary, path) < 0) {
		(void)unlink(temporary);
		return false;
	}
	return true;
}

void job_say(struct job *job, uint64_t done, uint64_t total, const char *text)
{
	const char *path = getenv("BERTH_PROGRESS_FILE");
	const uint64_t now_ms = clock_ms();
	const bool is_end = done == total;
	char line[160];
	int n;

	if (is_end || now_ms - job->printed_ms >= PRINT_EVERY_MS) {
		job->printed_ms = now_ms;
		(void)printf("step %" PRIu64 "/%" PRIu64 " %s\n", done, total, text);
	}
	if (!path || (!is_end && now_ms - job->said_ms < SAY_EVERY_MS))
		return;
	job->said_ms = now_ms;
	n = snprintf(line, sizeof(line), "%" PRIu64 "/%" PRIu64 " %s\n", done, total, text);
	if (n > 0 && (size_t)n < sizeof(line))
		(void)replace_file(path, line, (size_t)n, false);
}

static void checkpoint_path(const struct job *job, char ret[static PATH_TEXT_MAX])
{
	const char *id = getenv("BERTH_JOB_ID");
	char task[16] = "";

	if (job->task)
		(void)snprintf(task, sizeof(task), "-%u", job->task);
	(void)snprintf(ret, PATH_TEXT_MAX, "%s/%s%s%s%s.checkpoint", job->dir, job->name, task, id ? "-" : "",
	               id ? id : "");
}

void job_done(const struct job *job)
{
	const char *done_file = getenv("BERTH_DONE_FILE");
	char path[PATH_TEXT_MAX];
	int fd;

	checkpoint_path(job, path);
	(void)unlink(path);
	if (!done_file)
		return;
	fd = open(done_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)close(fd);
}

/* What stands before the state. */
struct header {
	char magic[8];
	uint64_t size, seconds, sum;
};

static const char magic[8] = {'b', 'c', 'h', 'e', 'c', 'k', '1', '\n'};

/* FNV-1a. */
static uint64_t sum_of(const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}

bool checkpoint_save(const struct job *job, const void *state, size_t size)
{
	struct header header = {.size = size, .seconds = job->seconds, .sum = sum_of(state, size)};
	char *file = malloc(sizeof(header) + size);
	char path[PATH_TEXT_MAX];
	bool is_saved = false;

	checkpoint_path(job, path);
	memcpy(header.magic, magic, sizeof(magic));
	if (file) {
		memcpy(file, &header, sizeof(header));
		memcpy(file + sizeof(header), state, size);
		is_saved = replace_file(path, file, sizeof(header) + size, true);
	}
	if (!is_saved)
		perror(path);
	free(file);
	return is_saved;
}

bool checkpoint_load(const struct job *job, void *state, size_t size)
{
	char path[PATH_TEXT_MAX];
	struct header header = {0};
	char *loaded = malloc(size);
	bool is_good = false;
	FILE *file;

	checkpoint_path(job, path);
	file = fopen(path, "rbe");
	if (loaded && file)
		is_good = fread(&header, sizeof(header), 1, file) == 1 &&
		          memcmp(header.magic, magic, sizeof(magic)) == 0 && header.size == size &&
		          header.seconds == job->seconds && fread(loaded, size, 1, file) == 1 &&
		          header.sum == sum_of(loaded, size);
	if (file) {
		(void)fclose(file);
		if (!is_good)
			(void)printf("%s is damaged or of another run; starting at the beginning\n", path);
	}
	if (is_good)
		memcpy(state, loaded, size);
	free(loaded);
	return is_good;
}

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

float random_unit(uint64_t seed, uint64_t n)
{
	return (float)(mix(mix(seed + 1) + n * 0x9e3779b97f4a7c15u) >> 40) / (float)(1 << 24);
}

float random_normal(uint64_t seed, uint64_t n)
{
	float sum = -2.0f;

	for (uint64_t i = 0; i < 4; i++)
		sum += random_unit(seed, 4 * n + i);
	return sum * 1.7320508f;
}
