/* Kills what a berth-exec is made of at its n-th system call, or lets that call fail.
 *
 * nthcall N WHO[/ERROR] LOG PROGRAM ARGS...: becomes PROGRAM (same pid, same parent), watched by a process that is nobody's
 * child. WHO is killed before its N-th system call; with an ERROR (EMFILE, ENOSPC, EIO, EINTR, ENOMEM, EAGAIN), the N-th
 * of the calls that can give this error gives it (x86-64 only). WHO is
 *   exec    the program itself, once
 *   shim    what it forks and runs with --shim: every other one, so that an attempt that is started again gets through
 *   leader  what a shim forks, on its way to becoming the job's command; every other one
 * Each time appends a line to LOG. What nobody wants to kill, the jobs' commands for one, runs untraced. strace could not
 * do this: it counts for each process alike, and a shim is not started by a name that a script could stand in for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 256

/* Which calls can give which error, as far as berth uses them. */
struct failure {
	const char *word;
	int error;
	long calls[24]; /* ends with 0 */
};
static const struct failure failures[] = {
	{"EMFILE", EMFILE, {SYS_openat, SYS_socket, SYS_socketpair, SYS_accept4, SYS_pipe2, SYS_dup3, SYS_fcntl, SYS_memfd_create,
	                    SYS_pidfd_open, SYS_signalfd4, SYS_timerfd_create, SYS_recvmsg}},
	{"ENOSPC", ENOSPC, {SYS_openat, SYS_write, SYS_pwrite64, SYS_fsync, SYS_renameat, SYS_linkat, SYS_mkdirat, SYS_ftruncate,
#ifdef SYS_rename
	                    SYS_rename, SYS_mkdir, SYS_link,
#endif
	                    }},
	{"EIO", EIO, {SYS_openat, SYS_write, SYS_pwrite64, SYS_read, SYS_pread64, SYS_fsync, SYS_renameat, SYS_linkat, SYS_unlinkat,
	              SYS_getdents64, SYS_newfstatat, SYS_fstat}},
	{"EINTR", EINTR, {SYS_openat, SYS_write, SYS_read, SYS_ppoll, SYS_wait4, SYS_waitid, SYS_recvmsg, SYS_sendmsg, SYS_accept4,
	                  SYS_fsync, SYS_connect,
#ifdef SYS_poll
	                  SYS_poll,
#endif
	                  }},
	{"ENOMEM", ENOMEM, {SYS_openat, SYS_socket, SYS_clone, SYS_clone3, SYS_mmap, SYS_sendmsg, SYS_recvmsg, SYS_ppoll,
#ifdef SYS_poll
	                    SYS_poll,
#endif
	                    }},
	{"EAGAIN", EAGAIN, {SYS_clone, SYS_clone3, SYS_sendmsg, SYS_recvmsg, SYS_accept4}},
};

enum role { ROLE_NONE, ROLE_EXEC, ROLE_FORKED, ROLE_SHIM, ROLE_LEADER };

struct process {
	pid_t pid;
	enum role role;
	bool is_victim, is_inside;
	bool is_failing; /* the call that it is inside */
	bool is_waiting; /* newly born, until its parent's event says what it is */
	unsigned long calls;
};

struct watch {
	pid_t root;
	struct process process[PROCESSES_MAX];
	enum role who;
	const struct failure *failure; /* NULL = kill */
	unsigned long n;
	unsigned met; /* processes of the role */
	int log;
};

static struct process *find(struct watch *watch, pid_t pid)
{
	struct process *free_place = NULL;

	for (size_t i = 0; i < PROCESSES_MAX; i++) {
		if (watch->process[i].pid == pid)
			return &watch->process[i];
		if (!watch->process[i].pid)
			free_place = &watch->process[i];
	}
	if (free_place)
		*free_place = (struct process){.pid = pid};
	return free_place;
}

static void take_role(struct watch *watch, struct process *process, enum role role)
{
	process->role = role;
	process->calls = 0;
	process->is_inside = false;
	process->is_victim = role == watch->who && watch->met++ % 2 == 0;
}

static bool is_shim(pid_t pid)
{
	char path[48], words[64] = "";
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, words, sizeof(words) - 1);
	(void)close(fd);
	return n > 0 && strcmp(words + strlen(words) + 1, "--shim") == 0;
}

static void go_on(const struct process *process, int sig)
{
	(void)ptrace(process->is_victim ? PTRACE_SYSCALL : PTRACE_CONT, process->pid, NULL, (void *)(intptr_t)sig);
}

static void let_go(struct process *process)
{
	(void)ptrace(PTRACE_DETACH, process->pid, NULL, NULL);
	*process = (struct process){0};
}

static void on_exec(struct watch *watch, struct process *process)
{
	if (process->pid == watch->root)
		take_role(watch, process, ROLE_EXEC);
	else if (process->role == ROLE_FORKED && is_shim(process->pid) && watch->who != ROLE_EXEC)
		take_role(watch, process, ROLE_SHIM);
	else {
		let_go(process);
		return;
	}
	go_on(process, 0);
}

static void note(const struct watch *watch, const struct process *process)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%d at %lu\n", (int)process->pid, watch->n);

	(void)!write(watch->log, line, (size_t)n);
}

#ifdef __x86_64__
static bool can_fail(const struct failure *failure, long call)
{
	for (const long *at = failure->calls; *at; at++)
		if (*at == call)
			return true;
	return false;
}

/* At the entry the call is made one that does not exist, at its end its result is the error. */
static void let_fail(struct watch *watch, struct process *process)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, process->pid, NULL, &regs) < 0)
		return;
	if (process->is_inside && can_fail(watch->failure, (long)regs.orig_rax) && ++process->calls == watch->n) {
		process->is_failing = true;
		regs.orig_rax = ~0ull;
		note(watch, process);
	} else if (!process->is_inside && process->is_failing) {
		process->is_failing = false;
		regs.rax = (unsigned long long)-(long long)watch->failure->error;
	} else {
		return;
	}
	(void)ptrace(PTRACE_SETREGS, process->pid, NULL, &regs);
}
#else
static void let_fail(struct watch *watch, struct process *process)
{
}
#endif

/* At the entry or the end of a system call of a victim. */
static void on_call(struct watch *watch, struct process *process)
{
	process->is_inside = !process->is_inside;
	if (watch->failure) {
		let_fail(watch, process);
	} else if (process->is_inside && ++process->calls == watch->n) {
		(void)kill(process->pid, SIGKILL);
		note(watch, process);
		return;
	}
	go_on(process, 0);
}

static void on_fork(struct watch *watch, const struct process *parent)
{
	unsigned long child = 0;
	struct process *process;

	if (ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &child) < 0)
		return;
	process = find(watch, (pid_t)child);
	if (!process)
		return;
	take_role(watch, process, parent->role == ROLE_SHIM ? ROLE_LEADER : ROLE_FORKED);
	if (process->is_waiting)
		go_on(process, 0);
	process->is_waiting = false;
}

static void on_stop(struct watch *watch, struct process *process, int status)
{
	int event = status >> 16, sig = WSTOPSIG(status);

	if (event == PTRACE_EVENT_EXEC) {
		on_exec(watch, process);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
		on_fork(watch, process);
		go_on(process, 0);
	} else if (event == PTRACE_EVENT_STOP && process->role == ROLE_NONE && process->pid != watch->root) {
		process->is_waiting = true;
	} else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) {
		(void)ptrace(PTRACE_LISTEN, process->pid, NULL, NULL);
	} else if (event != 0) {
		go_on(process, 0);
	} else if (sig == (SIGTRAP | 0x80)) {
		on_call(watch, process);
	} else {
		go_on(process, sig);
	}
}

static int follow(struct watch *watch, pid_t pid)
{
	int status;

	for (;;) {
		struct process *process;

		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return 0;
		process = find(watch, pid);
		if (process && WIFSTOPPED(status))
			on_stop(watch, process, status);
		else if (process)
			*process = (struct process){0};
		else if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
	}
}

/* The watching process: nobody's child, none of the watched one's descriptors. */
static int stand_by(struct watch *watch, pid_t pid, int ready)
{
	const long options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
	                     PTRACE_O_TRACESYSGOOD;
	int null;

	if (fork() != 0)
		_exit(0);
	(void)setsid();
	if (dup2(watch->log, 3) != 3 || dup2(ready, 4) != 4)
		return 1;
	watch->log = 3;
	(void)close_range(5, ~0u, 0);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		(void)dup2(null, fd);
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)options) < 0)
		return 1;
	(void)!write(4, "", 1);
	(void)close(4);
	return follow(watch, pid);
}

/* WHO[/ERROR]; false when it is neither. */
static bool take_words(struct watch *watch, char *words)
{
	static const struct {
		const char *word;
		enum role role;
	} roles[] = {{"exec", ROLE_EXEC}, {"shim", ROLE_SHIM}, {"leader", ROLE_LEADER}};
	char *error = strchr(words, '/');

	if (error)
		*error++ = '\0';
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (strcmp(words, roles[i].word) == 0)
			watch->who = roles[i].role;
	for (size_t i = 0; error && i < sizeof(failures) / sizeof(failures[0]); i++)
		if (strcmp(error, failures[i].word) == 0)
			watch->failure = &failures[i];
	return watch->who != ROLE_NONE && (!error || watch->failure);
}

int main(int argc, char **argv)
{
	static struct watch watch;
	int ready[2];
	char byte;

	if (argc < 5 || !take_words(&watch, argv[2])) {
		fprintf(stderr, "usage: nthcall N exec|shim|leader[/ERROR] LOG PROGRAM ARGS...\n");
		return 2;
	}
	watch.n = strtoul(argv[1], NULL, 10);
	watch.root = getpid();
	watch.log = fcntl(open(argv[3], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), F_DUPFD_CLOEXEC, 10);
	if (watch.log < 0 || pipe2(ready, O_CLOEXEC) < 0)
		return 2;
	pid_t helper = fork();
	if (helper == 0)
		return stand_by(&watch, watch.root, fcntl(ready[1], F_DUPFD_CLOEXEC, 10));
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	(void)close(ready[1]);
	(void)waitpid(helper, NULL, 0);
	if (read(ready[0], &byte, 1) != 1)
		return 2;
	(void)close_range(3, ~0u, 0);
	char *name = strrchr(argv[4], '/');
	char *path = argv[4];
	argv[4] = name ? name + 1 : path;
	execv(path, argv + 4);
	return 127;
}
