#ifndef BERTH_HOST_PLACE_TEST_H
#define BERTH_HOST_PLACE_TEST_H
/* A directory of its own for each test, open as dir, named by path, removed afterwards. For cmocka's setup and
 * teardown. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"

struct place {
	char path[64];
	int dir;
};

static inline int place_make(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	(void)snprintf(place->path, sizeof(place->path), "/tmp/berth-host-test.XXXXXX");
	if (!mkdtemp(place->path))
		return -1;
	place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = place;
	return place->dir < 0;
}

static inline int place_remove(void **state)
{
	struct place *place = *state;
	int r = berth_dir_remove(place->path);

	(void)close(place->dir);
	free(place);
	return r;
}

/* The file of that name holds exactly this text afterwards. */
static inline void place_write(const struct place *place, const char *name, const char *text)
{
	int fd = openat(place->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || berth_fd_write_all(fd, text, strlen(text)) < 0)
		abort();
	(void)close(fd);
}

/* Its text, to be freed. */
static inline char *place_read(const struct place *place, const char *name)
{
	char *text = NULL;

	if (berth_file_read_at(place->dir, name, 1u << 20, &text, NULL) < 0)
		abort();
	return text;
}

static inline bool place_has(const struct place *place, const char *name)
{
	return faccessat(place->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}
#endif
