#ifndef BERTH_BASE_FILE_H
#define BERTH_BASE_FILE_H
/* Files read and written whole, durably. Every descriptor is opened O_CLOEXEC. EINTR is retried here. */
#include <stddef.h>
#include <sys/types.h>
#include "base/error.h"

/* Read up to max bytes of the file NAME under dirfd (AT_FDCWD allowed) into a fresh NUL-terminated buffer, which the
 * caller frees. Regular files only, no final symlink, never blocks on a FIFO. -EFBIG beyond max; -ENOENT only when
 * it really is absent, -ELOOP a link, -EISDIR, -EINVAL another kind of file. *ret_len (may be NULL) leaves the NUL out.
 */
BERTH_MUST_USE int berth_file_read_at(int dirfd, const char *name, size_t max, char **ret, size_t *ret_len);
/* A file of /proc or /sys, whose size is not known beforehand, into buf, NUL-terminated, its final newline kept.
 * Links are followed. -EFBIG when cap - 1 bytes are too few: never a cut answer. On failure buf is "". */
BERTH_MUST_USE int berth_file_read_proc(const char *path, char *buf, size_t cap);

/* All of data, or a negative errno. */
BERTH_MUST_USE int berth_fd_write_all(int fd, const void *data, size_t n);
/* fsync; 0 also where the file system has nothing to write back (EINVAL). A failure means: not known to be durable. */
BERTH_MUST_USE int berth_fd_sync(int fd);

/* Replace NAME under dirfd so that after a crash it holds either the old or the new content: temporary file, fsync,
 * rename, fsync of the directory. mode as for open. A crash may leave ".berth-HEX.tmp" behind, which anyone may remove.
 */
BERTH_MUST_USE int berth_file_replace_at(int dirfd, const char *name, const void *data, size_t n, mode_t mode);

/* Make path and its missing parents, each with mode, each name durable. 0 also when it exists as a directory; -ENOTDIR
 * otherwise. */
BERTH_MUST_USE int berth_dir_make(const char *path, mode_t mode);
/* Make or check a private directory: owned by this user, not a symlink, mode 0700 (a wider one is refused, -EPERM).
 * Missing parents are made, 0700 too. */
BERTH_MUST_USE int berth_dir_make_private(const char *path, struct berth_error *err);
/* Remove a directory and all below it, never following a link. For state that berth itself made. 0 also when it is
 * absent; -ENOTDIR when path is no directory; -ELOOP below 256 levels, with the shallow rest in place. */
BERTH_MUST_USE int berth_dir_remove(const char *path);
#endif
