#include "store/preallocate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "base/file.h"

#define LOG_BYTES ((off_t)4 << 20)
#define CHUNK_BYTES 65536

/* From the end of the file on; -errno when there is no room. */
static int write_zeros(int fd, off_t n)
{
	BERTH_AUTO_FREE char *zeros = calloc(1, CHUNK_BYTES);
	int r = zeros && lseek(fd, 0, SEEK_END) >= 0 ? 0 : -ENOMEM;

	for (off_t left = n; left > 0 && r == 0; left -= CHUNK_BYTES)
		r = berth_fd_write_all(fd, zeros, (size_t)(left < CHUNK_BYTES ? left : CHUNK_BYTES));
	return r;
}

void berth_preallocate_log(int dirfd, const char *name)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size >= LOG_BYTES)
		return;
	/* What was begun on a full disk is given back; if even that fails, SQLite reads zeros as the end all the same.
	 */
	if (write_zeros(fd, LOG_BYTES - st.st_size) < 0 && ftruncate(fd, st.st_size) < 0)
		errno = 0;
}
