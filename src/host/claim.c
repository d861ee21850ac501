#include "host/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include "base/file.h"
#include "host/lines.h"

#define CLAIM_BYTES_MAX 8192u

static const struct berth_line claim_lines[] = {
	{"job", BERTH_LINE_U64, offsetof(struct berth_claim, id.job)},
	{"attempt", BERTH_LINE_U32, offsetof(struct berth_claim, id.attempt)},
	{"boot", BERTH_LINE_TEXT, offsetof(struct berth_claim, boot_id), sizeof(((struct berth_claim *)0)->boot_id)},
	{"shim", BERTH_LINE_I32, offsetof(struct berth_claim, shim_pid)},
	{"shim-start", BERTH_LINE_U64, offsetof(struct berth_claim, shim_start)},
	{"leader", BERTH_LINE_I32, offsetof(struct berth_claim, leader_pid)},
	{"leader-start", BERTH_LINE_U64, offsetof(struct berth_claim, leader_start)},
	{"group", BERTH_LINE_TEXT, offsetof(struct berth_claim, group), sizeof(((struct berth_claim *)0)->group)},
	{"card", BERTH_LINE_TEXTS, offsetof(struct berth_claim, uuid), sizeof(((struct berth_claim *)0)->uuid[0]),
         offsetof(struct berth_claim, n_uuid), 16},
	{0},
};

static const struct berth_line record_lines[] = {
	{"job", BERTH_LINE_U64, offsetof(struct berth_record, id.job)},
	{"attempt", BERTH_LINE_U32, offsetof(struct berth_record, id.attempt)},
	{"exit-code", BERTH_LINE_I32, offsetof(struct berth_record, exit_code)},
	{"signal", BERTH_LINE_I32, offsetof(struct berth_record, signal)},
	{"cause", BERTH_LINE_U32, offsetof(struct berth_record, cause)},
	{"how", BERTH_LINE_TEXT, offsetof(struct berth_record, how), sizeof(((struct berth_record *)0)->how)},
	{"error", BERTH_LINE_I32, offsetof(struct berth_record, error)},
	{"done", BERTH_LINE_BOOL, offsetof(struct berth_record, is_done)},
	{"pid", BERTH_LINE_I32, offsetof(struct berth_record, pid)},
	{"started", BERTH_LINE_U64, offsetof(struct berth_record, started_ms)},
	{"ended", BERTH_LINE_U64, offsetof(struct berth_record, ended_ms)},
	{"witness", BERTH_LINE_TEXT, offsetof(struct berth_record, witness),
         sizeof(((struct berth_record *)0)->witness)},
	{0},
};

/* The file of an attempt as a struct: -ENOENT, -EBADMSG or another -errno, told in err. ret is zeroed first. */
static int read_lines(int dirfd, const struct berth_attempt_id *id, enum berth_attempt_file file,
                      const struct berth_line *table, void *ret, struct berth_error *err)
{
	BERTH_AUTO_FREE char *text = NULL;
	char name[BERTH_ATTEMPT_NAME_MAX];
	size_t len = 0;
	int r = berth_file_read_at(dirfd, berth_attempt_file_name(id, file, name), CLAIM_BYTES_MAX, &text, &len);

	/* Of these kinds of damage the file system itself tells; what is there, is there. */
	if (r == -EFBIG || r == -EISDIR || r == -ELOOP || r == -EINVAL)
		r = -EBADMSG;
	if (r == 0)
		r = berth_lines_read(text, len, table, ret);
	if (r == -EBADMSG)
		return berth_error_set(err, r, "attempts/%s is damaged: its checksum does not match", name);
	return r < 0 ? berth_error_errno(err, r, "reading attempts/%s", name) : 0;
}

static int check_id(const struct berth_attempt_id *asked, const struct berth_attempt_id *found, const char *what,
                    struct berth_error *err)
{
	if (berth_attempt_is_same(asked, found))
		return 0;
	return berth_error_set(err, -EBADMSG,
	                       "the %s of attempt %" PRIu64 ".%" PRIu32 " is that of another, %" PRIu64 ".%" PRIu32,
	                       what, asked->job, asked->attempt, found->job, found->attempt);
}

static int lock_claim(int fd)
{
	const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

/* Write, sync and lock the claim under a name of its own: its fd or -errno. */
static int make_temporary(int dirfd, const char *name, const struct berth_text *text)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = berth_fd_write_all(fd, text->at, text->len);
	if (r == 0)
		r = berth_fd_sync(fd);
	if (r == 0)
		r = lock_claim(fd);
	if (r < 0)
		(void)unlinkat(dirfd, name, 0);
	return r < 0 ? r : BERTH_TAKE_FD(fd);
}

/* Put the locked file in place. Nobody can have started anything by it when this fails, so the name may go again. */
static int link_claim(int dirfd, const char *temporary, const char *name)
{
	int r = linkat(dirfd, temporary, dirfd, name, 0) < 0 ? -errno : 0;

	(void)unlinkat(dirfd, temporary, 0);
	if (r < 0)
		return r;
	r = berth_fd_sync(dirfd);
	if (r < 0)
		(void)unlinkat(dirfd, name, 0);
	return r;
}

int berth_claim_take(int dirfd, const struct berth_claim *claim)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	BERTH_AUTO_CLOSE int fd = -1;
	char temporary[40], name[BERTH_ATTEMPT_NAME_MAX];
	uint64_t random;
	int r = berth_lines_write(&text, claim_lines, claim);

	if (r < 0)
		return r;
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	(void)snprintf(temporary, sizeof(temporary), ".berth-%016" PRIx64 ".tmp", random);
	fd = make_temporary(dirfd, temporary, &text);
	if (fd < 0)
		return fd == -EEXIST ? -EAGAIN : fd;
	r = link_claim(dirfd, temporary, berth_attempt_file_name(&claim->id, BERTH_ATTEMPT_CLAIM, name));
	return r < 0 ? r : BERTH_TAKE_FD(fd);
}

int berth_claim_read(int dirfd, const struct berth_attempt_id *id, struct berth_claim *ret, struct berth_error *err)
{
	struct berth_claim claim = {0};
	int r = read_lines(dirfd, id, BERTH_ATTEMPT_CLAIM, claim_lines, &claim, err);

	if (r == 0)
		r = check_id(id, &claim.id, "claim", err);
	if (r == 0)
		*ret = claim;
	return r;
}

int berth_claim_is_locked(int dirfd, const struct berth_attempt_id *id)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	char name[BERTH_ATTEMPT_NAME_MAX];
	BERTH_AUTO_CLOSE int fd = openat(dirfd, berth_attempt_file_name(id, BERTH_ATTEMPT_CLAIM, name),
	                                 O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type != F_UNLCK;
}

int berth_record_write(int dirfd, const struct berth_record *record)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char name[BERTH_ATTEMPT_NAME_MAX];
	int r = berth_lines_write(&text, record_lines, record);

	if (r < 0)
		return r;
	return berth_file_replace_at(dirfd, berth_attempt_file_name(&record->id, BERTH_ATTEMPT_RECORD, name), text.at,
	                             text.len, 0600);
}

int berth_record_read(int dirfd, const struct berth_attempt_id *id, struct berth_record *ret, struct berth_error *err)
{
	struct berth_record record = {0};
	int r = read_lines(dirfd, id, BERTH_ATTEMPT_RECORD, record_lines, &record, err);

	if (r == 0)
		r = check_id(id, &record.id, "record", err);
	if (r == 0)
		*ret = record;
	return r;
}
