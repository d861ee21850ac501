#include "exec/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "base/file.h"
#include "host/group.h"
#include "host/spec.h"

/* Linux 6.3; Linux before that makes all of them so. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif

#define EXIT_CANNOT_RUN 126 /* as shells have it: found, but not to be run */
#define EXIT_NOT_FOUND 127

static int tell(int channel, enum berth_child_step step, const char *how, int error, int fd)
{
	struct berth_child_news news = {.step = step, .error = error};
	struct iovec part = {&news, sizeof(news)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};

	(void)snprintf(news.how, sizeof(news.how), "%s", how);
	if (fd >= 0) {
		packet.msg_control = control.bytes;
		packet.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&packet) = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&packet)), &fd, sizeof(int));
	}
	while (sendmsg(channel, &packet, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Say it in the output and to the shim, and end. */
static _Noreturn void give_up(int channel, int error, const char *doing, const char *what)
{
	const char *words = strerrordesc_np(error);

	/* The kernel says so of a text without #! line. */
	if (error == ENOEXEC)
		words = "not a program, nor a script with a #! line (such as #!/bin/sh) at its very start";
	(void)dprintf(STDERR_FILENO, "berth: cannot %s %s: %s\n", doing, what, words ? words : "unknown error");
	(void)tell(channel, BERTH_CHILD_FAILED, "ExecFailed", error, -1);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

static int make_parents(const char *path)
{
	const char *slash = strrchr(path, '/');
	BERTH_AUTO_FREE char *parent = slash && slash != path ? strndup(path, (size_t)(slash - path)) : strdup("/");

	return parent ? berth_dir_make(parent, 0777) : -ENOMEM;
}

/* Always appending, so that several writers and a truncation from outside do no harm. A FIFO would hang whoever writes
 * first; a character device (/dev/null) is fine. */
static int open_output(const char *path, int is_append)
{
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (is_append ? 0 : O_TRUNC);
	BERTH_AUTO_CLOSE int fd = open(path, flags, 0666);
	struct stat st;

	if (fd < 0 && errno == ENOENT) {
		int r = make_parents(path);

		if (r < 0)
			return r;
		fd = open(path, flags, 0666);
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return -EINVAL;
	if (fcntl(fd, F_SETFL, O_APPEND) < 0)
		return -errno;
	return BERTH_TAKE_FD(fd);
}

/* Descriptors 0, 1, 2 as the job sees them. Nothing can be said in the output before. */
static void open_streams(int channel, const struct berth_spec *spec)
{
	BERTH_AUTO_CLOSE int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	BERTH_AUTO_CLOSE int out = open_output(spec->path[BERTH_SPEC_STDOUT], spec->is_append);
	BERTH_AUTO_CLOSE int err = -1;
	int r = null < 0 ? -errno : out < 0 ? out : 0;

	if (r == 0 && spec->path[BERTH_SPEC_STDERR][0]) {
		err = open_output(spec->path[BERTH_SPEC_STDERR], spec->is_append);
		r = err < 0 ? err : 0;
	}
	if (r == 0 && (dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	               dup2(err >= 0 ? err : out, STDERR_FILENO) < 0))
		r = -errno;
	if (r < 0) {
		(void)tell(channel, BERTH_CHILD_FAILED, "OutputFailed", -r, -1);
		_exit(EXIT_CANNOT_RUN);
	}
	(void)tell(channel, BERTH_CHILD_OUTPUT, "", 0, STDOUT_FILENO);
}

/* The job's environment with mark in it, once. */
static char **mark_environment(char **env, const char *mark)
{
	size_t n = 0, name = strcspn(mark, "=") + 1;
	char **marked;

	while (env[n])
		n++;
	marked = calloc(n + 2, sizeof(*marked));
	if (!marked)
		return NULL;
	n = 0;
	for (; *env; env++)
		if (strncmp(*env, mark, name) != 0)
			marked[n++] = *env;
	marked[n] = (char *)mark;
	return marked;
}

/* The kernel hands the interpreter a name of this descriptor: it is the one that the job keeps beside 0, 1 and 2. */
static int open_script(const char *text)
{
	int fd = memfd_create("berth-script", MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("berth-script", 0);
	if (fd < 0)
		return -errno;
	return berth_fd_write_all(fd, text, strlen(text)) < 0 ? -EIO : fd;
}

static _Noreturn void become(int channel, const struct berth_spec *spec, const char *mark)
{
	const char *script = spec->path[BERTH_SPEC_SCRIPT];
	char path[32] = "";
	int fd = script[0] ? open_script(script) : -1;

	if (script[0] && fd < 0)
		give_up(channel, -fd, "keep", "the script");
	if (chdir(spec->path[BERTH_SPEC_CWD]) < 0)
		give_up(channel, errno, "enter the working directory", spec->path[BERTH_SPEC_CWD]);
	environ = mark_environment(spec->env, mark);
	if (!environ)
		give_up(channel, ENOMEM, "run", spec->argv[0]);
	if (close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		give_up(channel, errno, "close the descriptors of", "the shim");
	/* Who was not told takes the attempt for one that never ran, and starts it anew: then nothing may run here. */
	if (tell(channel, BERTH_CHILD_GOING, "", 0, -1) < 0)
		_exit(EXIT_CANNOT_RUN);
	if (fd >= 0 && fcntl(fd, F_SETFD, 0) == 0) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		(void)execve(path, spec->argv, environ);
	} else {
		(void)execvp(spec->argv[0], spec->argv);
	}
	give_up(channel, errno, "run", spec->argv[0]);
}

/* Dispositions and mask both pass through exec: a job that inherits an ignored SIGPIPE or a blocked SIGCHLD misbehaves.
 * The kernel is asked itself: glibc keeps signals 32 and 33 for its own threads and does not change them, also where
 * whoever started us ignores them. A kernel sigaction of zeros is SIG_DFL. */
static void reset_signals(void)
{
	static const unsigned char default_action[64];
	sigset_t none;

	for (int sig = 1; sig < _NSIG; sig++)
		(void)syscall(SYS_rt_sigaction, sig, default_action, NULL, _NSIG / 8);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run(int spec_fd, const char *mark, int gate, int channel)
{
	struct berth_spec spec;
	char byte;
	int r;

	(void)setsid();
	reset_signals();
	do
		r = (int)read(gate, &byte, 1);
	while (r < 0 && errno == EINTR);
	if (r != 1)
		_exit(EXIT_CANNOT_RUN);
	r = berth_spec_read(spec_fd, &spec, NULL);
	if (r < 0) {
		(void)tell(channel, BERTH_CHILD_FAILED, "ExecFailed", -r, -1);
		_exit(EXIT_CANNOT_RUN);
	}
	open_streams(channel, &spec);
	become(channel, &spec, mark);
}

/* Into the group where that can be: ret_is_inside. The pid, 0 in the child, or -errno. */
static pid_t fork_into(const char *group, bool *ret_is_inside)
{
	pid_t pid = group[0] ? berth_group_fork(group) : -ENOSYS;

	*ret_is_inside = pid >= 0;
	if (pid < 0)
		pid = fork();
	return pid < 0 ? -errno : pid;
}

int berth_child_start(int spec, const char *mark, const int *close_fds, size_t n, const char *group,
                      struct berth_child *ret)
{
	BERTH_AUTO_CLOSE int gate_in = -1;
	BERTH_AUTO_CLOSE int gate_out = -1;
	BERTH_AUTO_CLOSE int ours = -1;
	BERTH_AUTO_CLOSE int theirs = -1;
	bool is_in_group;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	gate_out = ends[0];
	gate_in = ends[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	pid = fork_into(group, &is_in_group);
	if (pid < 0)
		return pid;
	if (pid == 0) {
		for (size_t i = 0; i < n; i++)
			(void)close(close_fds[i]);
		(void)close(gate_in);
		(void)close(ours);
		run(spec, mark, gate_out, theirs);
	}
	*ret = (struct berth_child){pid, BERTH_TAKE_FD(gate_in), BERTH_TAKE_FD(ours), is_in_group};
	return 0;
}

int berth_child_release(struct berth_child *child)
{
	int r = berth_fd_write_all(child->gate, "", 1);

	(void)close(BERTH_TAKE_FD(child->gate));
	return r;
}

int berth_child_receive(struct berth_child *child, struct berth_child_news *ret, int *ret_fd)
{
	struct berth_child_news news;
	struct iovec part = {&news, sizeof(news)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr packet = {.msg_iov = &part,
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *c;
	ssize_t n = recvmsg(child->channel, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? 0 : -errno;
	*ret_fd = -1;
	c = CMSG_FIRSTHDR(&packet);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	*ret = news;
	return 1;
}
