/* Reasons in English: one clause each, to be read at two in the morning. */
#include <inttypes.h>
#include <string.h>
#include "api/api.h"
#include "base/clock.h"
#include "base/units.h"

#define GPUS_MAX 96

/* "1 GPU", "4 GPUs". */
static const char *gpus(uint64_t n, char buf[static GPUS_MAX])
{
	(void)snprintf(buf, GPUS_MAX, "%" PRIu64 " GPU%s", n, n == 1 ? "" : "s");
	return buf;
}

static const char *moment(uint64_t at_ms, char buf[static BERTH_FORMAT_MAX])
{
	return berth_moment_format_short(at_ms, berth_clock_wall_ms(), buf);
}

/* "0-3,7". */
static const char *indexes(uint64_t mask, char buf[static GPUS_MAX])
{
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned first = 0; first < 64 && n < GPUS_MAX - 8; first++) {
		unsigned last = first;

		if (!(mask >> first & 1))
			continue;
		while (last < 63 && mask >> (last + 1) & 1)
			last++;
		n += (size_t)snprintf(buf + n, GPUS_MAX - n, n > 0 ? ",%u" : "%u", first);
		if (last > first)
			n += (size_t)snprintf(buf + n, GPUS_MAX - n, "-%u", last);
		first = last;
	}
	return buf;
}

static void resources_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char asked[GPUS_MAX];

	gpus(reason->a, asked);
	if (reason->b == 0 && reason->c == 1)
		(void)snprintf(buf, cap, "needs %s; the only one that suits is taken", asked);
	else if (reason->b == 0)
		(void)snprintf(buf, cap, "needs %s; all %" PRIu64 " that suit are taken", asked, reason->c);
	else
		(void)snprintf(buf, cap, "needs %s; %" PRIu64 " of the %" PRIu64 " that suit %s free", asked, reason->b,
		               reason->c, reason->b == 1 ? "is" : "are");
}

static void no_devices_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char asked[GPUS_MAX];

	(void)snprintf(buf, cap,
	               "needs %s; of those that suit, %" PRIu64 " %s in service and %" PRIu64 " drained or lost",
	               gpus(reason->a, asked), reason->c, reason->c == 1 ? "is" : "are", reason->b);
}

static void waiting_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char at[BERTH_FORMAT_MAX];

	switch ((int)reason->code) {
	case BERTH_REASON_STARTING:
		(void)snprintf(buf, cap, "is being started");
		break;
	case BERTH_REASON_HELD:
		(void)snprintf(buf, cap, "is held; it waits until somebody releases it");
		break;
	case BERTH_REASON_BEGIN_TIME:
		(void)snprintf(buf, cap, "was asked to begin not before %s", moment(reason->a, at));
		break;
	case BERTH_REASON_BACK_OFF:
		(void)snprintf(buf, cap, "failed %" PRIu64 " time%s in a row; tried again at %s", reason->b,
		               reason->b == 1 ? "" : "s", moment(reason->a, at));
		break;
	case BERTH_REASON_RESOURCES:
		resources_text(reason, buf, cap);
		break;
	case BERTH_REASON_PRIORITY:
		(void)snprintf(buf, cap, "would fit, but starting now could delay job %" PRIu64 ", which is ahead",
		               reason->a);
		break;
	case BERTH_REASON_NO_DEVICES:
		no_devices_text(reason, buf, cap);
		break;
	case BERTH_REASON_STOPPING:
		(void)snprintf(buf, cap, "is being stopped; killed at %s if it has not ended by itself",
		               moment(reason->a, at));
		break;
	default:
		(void)snprintf(buf, cap, "nothing stands in its way");
		break;
	}
}

static void refused_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char asked[BERTH_FORMAT_MAX];
	char most[BERTH_FORMAT_MAX];
	char list[GPUS_MAX];
	char known[GPUS_MAX];

	switch ((int)reason->code) {
	case BERTH_REASON_TOO_MANY_GPUS:
		(void)snprintf(buf, cap, "%s can never be given: the most that suit on one node are %" PRIu64,
		               gpus(reason->a, list), reason->b);
		break;
	case BERTH_REASON_NO_SUCH_MODEL:
		(void)snprintf(buf, cap, "no GPU here is of the model asked for");
		break;
	case BERTH_REASON_GPU_TOO_SMALL:
		(void)snprintf(buf, cap, "no GPU that suits has %s of memory; the largest has %s",
		               berth_size_format(reason->a, asked), berth_size_format(reason->b, most));
		break;
	case BERTH_REASON_NO_SUCH_INDEX:
		(void)snprintf(buf, cap, "GPU %s was asked for; the indexes here are %s", indexes(reason->a, list),
		               indexes(reason->b, known));
		break;
	default:
		(void)snprintf(buf, cap, "no GPU has been found on this machine");
		break;
	}
}

static void busy_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char at[BERTH_FORMAT_MAX];

	if (reason->b == UINT64_MAX)
		(void)snprintf(buf, cap, "job %" PRIu64 " has it, without a time limit", reason->a);
	else
		(void)snprintf(buf, cap, "job %" PRIu64 " has it until %s at the latest", reason->a,
		               moment(reason->b, at));
}

static void reserved_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char at[BERTH_FORMAT_MAX];

	if (reason->b == UINT64_MAX)
		(void)snprintf(buf, cap, "free, but kept for job %" PRIu64 ", which is ahead", reason->a);
	else
		(void)snprintf(buf, cap,
		               "free, but kept for job %" PRIu64 ", which is ahead and starts at %s at the latest",
		               reason->a, moment(reason->b, at));
}

static void device_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char asked[BERTH_FORMAT_MAX];
	char has[BERTH_FORMAT_MAX];

	switch ((int)reason->code) {
	case BERTH_REASON_DEVICE_BUSY:
		busy_text(reason, buf, cap);
		break;
	case BERTH_REASON_DEVICE_RESERVED:
		reserved_text(reason, buf, cap);
		break;
	case BERTH_REASON_DEVICE_DRAINED:
		(void)snprintf(buf, cap, "drained: it takes no new job until somebody undrains it");
		break;
	case BERTH_REASON_DEVICE_LOST:
		(void)snprintf(buf, cap, "lost: the driver does not answer for it");
		break;
	case BERTH_REASON_DEVICE_MODEL:
		(void)snprintf(buf, cap, "another model than the one asked for");
		break;
	case BERTH_REASON_DEVICE_MEMORY:
		(void)snprintf(buf, cap, "has %s of memory, %s are asked for", berth_size_format(reason->b, has),
		               berth_size_format(reason->a, asked));
		break;
	case BERTH_REASON_DEVICE_INDEX:
		(void)snprintf(buf, cap, "not among the indexes asked for");
		break;
	default:
		(void)snprintf(buf, cap, "free");
		break;
	}
}

/* How an attempt could not run at all, by errno. */
static void trouble_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	const char *what = "it could not be started";
	const char *why = reason->a > 0 && reason->a < 4096 ? strerrordesc_np((int)reason->a) : NULL;

	if (reason->code == BERTH_REASON_OUTPUT_FAILED)
		what = "its output file could not be opened";
	else if (reason->code == BERTH_REASON_EXEC_FAILED)
		what = "its command could not be run";
	(void)snprintf(buf, cap, "%s: %s", what, why ? why : "the cause is not known");
}

static void ended_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	char limit[BERTH_FORMAT_MAX];
	const char *name;

	switch ((int)reason->code) {
	case BERTH_REASON_EXIT_CODE:
		(void)snprintf(buf, cap, "its command ended with exit code %" PRIu64, reason->a);
		break;
	case BERTH_REASON_SIGNALED:
		name = reason->a > 0 && reason->a < 65 ? sigabbrev_np((int)reason->a) : NULL;
		(void)snprintf(buf, cap, "its command was ended by signal %" PRIu64 "%s%s%s, not sent by berth",
		               reason->a, name ? " (SIG" : "", name ? name : "", name ? ")" : "");
		break;
	case BERTH_REASON_TIME_LIMIT:
		(void)snprintf(buf, cap, "it reached its time limit of %s", berth_duration_format(reason->a, limit));
		break;
	case BERTH_REASON_CANCELLED:
		(void)snprintf(buf, cap, "somebody cancelled it");
		break;
	case BERTH_REASON_REQUEUED:
		(void)snprintf(buf, cap, "somebody put it back into the queue; it runs again from its start");
		break;
	case BERTH_REASON_PREEMPTED:
		(void)snprintf(buf, cap, "it was stopped for a more urgent job; it runs again");
		break;
	case BERTH_REASON_DEVICE_FAILED:
		(void)snprintf(buf, cap, "the driver lost a GPU it ran on");
		break;
	case BERTH_REASON_OUT_OF_MEMORY:
		(void)snprintf(buf, cap, "the kernel killed it because the machine's memory (not the GPU's) was out");
		break;
	default:
		(void)snprintf(buf, cap,
		               "nobody saw its exit code: its watcher was killed; look at its output to know whether "
		               "it finished");
		break;
	}
}

void berth_reason_text(const struct berth_reason *reason, char *buf, size_t cap)
{
	switch (reason->code) {
	case BERTH_REASON_LAUNCH_FAILED:
	case BERTH_REASON_OUTPUT_FAILED:
	case BERTH_REASON_EXEC_FAILED:
		trouble_text(reason, buf, cap);
		break;
	default:
		if (reason->code <= BERTH_REASON_STOPPING)
			waiting_text(reason, buf, cap);
		else if (reason->code <= BERTH_REASON_NO_NODE)
			refused_text(reason, buf, cap);
		else if (reason->code <= BERTH_REASON_DEVICE_INDEX)
			device_text(reason, buf, cap);
		else
			ended_text(reason, buf, cap);
		break;
	}
}
