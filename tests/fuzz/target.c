#include "target.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "base/file.h"

void fuzz_broken(const char *file, int line, const char *promise)
{
	fprintf(stderr, "%s:%d: broken: %s\n", file, line, promise);
	abort();
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	FUZZ_PROMISE(text);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

static char dir_path[] = "/tmp/berth-fuzz-XXXXXX";

static void remove_dir(void)
{
	if (berth_dir_remove(dir_path) < 0)
		fprintf(stderr, "%s is left behind\n", dir_path);
}

int fuzz_dir(const char **ret_path)
{
	static int fd = -1;

	if (fd < 0) {
		FUZZ_PROMISE(mkdtemp(dir_path));
		FUZZ_PROMISE(atexit(remove_dir) == 0);
		fd = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		FUZZ_PROMISE(fd >= 0);
	}
	if (ret_path)
		*ret_path = dir_path;
	return fd;
}

void fuzz_file(const char *name, const void *data, size_t size)
{
	BERTH_AUTO_CLOSE int fd = openat(fuzz_dir(NULL), name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	FUZZ_PROMISE(fd >= 0 && berth_fd_write_all(fd, data, size) == 0);
}
