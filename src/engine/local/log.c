#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "engine/local/engine.h"
#include "engine/local/jobspec.h"

/* The job's output file for reading: regular files only, and never waiting for the other end of a FIFO. */
static int open_output(const struct berth_engine *engine, const struct berth_job *job, off_t *ret_size)
{
	__attribute__((cleanup(berth_jobspec_fini))) struct berth_jobspec spec = {0};
	int r = berth_jobspec_load(berth_ledger_store(engine->ledger), job->asked.spec, &spec, NULL);

	if (r < 0)
		return r;
	const char *cwd = json_string_value(json_object_get(spec.root, "cwd"));
	const char *output = json_string_value(json_object_get(spec.root, "output"));
	BERTH_AUTO_FREE char *path = cwd && output
	                                     ? berth_jobspec_path(output, cwd, job, engine->options.node_name, NULL)
	                                     : NULL;
	if (!path)
		return -ENOMEM;
	BERTH_AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	*ret_size = st.st_size;
	return BERTH_TAKE_FD(fd);
}

static void read_file(const struct berth_engine *engine, const struct berth_job *job, uint64_t offset, uint32_t length,
                      berth_engine_log_done *done, void *arg)
{
	BERTH_AUTO_FREE char *data = malloc((size_t)length + 1);
	off_t size = 0;
	BERTH_AUTO_CLOSE int fd = data ? open_output(engine, job, &size) : -ENOMEM;

	if (fd < 0) {
		done(arg, fd, NULL, 0, 0);
		return;
	}
	ssize_t n = offset > INT64_MAX ? 0 : pread(fd, data, length, (off_t)offset);
	done(arg, n < 0 ? -errno : 0, data, n < 0 ? 0 : (size_t)n, (uint64_t)size);
}

void berth_engine_log(struct berth_engine *engine, uint64_t job, uint64_t offset, uint32_t length,
                      berth_engine_log_done *done, void *arg)
{
	const struct berth_job *of = berth_core_job(berth_ledger_core(engine->ledger), job);
	struct berth_watch *watch = of ? berth_watch_find(engine, job, of->attempt) : NULL;

	length = length < BERTH_WIRE_LOG_MAX ? length : BERTH_WIRE_LOG_MAX;
	if (!of || of->attempt == 0)
		done(arg, -ENOENT, NULL, 0, 0);
	else if (!watch || !berth_watch_log(watch, offset, length, done, arg))
		read_file(engine, of, offset, length, done, arg);
}
