/* The job of the fault tests: leaves a trace that a checker can believe.
 *
 * tracejob TRACE LOCKS MILLISECONDS CODE: appends "start JOB ATTEMPT PID CARDS" to the file TRACE, locks one file per given card in
 * the folder LOCKS (a card given to two at once appends "double JOB ATTEMPT CARD"), sleeps, appends "end JOB ATTEMPT CODE" and exits
 * with CODE. Lines are short and written by one O_APPEND write each, so they never mix.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char *env_or_dash(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : "-";
}

static void trace(int fd, const char *word, const char *rest)
{
	char line[2048];
	int n = snprintf(line, sizeof(line), "%s %s %s %s\n", word, env_or_dash("BERTH_JOB_ID"), env_or_dash("BERTH_ATTEMPT"), rest);

	if (n < 0 || (size_t)n >= sizeof(line) || write(fd, line, (size_t)n) != n)
		_exit(99);
}

/* The lock lives as long as the process. */
static void lock_card(int trace_fd, const char *locks, const char *card)
{
	char path[1024];
	int n = snprintf(path, sizeof(path), "%s/%s", locks, card);
	int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		_exit(98);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		trace(trace_fd, "double", card);
}

int main(int argc, char **argv)
{
	char rest[1024];

	if (argc != 5) {
		fprintf(stderr, "usage: tracejob TRACE LOCKS MILLISECONDS CODE\n");
		return 97;
	}
	int fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		return 96;

	const char *cards = env_or_dash("CUDA_VISIBLE_DEVICES");
	(void)snprintf(rest, sizeof(rest), "%d %s", (int)getpid(), cards);
	trace(fd, "start", rest);
	if (strcmp(cards, "-1") != 0) {
		const char *at = cards;

		while (*at) {
			size_t n = strcspn(at, ",");
			char card[128];

			(void)snprintf(card, sizeof(card), "%.*s", (int)n, at);
			lock_card(fd, argv[2], card);
			at += n + (at[n] == ',');
		}
	}

	long ms = strtol(argv[3], NULL, 10);
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000 };
	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	trace(fd, "end", argv[4]);
	return (int)strtol(argv[4], NULL, 10);
}
