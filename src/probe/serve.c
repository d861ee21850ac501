#include "probe/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "device/probe_wire.h"

/* One answer being given. */
struct reply {
	int fd;
	const struct berth_probe_question *to;
};

static int send_answer(const struct reply *reply, struct berth_probe_answer *answer)
{
	ssize_t n;

	answer->magic = BERTH_PROBE_MAGIC;
	answer->version = BERTH_PROBE_VERSION;
	answer->kind = reply->to->kind;
	answer->number = reply->to->number;
	do
		n = send(reply->fd, answer, sizeof(*answer), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* Refuse when result is negative, else say that it was done. */
static int send_result(const struct reply *reply, int result, const struct berth_error *why)
{
	struct berth_probe_answer answer = {.result = result};

	if (result < 0)
		memcpy(answer.u.text, why->text, sizeof(answer.u.text));
	return send_answer(reply, &answer);
}

/* Items of one kind in as many packets as they need. */
static int send_items(const struct reply *reply, const void *items, size_t size, size_t n_all, size_t per_packet)
{
	size_t first = 0;

	do {
		struct berth_probe_answer answer = {.n_all = (uint32_t)n_all, .first = (uint32_t)first};
		const size_t n = n_all - first < per_packet ? n_all - first : per_packet;
		int r;

		answer.n = (uint32_t)n;
		memcpy(&answer.u, (const char *)items + first * size, n * size);
		r = send_answer(reply, &answer);
		if (r < 0)
			return r;
		first += n;
	} while (first < n_all);
	return 0;
}

static int answer_scan(const struct reply *reply, const struct berth_probe_serve *with)
{
	struct berth_device_facts devices[BERTH_DEVICES_MAX] = {0};
	struct berth_error why = {0};
	size_t n = 0;
	int r = with->ops->scan(with->driver, devices, BERTH_DEVICES_MAX, &n, &why);

	if (r == 0 && n > BERTH_DEVICES_MAX)
		r = berth_error_set(&why, -E2BIG, "%s tells of %zu devices; berth knows at most %d", with->ops->name, n,
		                    BERTH_DEVICES_MAX);
	if (r < 0)
		return send_result(reply, r, &why);
	return send_items(reply, devices, sizeof(devices[0]), n, BERTH_PROBE_DEVICES_PER_PACKET);
}

static int answer_links(const struct reply *reply, const struct berth_probe_serve *with)
{
	struct berth_link links[BERTH_LINKS_MAX] = {0};
	struct berth_error why = {0};
	size_t n = 0;
	int r = -EOPNOTSUPP;

	if (with->ops->links)
		r = with->ops->links(with->driver, links, BERTH_LINKS_MAX, &n, &why);
	if (r == 0 && n > BERTH_LINKS_MAX)
		r = berth_error_set(&why, -E2BIG, "%s tells of %zu links, more than there are pairs", with->ops->name,
		                    n);
	if (r < 0)
		return send_result(reply, r, &why);
	return send_items(reply, links, sizeof(links[0]), n, BERTH_PROBE_LINKS_PER_PACKET);
}

static int answer_sample(const struct reply *reply, const struct berth_probe_serve *with)
{
	struct berth_probe_answer answer = {.n_all = 1, .n = 1};
	struct berth_error why = {0};
	int r = with->ops->sample(with->driver, reply->to->uuid, berth_clock_boot_ms(), &answer.u.sample, &why);

	if (r < 0)
		return send_result(reply, r, &why);
	return send_answer(reply, &answer);
}

static int answer_told(const struct reply *reply, const struct berth_probe_serve *with)
{
	const struct berth_probe_question *to = reply->to;
	struct berth_error why = {0};
	int r = -EOPNOTSUPP;

	(void)berth_error_set(&why, r, "%s cards are real: nothing can be injected", with->ops->name);
	if (to->kind == BERTH_PROBE_INJECT && with->ops->inject)
		r = with->ops->inject(with->driver, to->uuid, to->text, to->at_ms, &why);
	else if (to->kind == BERTH_PROBE_LOAD && with->ops->load)
		r = with->ops->load(with->driver, to->uuid, to->holder, to->text, to->at_ms, &why);
	else if (to->kind == BERTH_PROBE_LEAVE && with->ops->load)
		r = with->ops->load(with->driver, to->uuid, to->holder, NULL, to->at_ms, &why);
	return send_result(reply, r, &why);
}

static int answer(const struct reply *reply, const struct berth_probe_serve *with)
{
	if (!with->driver)
		return send_result(reply, with->why.code, &with->why);
	switch (reply->to->kind) {
	case BERTH_PROBE_SCAN:
		return answer_scan(reply, with);
	case BERTH_PROBE_LINKS:
		return answer_links(reply, with);
	case BERTH_PROBE_SAMPLE:
		return answer_sample(reply, with);
	default:
		return answer_told(reply, with);
	}
}

static bool is_sound(const struct berth_probe_question *question, size_t n)
{
	return n == sizeof(*question) && question->magic == BERTH_PROBE_MAGIC &&
	       question->version == BERTH_PROBE_VERSION && question->kind > BERTH_PROBE_UNKNOWN &&
	       question->kind < BERTH_PROBE_KIND_COUNT && memchr(question->uuid, '\0', sizeof(question->uuid)) &&
	       memchr(question->holder, '\0', sizeof(question->holder)) &&
	       memchr(question->text, '\0', sizeof(question->text));
}

int berth_probe_serve(int fd, const struct berth_probe_serve *with, struct berth_error *err)
{
	struct berth_probe_question question;
	const struct reply reply = {.fd = fd, .to = &question};

	for (;;) {
		ssize_t n = recv(fd, &question, sizeof(question), MSG_TRUNC);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return 0;
		if (n < 0)
			return berth_error_errno(err, -errno, "reading a question of berthd");
		if (!is_sound(&question, (size_t)n))
			return berth_error_set(
				err, -EPROTO,
				"berthd asks in another version of berth's language; install both from one "
				"build and restart berthd");
		r = answer(&reply, with);
		if (r == -EPIPE || r == -ECONNRESET)
			return 0;
		if (r < 0)
			return berth_error_errno(err, r, "answering berthd");
	}
}
