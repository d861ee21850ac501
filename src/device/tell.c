#include "device/tell.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "device/sim/profile.h"

void berth_tell_fini(struct berth_tell_book *book)
{
	free(book->tell);
	*book = (struct berth_tell_book){0};
}

static void drop(struct berth_tell_book *book, size_t i)
{
	memmove(&book->tell[i], &book->tell[i + 1], (book->n - i - 1) * sizeof(book->tell[0]));
	book->n--;
}

static int fill(struct berth_probe_question *question, const char *uuid, const char *holder, const char *text)
{
	if (strlen(uuid) >= sizeof(question->uuid) || strlen(holder) >= sizeof(question->holder) ||
	    strlen(text) >= sizeof(question->text))
		return -EINVAL;
	(void)snprintf(question->uuid, sizeof(question->uuid), "%s", uuid);
	(void)snprintf(question->holder, sizeof(question->holder), "%s", holder);
	(void)snprintf(question->text, sizeof(question->text), "%s", text);
	return 0;
}

static int add(struct berth_tell_book *book, const struct berth_tell *tell)
{
	if (book->n == book->cap) {
		const size_t cap = book->cap ? 2 * book->cap : 16;
		struct berth_tell *grown = reallocarray(book->tell, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		book->tell = grown;
		book->cap = cap;
	}
	book->tell[book->n++] = *tell;
	return 0;
}

static struct berth_tell *find_load(struct berth_tell_book *book, const char *uuid, const char *holder)
{
	for (size_t i = 0; i < book->n; i++) {
		const struct berth_probe_question *question = &book->tell[i].question;

		if (question->kind != BERTH_PROBE_INJECT && strcmp(question->uuid, uuid) == 0 &&
		    strcmp(question->holder, holder) == 0)
			return &book->tell[i];
	}
	return NULL;
}

int berth_tell_load(struct berth_tell_book *book, const char *uuid, const char *holder, const char *profile,
                    uint64_t at_ms)
{
	struct berth_tell *old = find_load(book, uuid, holder);
	struct berth_tell tell = {.question = {.kind = profile ? BERTH_PROBE_LOAD : BERTH_PROBE_LEAVE, .at_ms = at_ms}};
	int r = fill(&tell.question, uuid, holder, profile ? profile : "");

	if (r < 0)
		return r;
	if (old && old->question.kind == tell.question.kind && strcmp(old->question.text, tell.question.text) == 0)
		return 0;
	if (old) {
		*old = tell;
		return 0;
	}
	return profile ? add(book, &tell) : 0;
}

int berth_tell_inject(struct berth_tell_book *book, const char *uuid, const char *what, uint64_t at_ms, uint64_t ticket)
{
	struct berth_tell tell = {.question = {.kind = BERTH_PROBE_INJECT, .at_ms = at_ms}, .ticket = ticket};
	size_t n_waiting = 0;
	int r = fill(&tell.question, uuid, "", what);

	if (r < 0)
		return r;
	for (size_t i = 0; i < book->n; i++)
		n_waiting += book->tell[i].ticket != 0;
	if (n_waiting >= BERTH_TELLS_WAITING_MAX)
		return -EAGAIN;
	return add(book, &tell);
}

struct berth_tell *berth_tell_next(struct berth_tell_book *book)
{
	for (size_t i = 0; i < book->n; i++)
		if (!book->tell[i].is_told)
			return &book->tell[i];
	return NULL;
}

bool berth_tell_is_waiting(const struct berth_tell_book *book)
{
	for (size_t i = 0; i < book->n; i++)
		if (!book->tell[i].is_told)
			return true;
	return false;
}

static struct berth_sim_injection parsed(const struct berth_tell *tell)
{
	struct berth_sim_injection injection = {0};

	if (tell->question.kind != BERTH_PROBE_INJECT ||
	    berth_sim_inject_parse(tell->question.text, &injection, NULL) < 0)
		return (struct berth_sim_injection){0};
	return injection;
}

static bool does_void(enum berth_sim_inject_kind later, enum berth_sim_inject_kind earlier)
{
	if (later == BERTH_SIM_INJECT_RECOVER)
		return earlier == BERTH_SIM_INJECT_LOST || earlier == BERTH_SIM_INJECT_HANG || earlier == later;
	return earlier == later;
}

/* The injection at i is in force: what it voids goes, and it too when it only ends others. */
static void settle(struct berth_tell_book *book, size_t i)
{
	const struct berth_sim_injection injection = parsed(&book->tell[i]);
	const bool is_end = injection.is_auto || injection.kind == BERTH_SIM_INJECT_RECOVER;
	char uuid[BERTH_DEVICE_UUID_MAX];

	memcpy(uuid, book->tell[i].question.uuid, sizeof(uuid));
	if (is_end)
		drop(book, i);
	while (i-- > 0) {
		const struct berth_tell *earlier = &book->tell[i];

		if (earlier->question.kind == BERTH_PROBE_INJECT && earlier->is_told &&
		    strcmp(earlier->question.uuid, uuid) == 0 && does_void(injection.kind, parsed(earlier).kind))
			drop(book, i);
	}
}

uint64_t berth_tell_answered(struct berth_tell_book *book, uint32_t number, int result)
{
	size_t i = 0;
	uint64_t ticket;

	while (i < book->n && (book->tell[i].is_told || book->tell[i].question.number != number))
		i++;
	if (i == book->n)
		return 0;
	ticket = book->tell[i].ticket;
	book->tell[i].ticket = 0;
	book->tell[i].is_told = true;
	if (result < 0 || book->tell[i].question.kind == BERTH_PROBE_LEAVE)
		drop(book, i);
	else if (book->tell[i].question.kind == BERTH_PROBE_INJECT)
		settle(book, i);
	return ticket;
}

/* Nothing to tell a probe that begins at now_ms. */
static bool is_over(const struct berth_tell *tell, uint64_t now_ms)
{
	const struct berth_sim_injection injection = parsed(tell);

	if (tell->question.kind == BERTH_PROBE_LEAVE)
		return true;
	return tell->is_told && injection.kind == BERTH_SIM_INJECT_HANG &&
	       tell->question.at_ms + injection.value <= now_ms;
}

void berth_tell_restart(struct berth_tell_book *book, uint64_t now_ms)
{
	for (size_t i = book->n; i-- > 0;) {
		struct berth_tell *tell = &book->tell[i];

		if (is_over(tell, now_ms)) {
			drop(book, i);
			continue;
		}
		tell->is_told = false;
		tell->question.number = 0;
	}
}
