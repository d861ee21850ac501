#include "host/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/text.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static uint32_t add_strings(struct berth_text *text, char *const list[])
{
	uint32_t n = 0;

	for (; list[n]; n++)
		berth_text_add_n(text, list[n], strlen(list[n]) + 1);
	return n;
}

int berth_spec_seal(char *const argv[], char *const env[], const char *const path[BERTH_SPEC_PATHS], int is_append)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_CLOSE int fd = -1;
	struct berth_spec_header header = {BERTH_SPEC_MAGIC, BERTH_SPEC_VERSION, .is_append = is_append ? 1 : 0};
	int r;

	header.n_argv = add_strings(&text, argv);
	header.n_env = add_strings(&text, env);
	for (unsigned i = 0; i < BERTH_SPEC_PATHS; i++)
		berth_text_add_n(&text, path[i] ? path[i] : "", path[i] ? strlen(path[i]) + 1 : 1);
	if (text.is_failed)
		return -ENOMEM;
	if (text.len > BERTH_SPEC_BYTES_MAX)
		return -E2BIG;
	header.len = text.len;
	fd = memfd_create("berth-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	r = berth_fd_write_all(fd, &header, sizeof(header));
	if (r == 0)
		r = berth_fd_write_all(fd, text.at, text.len);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		r = -errno;
	return r < 0 ? r : BERTH_TAKE_FD(fd);
}

static int read_exactly(int fd, void *buf, size_t n, off_t offset)
{
	char *at = buf;

	while (n > 0) {
		ssize_t got = pread(fd, at, n, offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		at += got;
		offset += got;
		n -= (size_t)got;
	}
	return 0;
}

/* Can nobody change it any more, and do its parts add up? */
static int check_header(int fd, struct berth_spec_header *ret, struct berth_error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	int r;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return berth_error_set(err, -EBADMSG, "the specification is not sealed");
	if (fstat(fd, &st) < 0)
		return berth_error_errno(err, -errno, "reading the specification");
	r = read_exactly(fd, ret, sizeof(*ret), 0);
	if (r < 0)
		return berth_error_errno(err, r, "reading the specification");
	if (ret->magic != BERTH_SPEC_MAGIC || ret->version != BERTH_SPEC_VERSION)
		return berth_error_set(err, -EBADMSG, "the specification is of another version of berth");
	/* Each string has at least its NUL: counts beyond the length cannot be true. */
	if (ret->len > BERTH_SPEC_BYTES_MAX || ret->len + sizeof(*ret) != (uint64_t)st.st_size || ret->n_argv == 0 ||
	    (uint64_t)ret->n_argv + ret->n_env + BERTH_SPEC_PATHS > ret->len)
		return berth_error_set(err, -EBADMSG, "counts and lengths of the specification do not add up");
	return 0;
}

/* Point list at the next n strings before end; NULL behind them. Returns what follows, NULL when they do not fit. */
static char *point_at(char **list, uint32_t n, char *at, const char *end)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul)
			return NULL;
		list[i] = at;
		at = at + (nul - at) + 1;
	}
	return at;
}

int berth_spec_read(int fd, struct berth_spec *ret, struct berth_error *err)
{
	BERTH_AUTO_FREE char **memory = NULL;
	struct berth_spec_header header;
	char *paths[BERTH_SPEC_PATHS];
	size_t lists;
	char *at, *end;
	int r = check_header(fd, &header, err);

	if (r < 0)
		return r;
	lists = ((size_t)header.n_argv + header.n_env + 2) * sizeof(char *);
	memory = calloc(1, lists + header.len);
	if (!memory)
		return berth_error_errno(err, -ENOMEM, "reading the specification");
	at = (char *)memory + lists;
	end = at + header.len;
	r = read_exactly(fd, at, header.len, sizeof(header));
	if (r < 0)
		return berth_error_errno(err, r, "reading the specification");
	at = point_at(memory, header.n_argv, at, end);
	if (at)
		at = point_at(memory + header.n_argv + 1, header.n_env, at, end);
	if (at)
		at = point_at(paths, BERTH_SPEC_PATHS, at, end);
	if (at != end)
		return berth_error_set(err, -EBADMSG, "strings of the specification are not as many as it says");
	*ret = (struct berth_spec){
		.argv = memory, .env = memory + header.n_argv + 1, .is_append = header.is_append != 0};
	for (unsigned i = 0; i < BERTH_SPEC_PATHS; i++)
		ret->path[i] = paths[i];
	ret->memory = BERTH_TAKE(memory);
	return 0;
}

void berth_spec_fini(struct berth_spec *spec)
{
	free(spec->memory);
	*spec = (struct berth_spec){0};
}
