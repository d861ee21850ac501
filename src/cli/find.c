#include "cli/find.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include "base/text.h"

#define CONNECT_SECONDS 10 /* a full backlog empties sooner, or the daemon hangs */

static int add(struct berth_socket_list *list, struct berth_arena *arena, struct berth_text *path)
{
	const char *copy = berth_arena_strdup(arena, berth_text_str(path));

	berth_text_fini(path);
	if (!copy)
		return -ENOMEM;
	list->path[list->n++] = copy;
	return 0;
}

int berth_socket_list(const char *asked, struct berth_arena *arena, struct berth_socket_list *ret)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *named = getenv("BERTH_SOCKET");
	struct berth_socket_list list = {0};
	struct berth_text path = {0};
	int r = 0;

	if (!asked && named && *named)
		asked = named;
	if (asked) {
		*ret = (struct berth_socket_list){.path = {asked}, .n = 1};
		return 0;
	}
	if (runtime && *runtime == '/') {
		berth_text_addf(&path, "%s/berth/berth.sock", runtime);
		r = add(&list, arena, &path);
	}
	if (r == 0) {
		berth_text_addf(&path, "/tmp/berth-%u/berth.sock", getuid());
		r = add(&list, arena, &path);
	}
	if (r == 0) {
		berth_text_add(&path, "/run/berth/berth.sock");
		r = add(&list, arena, &path);
	}
	if (r == 0)
		*ret = list;
	return r;
}

/* Anyone can have made our directory below /tmp first: it must be ours, and nobody else's to write. */
static int check_directory(const char *path)
{
	char ours[64];
	size_t n;
	struct stat st;

	(void)snprintf(ours, sizeof(ours), "/tmp/berth-%u/berth.sock", getuid());
	if (strcmp(path, ours) != 0)
		return 0;
	n = strlen(ours) - strlen("/berth.sock");
	ours[n] = '\0';
	if (lstat(ours, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == getuid() && (st.st_mode & 022) == 0 ? 0 : -EPERM;
}

int berth_socket_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timeval patience = {.tv_sec = CONNECT_SECONDS};
	BERTH_AUTO_CLOSE int fd = -1;
	int r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	r = check_directory(path);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return BERTH_TAKE_FD(fd);
}
