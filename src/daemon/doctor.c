/* berth doctor: what holds on this machine and what does not, each with what to do about it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "base/clock.h"
#include "base/units.h"
#include "daemon/server.h"
#include "host/attempt.h"

#define SPACE_FAIL_BYTES (UINT64_C(64) << 20)
#define SPACE_WARN_BYTES (UINT64_C(1) << 30)
#define DRIFT_MS 2000
#define LEFTOVER_MS 60000u

static void set_text(struct berth_check *check, int result, const char *fmt, ...) BERTH_PRINTF(3, 4);
static void set_text(struct berth_check *check, int result, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(check->text, sizeof(check->text), fmt, args);
	va_end(args);
	check->result = (typeof(check->result))result;
}

static void set_fix(struct berth_check *check, const char *fmt, ...) BERTH_PRINTF(2, 3);
static void set_fix(struct berth_check *check, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(check->fix, sizeof(check->fix), fmt, args);
	va_end(args);
}

static void check_state(const struct berth_server *server, struct berth_check *check)
{
	const char *dir = server->paths.state;
	struct stat st;

	if (stat(dir, &st) < 0) {
		set_text(check, BERTH_CHECK_FAIL, "the state directory %.160s cannot be looked at: %s", dir,
		         strerror(errno));
		set_fix(check,
		        "bring it back before the daemon is stopped: journal and running attempts are kept there");
	} else if (st.st_mode & 077 || st.st_uid != geteuid()) {
		set_text(check, BERTH_CHECK_FAIL, "others may enter the state directory %.160s", dir);
		set_fix(check, "chmod 700 %.200s", dir);
	} else {
		set_text(check, BERTH_CHECK_OK, "%.200s, private", dir);
	}
}

static void check_disk(const struct berth_server *server, struct berth_check *check)
{
	const char *dir = server->paths.state;
	struct statvfs fs;
	char size[BERTH_FORMAT_MAX];
	uint64_t free_bytes;

	if (statvfs(dir, &fs) < 0) {
		set_text(check, BERTH_CHECK_FAIL, "free space of %.160s is not known: %s", dir, strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	set_text(check,
	         free_bytes < SPACE_FAIL_BYTES   ? BERTH_CHECK_FAIL
	         : free_bytes < SPACE_WARN_BYTES ? BERTH_CHECK_WARN
	                                         : BERTH_CHECK_OK,
	         "%s free at the state directory", berth_size_format(free_bytes, size));
	if (berth_ledger_is_full(server->ledger))
		set_text(check, BERTH_CHECK_FAIL,
		         "the disk is full: new jobs are refused, running ones go on (%s free)", size);
	if (check->result != BERTH_CHECK_OK)
		set_fix(check, "make room on the file system of %.160s; berth recovers by itself", dir);
}

static void check_containment(const struct berth_server *server, struct berth_check *check)
{
	const char *how = berth_engine_containment(server->engine);
	bool has_groups = strncmp(how, "cgroup", strlen("cgroup")) == 0;

	if (!berth_engine_is_connected(server->engine)) {
		set_text(check, BERTH_CHECK_WARN, "not known yet: berth-exec, which holds them, does not answer");
		set_fix(check, "see exec");
		return;
	}
	set_text(check, has_groups ? BERTH_CHECK_OK : BERTH_CHECK_WARN, "processes of a job are held together by %s",
	         how);
	if (!has_groups)
		set_fix(check, "start berthd where it may make control groups (a systemd user session: systemd-run "
		               "--user --scope "
		               "-p Delegate=yes berthd); without them memory is not accounted by job");
}

static void check_exec(const struct berth_server *server, struct berth_check *check)
{
	if (berth_engine_is_connected(server->engine)) {
		set_text(check, BERTH_CHECK_OK, "berth-exec answers");
		return;
	}
	set_text(check, BERTH_CHECK_FAIL, "berth-exec does not answer (%.140s): jobs run on, no new one starts",
	         berth_engine_containment(server->engine));
	set_fix(check, "it is started again by itself; when that takes long, %.160s/exec.log says why",
	        server->paths.state);
}

static void check_probe(const struct berth_server *server, struct berth_check *check)
{
	uint64_t last_ms = berth_probe_last_ms(server->probe);

	if (!berth_probe_is_stale(server->probe)) {
		set_text(check, BERTH_CHECK_OK, "berth-probe reads the cards");
		return;
	}
	if (last_ms)
		set_text(check, BERTH_CHECK_FAIL, "berth-probe has not answered for %" PRIu64 " s: cards count as lost",
		         (berth_clock_boot_ms() - last_ms) / 1000);
	else
		set_text(check, BERTH_CHECK_FAIL, "berth-probe never answered: no card is known");
	set_fix(check, "a new one is started by itself; the daemon's log says what it is waiting for");
}

/* The machine's date and the daemon's clock part when somebody sets the date. */
static void check_clock(const struct berth_server *server, struct berth_check *check)
{
	int64_t drift_ms = berth_core_clock_drift(&server->clock, berth_clock_wall_ms(), berth_clock_boot_ms());

	if (drift_ms >= -DRIFT_MS && drift_ms <= DRIFT_MS) {
		set_text(check, BERTH_CHECK_OK, "the daemon's clock and the machine's date agree");
		return;
	}
	set_text(check, BERTH_CHECK_WARN,
	         "the machine's date was set %s by %" PRIu64 " s since the daemon started; limits are not "
	         "touched by that, but the times shown are the old ones",
	         drift_ms > 0 ? "ahead" : "back", (uint64_t)(drift_ms > 0 ? drift_ms : -drift_ms) / 1000);
	set_fix(check, "restart berthd when convenient; jobs run on");
}

static void check_socket(const struct berth_server *server, struct berth_check *check)
{
	struct stat st;
	char dir[sizeof(server->paths.socket)];

	(void)snprintf(dir, sizeof(dir), "%s", server->paths.socket);
	*strrchr(dir, '/') = '\0';
	if (stat(server->paths.socket, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		set_text(check, BERTH_CHECK_FAIL, "the socket %s is gone: new commands cannot reach the daemon",
		         server->paths.socket);
		set_fix(check, "restart berthd; jobs run on");
	} else if (stat(dir[0] ? dir : "/", &st) == 0 && st.st_mode & 022) {
		set_text(check, BERTH_CHECK_WARN, "others may write in %s, the directory of the socket", dir);
		set_fix(check, "put the socket into a directory of your own: --socket PATH");
	} else {
		set_text(check, BERTH_CHECK_OK, "%s", server->paths.socket);
	}
}

static void check_cards(const struct berth_server *server, struct berth_check *check)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	size_t n = berth_core_device_count(core), lost = 0, foreign = 0, first = 0;

	for (size_t i = 0; i < n; i++) {
		const struct berth_device *device = berth_core_device_at(core, i);
		bool is_foreign = !berth_engine_is_owned(server->engine, device->uuid);

		if (device->health != BERTH_HEALTH_OK && lost++ == 0)
			first = device->index;
		foreign += is_foreign;
	}
	if (n == 0)
		set_text(check, BERTH_CHECK_FAIL, "no card was found (%s)", server->config.devices.spec);
	else if (lost)
		set_text(check, BERTH_CHECK_FAIL, "%zu of %zu cards are out of order, card %zu first", lost, n, first);
	else
		set_text(check, BERTH_CHECK_OK, "%zu cards, all healthy", n);
	if (foreign)
		set_fix(check, "%zu of them belong to another berth on this machine: leave them out with `cards:`",
		        foreign);
	else if (lost)
		set_fix(check, "berth gpus shows which; jobs are kept off them");
}

static void check_kind(const struct berth_server *server, struct berth_check *check)
{
	if (!server->config.devices.is_simulated) {
		set_text(check, BERTH_CHECK_OK, "%s", server->config.devices.spec);
		return;
	}
	set_text(check, BERTH_CHECK_WARN, "the cards are simulated (%s): jobs run, no real card is given to them",
	         server->config.devices.spec);
	set_fix(check, "none in this version: drivers for real cards come with a later one");
}

static void check_page(const struct berth_server *server, struct berth_check *check)
{
	const struct berth_listen *listen = &server->config.listen;
	uint16_t port = berth_api_port(server->api);

	if (!listen->is_on) {
		set_text(check, BERTH_CHECK_OK, "the page is switched off (listen: none)");
		return;
	}
	set_text(check, BERTH_CHECK_OK,
	         strchr(listen->addr, ':') ? "http://[%s]:%u/; sign in with: berth web"
	                                   : "http://%s:%u/; sign in with: berth web",
	         listen->addr, port);
	if (listen->port && port != listen->port) {
		set_text(check, BERTH_CHECK_WARN, "port %u was taken; the page is at http://%s:%u/", listen->port,
		         listen->addr, port);
		set_fix(check, "berth web knows the address; listen: in the configuration chooses another");
	}
}

static bool is_live(const struct berth_core *core, const struct berth_attempt_id *id)
{
	const struct berth_job *job = berth_core_job(core, id->job);

	return job && job->attempt == id->attempt && berth_job_state_is_live(job->state);
}

/* Files of attempts that the core does not run, older than the moment that tidying up takes. */
static size_t count_leftovers(const struct berth_server *server, DIR *dir)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	uint64_t now_ms = berth_clock_wall_ms();
	const struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(dir))) {
		struct berth_attempt_id id;
		enum berth_attempt_file file;
		struct stat st;

		if (!berth_attempt_parse_name(entry->d_name, &id, &file) || file != BERTH_ATTEMPT_CLAIM ||
		    is_live(core, &id))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    (uint64_t)st.st_mtime * 1000 + LEFTOVER_MS < now_ms)
			n++;
	}
	return n;
}

static void check_attempts(const struct berth_server *server, struct berth_check *check)
{
	char path[BERTH_PATH_MAX + 16];
	size_t n;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/attempts", server->paths.state);
	dir = opendir(path);
	if (!dir) {
		set_text(check, BERTH_CHECK_FAIL, "%.160s cannot be looked at: %s", path, strerror(errno));
		set_fix(check, "bring it back: running attempts are known by the files in it");
		return;
	}
	n = count_leftovers(server, dir);
	(void)closedir(dir);
	if (n == 0) {
		set_text(check, BERTH_CHECK_OK, "no files are left of attempts that ended");
		return;
	}
	set_text(check, BERTH_CHECK_WARN,
	         "files of %zu attempts that the journal does not know as running lie in %.120s", n, path);
	set_fix(check, "restart berthd, which looks at each; jobs run on");
}

/* Jobs that went back to the queue because nothing could be started: mostly the machine's fault, not theirs. */
static void check_launches(const struct berth_server *server, struct berth_check *check)
{
	const struct berth_core *core = berth_ledger_core(server->ledger);
	const struct berth_job *example = NULL;
	size_t n = 0;

	for (size_t i = 0; i < berth_core_job_count(core); i++) {
		const struct berth_job *job = berth_core_job_at(core, i);

		if (job->state != BERTH_JOB_PENDING || job->reason.code != BERTH_REASON_LAUNCH_FAILED)
			continue;
		example = job;
		n++;
	}
	if (n == 0) {
		set_text(check, BERTH_CHECK_OK, "no job waits because it could not be launched");
		return;
	}
	set_text(check, BERTH_CHECK_WARN, "%zu job%s could not be launched and will be tried again; job %llu: %s", n,
	         n == 1 ? "" : "s", (unsigned long long)example->id, strerror((int)example->reason.a));
	set_fix(check, "mend that for the user who runs berthd; exec.log in the state directory says more");
}

static const struct {
	const char *name;
	void (*look)(const struct berth_server *server, struct berth_check *check);
} checks[] = {
	{"state", check_state},   {"disk", check_disk},   {"processes", check_containment}, {"exec", check_exec},
	{"probe", check_probe},   {"cards", check_cards}, {"devices", check_kind},          {"clock", check_clock},
	{"socket", check_socket}, {"page", check_page},   {"attempts", check_attempts},
	{"launches", check_launches},
};

size_t berth_server_doctor(void *arg, struct berth_check *ret, size_t cap)
{
	const struct berth_server *server = arg;
	size_t n = 0;

	for (; n < sizeof(checks) / sizeof(checks[0]) && n < cap; n++) {
		ret[n] = (struct berth_check){.name = checks[n].name};
		checks[n].look(server, &ret[n]);
	}
	return n;
}
