/* Feeds one fuzz target without libFuzzer: replay SEEDS [COUNT [SEED]].
 *
 * Every file of the folder SEEDS in order of its name, then COUNT mutations of them: bytes flipped, set to marked values,
 * taken out, put in, pieces of another seed, words doubled. The same COUNT and SEED give the same inputs on every
 * machine. Where it dies, the input lies in the file that is named.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"
#include "base/hash.h"
#include "target.h"

#define INPUT_MAX 8192u
#define SEEDS_MAX 256

struct seed {
	char *bytes;
	size_t len;
};

/* What a handler can reach: the input under trial. */
static struct {
	uint8_t bytes[INPUT_MAX];
	size_t len;
	char path[64];
} trial;

static void keep_input(int sig)
{
	int fd = open(trial.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd >= 0 && write(fd, trial.bytes, trial.len) == (ssize_t)trial.len)
		(void)!write(STDERR_FILENO, trial.path, strlen(trial.path));
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static uint64_t draw(uint64_t *random)
{
	*random += 0x9e3779b97f4a7c15u;
	return berth_hash_u64(*random);
}

static size_t below(uint64_t *random, size_t n)
{
	return n > 0 ? (size_t)(draw(random) % n) : 0;
}

/* Make place for n bytes at `at`, as far as the input may grow; how many it became. */
static size_t insert(size_t at, const void *bytes, size_t n)
{
	if (n > INPUT_MAX - trial.len)
		n = INPUT_MAX - trial.len;
	memmove(trial.bytes + at + n, trial.bytes + at, trial.len - at);
	memcpy(trial.bytes + at, bytes, n);
	trial.len += n;
	return n;
}

static void mutate(uint64_t *random, const struct seed *other)
{
	static const uint8_t marked[] = {0, 1, 0x20, 0x7f, 0x80, 0xff, '\n', '\r', '"', '\\', '%', ':', '-', '9', '0', '#', '{', '['};
	size_t at = below(random, trial.len);
	uint8_t byte = marked[below(random, sizeof(marked))];
	uint8_t piece[64];
	size_t n = 1 + below(random, sizeof(piece) - 1);

	switch (draw(random) % 6) {
	case 0:
		trial.bytes[at] ^= (uint8_t)(1u << below(random, 8));
		break;
	case 1:
		trial.bytes[at] = byte;
		break;
	case 2:
		if (n > trial.len - at)
			n = trial.len - at;
		memmove(trial.bytes + at, trial.bytes + at + n, trial.len - at - n);
		trial.len -= n;
		break;
	case 3:
		(void)insert(at, &byte, 1);
		break;
	case 4:
		if (other->len > 0) {
			size_t from = below(random, other->len);

			(void)insert(at, other->bytes + from, n < other->len - from ? n : other->len - from);
		}
		break;
	default:
		if (n > trial.len - at)
			n = trial.len - at;
		memcpy(piece, trial.bytes + at, n);
		for (size_t i = 1 + below(random, 8); i > 0; i--)
			(void)insert(at, piece, n);
	}
}

static void try_input(const struct seed *seed, const struct seed *other, uint64_t *random, size_t steps)
{
	trial.len = seed->len < INPUT_MAX ? seed->len : INPUT_MAX;
	memcpy(trial.bytes, seed->bytes, trial.len);
	for (size_t i = 0; i < steps; i++)
		mutate(random, other);
	(void)LLVMFuzzerTestOneInput(trial.bytes, trial.len);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* How many seeds there are. */
static size_t read_seeds(const char *folder, struct seed *ret)
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, is_visible, alphasort);
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	FUZZ_PROMISE(n > 0 && n <= SEEDS_MAX && dir >= 0);
	for (int i = 0; i < n; i++) {
		FUZZ_PROMISE(berth_file_read_at(dir, names[i]->d_name, 1u << 20, &ret[i].bytes, &ret[i].len) == 0);
		free(names[i]);
	}
	free(names);
	(void)close(dir);
	return (size_t)n;
}

int main(int argc, char **argv)
{
	static struct seed seeds[SEEDS_MAX];
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	uint64_t random = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
	size_t n;

	if (argc < 2) {
		fprintf(stderr, "usage: replay SEEDS [COUNT [SEED]]\n");
		return 2;
	}
	(void)snprintf(trial.path, sizeof(trial.path), "/tmp/berth-fuzz-%d.input", (int)getpid());
	(void)signal(SIGABRT, keep_input);
	n = read_seeds(argv[1], seeds);
	for (size_t i = 0; i < n; i++)
		try_input(&seeds[i], &seeds[i], &random, 0);
	for (uint64_t i = 0; i < count; i++)
		try_input(&seeds[below(&random, n)], &seeds[below(&random, n)], &random, 1 + below(&random, 6));
	for (size_t i = 0; i < n; i++)
		free(seeds[i].bytes);
	printf("%zu seeds, %" PRIu64 " mutations\n", n, count);
	return 0;
}
