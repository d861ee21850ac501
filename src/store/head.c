#include "store/head.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

/* "berth head " 20 digits " " 64 hex " " 64 hex of the seal of these two "\n": always as long, so that it is one write
 * in place. */
#define HEAD_BYTES 162

static void seal_head(const struct berth_head *head, struct berth_seal *ret)
{
	const struct berth_value row[] = {berth_value_number(head->seq),
	                                  berth_value_blob(head->seal.bytes, BERTH_SEAL_BYTES)};

	berth_seal_make("head", NULL, row, sizeof(row) / sizeof(*row), ret);
}

static bool parse(const char *line, struct berth_head *ret)
{
	char chain[BERTH_SEAL_HEX + 1], sum[BERTH_SEAL_HEX + 1];
	struct berth_seal stored, wanted;
	struct berth_head head;

	if (sscanf(line, "berth head %20" SCNu64 " %64[0-9a-f] %64[0-9a-f]", &head.seq, chain, sum) != 3)
		return false;
	if (!berth_seal_read_hex(chain, &head.seal) || !berth_seal_read_hex(sum, &stored))
		return false;
	seal_head(&head, &wanted);
	if (memcmp(&stored, &wanted, sizeof(wanted)) != 0)
		return false;
	*ret = head;
	return true;
}

int berth_head_open(int dirfd, int *ret_fd, struct berth_head *ret, bool *ret_is_known, struct berth_error *err)
{
	BERTH_AUTO_CLOSE int fd = openat(dirfd, BERTH_HEAD_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	                                 0600);
	char line[HEAD_BYTES + 1] = "";
	ssize_t n = fd < 0 ? -1 : pread(fd, line, HEAD_BYTES, 0);

	if (n < 0)
		return berth_error_errno(err, -errno, "reading %s", BERTH_HEAD_NAME);
	line[n] = '\0';
	*ret_is_known = parse(line, ret);
	*ret_fd = BERTH_TAKE_FD(fd);
	return 0;
}

void berth_head_write(int fd, const struct berth_head *head)
{
	char chain[BERTH_SEAL_HEX + 1], sum[BERTH_SEAL_HEX + 1], line[HEAD_BYTES + 1];
	struct berth_seal seal;
	int n;

	seal_head(head, &seal);
	berth_seal_write_hex(&head->seal, chain);
	berth_seal_write_hex(&seal, sum);
	n = snprintf(line, sizeof(line), "berth head %020" PRIu64 " %s %s\n", head->seq, chain, sum);
	while (pwrite(fd, line, (size_t)n, 0) < 0 && errno == EINTR)
		;
}
