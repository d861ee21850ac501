#ifndef BERTH_BASE_CLEANUP_H
#define BERTH_BASE_CLEANUP_H
/* Scoped ownership.
 *
 * A variable marked BERTH_AUTO_x owns what it holds until the end of its scope; it must be initialised where it
 * is declared. Only BERTH_TAKE moves ownership out. A function that has such a variable uses no goto.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BERTH_MUST_USE __attribute__((warn_unused_result))
#define BERTH_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static inline void berth_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void berth_cleanup_close(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void berth_cleanup_fclose(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

#define BERTH_AUTO_FREE __attribute__((cleanup(berth_cleanup_free)))     /* any malloc'd pointer */
#define BERTH_AUTO_CLOSE __attribute__((cleanup(berth_cleanup_close)))   /* int fd, -1 = none */
#define BERTH_AUTO_FCLOSE __attribute__((cleanup(berth_cleanup_fclose))) /* FILE *, NULL = none */

/* The pointer's value; the variable no longer owns it. */
#define BERTH_TAKE(p)                       \
	({                                  \
		__typeof__(p) _taken = (p); \
		(p) = NULL;                 \
		_taken;                     \
	})
/* The same for a file descriptor. */
#define BERTH_TAKE_FD(fd)          \
	({                         \
		int _taken = (fd); \
		(fd) = -1;         \
		_taken;            \
	})
#endif
