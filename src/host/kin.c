#include "host/kin.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include "base/file.h"

#define ENVIRON_BYTES_MAX (16u << 20)

struct process {
	pid_t pid, parent;
	char state;
	int threads;
	uint64_t start;
	bool is_kin;
};

struct table {
	struct process *at; /* owned */
	size_t n, cap;
};

static void free_table(struct table *table)
{
	free(table->at);
}

/* "PID (name, with anything in it) STATE PARENT …"; threads is field 20, start 22. */
static bool parse_stat(const char *text, struct process *ret)
{
	const char *at = strrchr(text, ')');
	int parent;
	unsigned long long start;

	if (!at || sscanf(at + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
	                  &ret->state, &parent, &ret->threads, &start) != 4)
		return false;
	ret->parent = parent;
	ret->start = start;
	return true;
}

static bool read_process(pid_t pid, struct process *ret)
{
	char path[32], text[1024];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	*ret = (struct process){.pid = pid};
	return berth_file_read_proc(path, text, sizeof(text)) == 0 && parse_stat(text, ret);
}

/* A process whose first thread ended looks like a zombie while the others run. */
static bool is_alive(const struct process *process)
{
	return (process->state != 'Z' && process->state != 'X') || process->threads > 1;
}

uint64_t berth_kin_start(pid_t pid)
{
	struct process process;

	return read_process(pid, &process) ? process.start : 0;
}

static int add_process(struct table *table, const struct process *process)
{
	if (table->n == table->cap) {
		size_t cap = table->cap ? table->cap * 2 : 256;
		struct process *grown = realloc(table->at, cap * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->at = grown;
		table->cap = cap;
	}
	table->at[table->n++] = *process;
	return 0;
}

static void close_dir(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

/* Call each(arg, process) for every process; a negative answer ends it. */
static int for_each(int (*each)(void *arg, const struct process *process), void *arg)
{
	__attribute__((cleanup(close_dir))) DIR *dir = opendir("/proc");
	const struct dirent *entry;
	struct process process;
	int r = 0;

	if (!dir)
		return -errno;
	errno = 0;
	while (r >= 0 && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    read_process((pid_t)strtol(entry->d_name, NULL, 10), &process))
			r = each(arg, &process);
	return r;
}

static int collect(void *arg, const struct process *process)
{
	return add_process(arg, process);
}

static bool is_listed(pid_t pid, const pid_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == pid)
			return true;
	return false;
}

static bool has_kin_parent(const struct table *table, const struct process *process, pid_t root)
{
	if (process->parent == root)
		return true;
	for (size_t i = 0; i < table->n; i++)
		if (table->at[i].pid == process->parent)
			return table->at[i].is_kin;
	return false;
}

/* Mark all that descends from root, level by level. */
static void mark_kin(struct table *table, pid_t root, const pid_t *skip, size_t n)
{
	bool is_more = true;

	while (is_more) {
		is_more = false;
		for (size_t i = 0; i < table->n; i++) {
			struct process *process = &table->at[i];

			if (process->is_kin || is_listed(process->pid, skip, n) ||
			    !has_kin_parent(table, process, root))
				continue;
			process->is_kin = true;
			is_more = true;
		}
	}
}

/* 1 it was alive and got the signal, 0 it is gone. */
static int signal_process(const struct process *process, int sig)
{
	BERTH_AUTO_CLOSE int pidfd = pidfd_open(process->pid, 0);

	/* Once the pidfd is open the pid cannot change hands; that it did not before, its start says. */
	if (pidfd < 0 || berth_kin_start(process->pid) != process->start)
		return 0;
	return pidfd_send_signal(pidfd, sig, NULL, 0) == 0;
}

/* The line SigCgt of /proc/PID/status: a mask in hex. */
static bool has_handler(pid_t pid, int sig)
{
	char path[32], text[8192];
	const char *line;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (berth_file_read_proc(path, text, sizeof(text)) < 0)
		return false;
	line = strstr(text, "\nSigCgt:");
	return line && (strtoull(line + 8, NULL, 16) >> (sig - 1) & 1u) != 0;
}

static int signal_kin(int sig, const pid_t *skip, size_t n, bool only_handlers)
{
	__attribute__((cleanup(free_table))) struct table table = {0};
	int r = for_each(collect, &table);
	int count = 0;

	if (r < 0)
		return r;
	mark_kin(&table, getpid(), skip, n);
	for (size_t i = 0; i < table.n; i++) {
		const struct process *process = &table.at[i];

		if (process->is_kin && is_alive(process) && (!only_handlers || has_handler(process->pid, sig)))
			count += signal_process(process, sig);
	}
	return count;
}

int berth_kin_signal(int sig, const pid_t *skip, size_t n)
{
	return signal_kin(sig, skip, n, false);
}

int berth_kin_warn(int sig)
{
	return signal_kin(sig, NULL, 0, true);
}

struct marked {
	const char *mark; /* NAME=VALUE */
	int sig, count;
};

/* Is mark one of the NUL-terminated strings? */
static bool holds(const char *text, size_t len, const char *mark)
{
	size_t n = strlen(mark) + 1;

	for (const char *at = text, *end = text + len; (size_t)(end - at) >= n;) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (memcmp(at, mark, n) == 0)
			return true;
		if (!nul)
			return false;
		at = nul + 1;
	}
	return false;
}

static int signal_if_marked(void *arg, const struct process *process)
{
	struct marked *marked = arg;
	BERTH_AUTO_FREE char *text = NULL;
	char path[32];
	size_t len = 0;
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", process->pid);
	if (process->pid == getpid() || !is_alive(process) || stat(path, &st) < 0 || st.st_uid != geteuid())
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", process->pid);
	if (berth_file_read_at(AT_FDCWD, path, ENVIRON_BYTES_MAX, &text, &len) == 0 && holds(text, len, marked->mark))
		marked->count += signal_process(process, marked->sig);
	return 0;
}

int berth_kin_signal_marked(const char *name, const char *value, int sig)
{
	BERTH_AUTO_FREE char *mark = NULL;
	struct marked marked = {.sig = sig};
	int r;

	if (asprintf(&mark, "%s=%s", name, value) < 0) {
		mark = NULL;
		return -ENOMEM;
	}
	marked.mark = mark;
	r = for_each(signal_if_marked, &marked);
	return r < 0 ? r : marked.count;
}
