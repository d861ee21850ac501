/* The sealed specification as a job's child reads it. What was taken is sealed and read again, the same.
 *
 * The first byte: bit 0 seals the descriptor, bit 1 puts a right header in front. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/file.h"
#include "host/spec.h"
#include "target.h"

static void compare(char *const *a, char *const *b)
{
	while (*a && *b)
		FUZZ_PROMISE(strcmp(*a++, *b++) == 0);
	FUZZ_PROMISE(!*a && !*b);
}

static void try_again(const struct berth_spec *spec)
{
	struct berth_spec again;
	int fd = berth_spec_seal(spec->argv, spec->env, spec->path, spec->is_append);

	FUZZ_PROMISE(fd >= 0);
	FUZZ_PROMISE(berth_spec_read(fd, &again, NULL) == 0);
	compare(spec->argv, again.argv);
	compare(spec->env, again.env);
	for (unsigned i = 0; i < BERTH_SPEC_PATHS; i++)
		FUZZ_PROMISE(strcmp(spec->path[i], again.path[i]) == 0);
	berth_spec_fini(&again);
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_spec_header header = {BERTH_SPEC_MAGIC, BERTH_SPEC_VERSION};
	struct berth_error err = {0};
	struct berth_spec spec;
	int fd;

	if (size < 3)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	FUZZ_PROMISE(fd >= 0);
	header.n_argv = data[1] % 8;
	header.n_env = data[2] % 8;
	header.len = size - 3;
	FUZZ_PROMISE(!(data[0] & 2) || berth_fd_write_all(fd, &header, sizeof(header)) == 0);
	FUZZ_PROMISE(berth_fd_write_all(fd, data + 3, size - 3) == 0);
	if (data[0] & 1)
		FUZZ_PROMISE(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0);
	if (berth_spec_read(fd, &spec, &err) == 0) {
		FUZZ_PROMISE(data[0] & 1);
		FUZZ_PROMISE(spec.argv[0]);
		try_again(&spec);
		berth_spec_fini(&spec);
	} else {
		FUZZ_PROMISE(err.text[0]);
	}
	(void)close(fd);
	return 0;
}
