#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "exec/shim.h"

#define PROGRESS_BYTES_MAX 200u

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The first line, cut to whole characters. */
static void cut_line(char *text)
{
	size_t n = strcspn(text, "\r\n");

	if (n > PROGRESS_BYTES_MAX) {
		n = PROGRESS_BYTES_MAX;
		while (n > 0 && ((unsigned char)text[n] & 0xc0u) == 0x80u)
			n--;
	}
	text[n] = '\0';
}

static bool take_text(struct berth_shim *shim, char *text)
{
	BERTH_AUTO_FREE char *clean = NULL;

	cut_line(text);
	clean = berth_utf8_printable(text, 0);
	if (!clean || strlen(clean) >= sizeof(shim->progress) || strcmp(clean, shim->progress) == 0)
		return false;
	memcpy(shim->progress, clean, strlen(clean) + 1);
	return true;
}

/* The job writes this file: it may be anything, of any size. */
bool berth_shim_read_progress(struct berth_shim *shim)
{
	char name[BERTH_ATTEMPT_NAME_MAX], text[PROGRESS_BYTES_MAX + 8];
	BERTH_AUTO_CLOSE int fd = -1;
	struct stat st;
	ssize_t n;

	(void)berth_attempt_file_name(&shim->id, BERTH_ATTEMPT_PROGRESS, name);
	if (fstatat(BERTH_SHIM_ATTEMPTS, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    (is_same_time(&st.st_mtim, &shim->progress_mtime) && st.st_size == shim->progress_size))
		return false;
	fd = openat(BERTH_SHIM_ATTEMPTS, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 0)
		return false;
	text[n] = '\0';
	shim->progress_mtime = st.st_mtim;
	shim->progress_size = st.st_size;
	return take_text(shim, text);
}
