#include "cli/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/text.h"

#define ASK_MS 500u
#define REPLACEMENT "\xef\xbf\xbd"    /* U+FFFD */
#define SYMBOL_FOR_NUL "\xe2\x90\x80" /* U+2400: JSON strings of jansson end at a NUL */

int berth_tail_init(struct berth_tail *tail, struct berth_cli *cli, uint64_t id, int out)
{
	*tail = (struct berth_tail){.cli = cli, .id = id, .out = out, .fd = -1};
	tail->buf = malloc(BERTH_TAIL_BYTES);
	return tail->buf ? 0 : -ENOMEM;
}

/* Is the file that is open still the one that has this name? */
static bool is_current(int fd, const char *path)
{
	struct stat open_file;
	struct stat named;

	return fstat(fd, &open_file) == 0 && stat(path, &named) == 0 && open_file.st_dev == named.st_dev &&
	       open_file.st_ino == named.st_ino;
}

void berth_tail_open(struct berth_tail *tail, const char *path)
{
	BERTH_AUTO_CLOSE int fd = -1;
	struct stat st;

	if (tail->is_asking || (tail->fd >= 0 && is_current(tail->fd, path)))
		return;
	fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0) {
		tail->is_asking = tail->fd < 0 && tail->id > 0;
		return;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return; /* a terminal, /dev/null, a pipe: what goes there is not ours to read */
	if (tail->fd >= 0) {
		(void)close(tail->fd);
		tail->offset = 0;
	}
	tail->fd = BERTH_TAKE_FD(fd);
}

static void read_file(struct berth_tail *tail)
{
	struct stat st;
	ssize_t n;

	/* Somebody emptied the file: go on with what comes now. */
	if (fstat(tail->fd, &st) == 0 && (uint64_t)st.st_size < tail->offset)
		tail->offset = 0;
	n = pread(tail->fd, tail->buf, BERTH_TAIL_BYTES, (off_t)tail->offset);
	if (n > 0)
		tail->n = (size_t)n;
}

static void ask(struct berth_tail *tail)
{
	BERTH_AUTO_REPLY struct berth_reply reply = {0};
	char target[96];
	const struct berth_call call = {.method = "GET", .target = target, .is_raw = true};

	tail->asked_ms = berth_clock_boot_ms();
	(void)snprintf(target, sizeof(target), "/api/v1/jobs/%" PRIu64 "/log?offset=%" PRIu64 "&length=%u", tail->id,
	               tail->offset, BERTH_TAIL_BYTES);
	if (berth_call_try(tail->cli, &call, &reply, NULL) < 0)
		return;
	tail->is_missing = reply.status == 404;
	if (reply.status != 200 || reply.body.len > BERTH_TAIL_BYTES)
		return;
	if (reply.body.len > 0)
		memcpy(tail->buf, reply.body.at, reply.body.len);
	tail->n = reply.body.len;
	if (tail->n == BERTH_TAIL_BYTES)
		tail->asked_ms = 0; /* there is more */
}

/* Bytes at the end of a piece that begin a character whose rest has not come yet. */
static size_t unfinished(const char *bytes, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		const unsigned char c = (unsigned char)bytes[n - k];

		if (c < 0x80)
			return 0;
		if (c >= 0xc0)
			return k < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? k : 0;
	}
	return 0;
}

void berth_tail_clean(const char *bytes, size_t n, struct berth_text *text)
{
	while (n > 0) {
		size_t good = 1;

		/* The longest good beginning: whole characters are at most 4 bytes. */
		while (good <= 4 && good <= n && !berth_utf8_is_valid(bytes, good))
			good++;
		if (good > 4 || good > n) {
			berth_text_add(text, *bytes ? REPLACEMENT : SYMBOL_FOR_NUL);
			good = 1;
		} else {
			berth_text_add_n(text, bytes, good);
		}
		bytes += good;
		n -= good;
	}
}

bool berth_tail_fill(struct berth_tail *tail, bool force)
{
	size_t part;

	if (tail->at < tail->n)
		return true;
	tail->at = tail->n = 0;
	if (tail->fd >= 0)
		read_file(tail);
	else if (tail->is_asking && (force || berth_clock_boot_ms() - tail->asked_ms >= ASK_MS))
		ask(tail);
	part = tail->is_json ? unfinished(tail->buf, tail->n) : 0;
	if (part < tail->n) /* else nothing more has come: let it out as it is */
		tail->n -= part;
	tail->offset += tail->n;
	return tail->n > 0;
}

static int write_json(struct berth_tail *tail)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_JSON json_t *object = NULL;

	berth_tail_clean(tail->buf, tail->n, &text);
	if (text.is_failed)
		return -ENOMEM;
	object = json_pack("{s:s, s:I, s:I, s:s}", "schema", "berth.log/1", "id", (json_int_t)tail->id, "offset",
	                   (json_int_t)(tail->offset - tail->n), "text", text.at);
	tail->at = tail->n;
	return berth_print_json(object) == BERTH_EXIT_OK ? 0 : -EPIPE;
}

int berth_tail_write(struct berth_tail *tail)
{
	const size_t left = tail->n - tail->at;
	ssize_t n;

	if (tail->is_json)
		return write_json(tail);
	n = write(tail->out, tail->buf + tail->at, left < PIPE_BUF ? left : PIPE_BUF);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	tail->at += (size_t)n;
	return 0;
}

void berth_tail_fini(struct berth_tail *tail)
{
	if (tail->fd >= 0)
		(void)close(tail->fd);
	free(tail->buf);
	*tail = (struct berth_tail){.fd = -1};
}
