#include "host/attempt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "host/claim.h"

static const char *const endings[BERTH_ATTEMPT_FILES] = {
	[BERTH_ATTEMPT_CLAIM] = "claim",       [BERTH_ATTEMPT_RECORD] = "record", [BERTH_ATTEMPT_SOCK] = "sock",
	[BERTH_ATTEMPT_PROGRESS] = "progress", [BERTH_ATTEMPT_STOP] = "stop",     [BERTH_ATTEMPT_DONE] = "done",
};

char *berth_attempt_file_name(const struct berth_attempt_id *id, enum berth_attempt_file file,
                              char buf[static BERTH_ATTEMPT_NAME_MAX])
{
	(void)snprintf(buf, BERTH_ATTEMPT_NAME_MAX, "%" PRIu64 ".%" PRIu32 ".%s", id->job, id->attempt, endings[file]);
	return buf;
}

/* Digits up to a dot, as we write them: no sign, no leading zero. Returns what follows the dot, or NULL. */
static const char *parse_part(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (*s < '1' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n) || n > max)
			return NULL;
	*ret = n;
	return *s == '.' ? s + 1 : NULL;
}

bool berth_attempt_parse_name(const char *name, struct berth_attempt_id *ret_id, enum berth_attempt_file *ret_file)
{
	uint64_t job, attempt;
	const char *rest = parse_part(name, UINT64_MAX, &job);

	if (rest)
		rest = parse_part(rest, UINT32_MAX, &attempt);
	for (unsigned file = 0; rest && file < BERTH_ATTEMPT_FILES; file++)
		if (strcmp(rest, endings[file]) == 0) {
			*ret_id = (struct berth_attempt_id){job, (uint32_t)attempt};
			*ret_file = (enum berth_attempt_file)file;
			return true;
		}
	return false;
}

bool berth_attempt_is_same(const struct berth_attempt_id *a, const struct berth_attempt_id *b)
{
	return a->job == b->job && a->attempt == b->attempt;
}

/* 0 a whole record, -ENOENT none, -EBADMSG a damaged one, or another -errno. */
static int look_at_record(int dirfd, const struct berth_attempt_id *id)
{
	struct berth_record record;

	return berth_record_read(dirfd, id, &record, NULL);
}

enum berth_attempt_state berth_attempt_look(int dirfd, const struct berth_attempt_id *id)
{
	int record = look_at_record(dirfd, id);
	int locked;

	if (record == 0)
		return BERTH_ATTEMPT_OVER;
	if (record != -ENOENT && record != -EBADMSG)
		return BERTH_ATTEMPT_UNKNOWN;
	locked = berth_claim_is_locked(dirfd, id);
	if (locked == -ENOENT)
		return record == -ENOENT ? BERTH_ATTEMPT_NEVER : BERTH_ATTEMPT_ORPHAN;
	if (locked != 0)
		return locked == 1 ? BERTH_ATTEMPT_ALIVE : BERTH_ATTEMPT_UNKNOWN;
	/* The lock goes after the record came: one that ended since the first look has it now. */
	record = look_at_record(dirfd, id);
	if (record == 0)
		return BERTH_ATTEMPT_OVER;
	/* And both go together: one that was removed since the claim was looked at has neither. */
	if (record == -ENOENT && berth_claim_is_locked(dirfd, id) == -ENOENT)
		return BERTH_ATTEMPT_NEVER;
	return record == -ENOENT || record == -EBADMSG ? BERTH_ATTEMPT_ORPHAN : BERTH_ATTEMPT_UNKNOWN;
}

int berth_attempt_remove(int dirfd, const struct berth_attempt_id *id)
{
	static const enum berth_attempt_file order[BERTH_ATTEMPT_FILES] = {BERTH_ATTEMPT_SOCK,  BERTH_ATTEMPT_PROGRESS,
	                                                                   BERTH_ATTEMPT_STOP,  BERTH_ATTEMPT_DONE,
	                                                                   BERTH_ATTEMPT_CLAIM, BERTH_ATTEMPT_RECORD};
	char name[BERTH_ATTEMPT_NAME_MAX];

	for (unsigned i = 0; i < BERTH_ATTEMPT_FILES; i++)
		if (unlinkat(dirfd, berth_attempt_file_name(id, order[i], name), 0) < 0 && errno != ENOENT)
			return -errno;
	return 0;
}
