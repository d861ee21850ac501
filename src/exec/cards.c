#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "exec/exec.h"
#include "host/claim.h"

/* An abstract name has no file and no mode, and goes when its last holder does. Never listened on: nobody can send to
 * it. */
static int bind_card(const char *uuid)
{
	BERTH_AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "berth/%s", uuid);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) <
	    0)
		return -errno;
	return BERTH_TAKE_FD(fd);
}

static bool lists(const struct berth_claim *claim, const char *uuid)
{
	for (uint32_t i = 0; i < claim->n_uuid; i++)
		if (strcmp(claim->uuid[i], uuid) == 0)
			return true;
	return false;
}

/* Does a living attempt of this state directory hold the card? */
static bool is_held_for_us(const struct berth_exec *exec, const char *uuid)
{
	for (size_t i = 0; i < exec->n_watches; i++) {
		struct berth_claim claim;

		if (berth_claim_read(exec->attempts, &exec->watches[i]->id, &claim, NULL) == 0 && lists(&claim, uuid))
			return true;
	}
	return false;
}

static struct berth_card *find_card(const struct berth_exec *exec, const char *uuid)
{
	for (size_t i = 0; i < exec->n_cards; i++)
		if (strcmp(exec->cards[i].uuid, uuid) == 0)
			return &exec->cards[i];
	return NULL;
}

static struct berth_card *add_card(struct berth_exec *exec, const char *uuid)
{
	struct berth_card *card;

	if (exec->n_cards == exec->cap_cards) {
		size_t cap = exec->cap_cards ? exec->cap_cards * 2 : 16;
		struct berth_card *grown = reallocarray(exec->cards, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		exec->cards = grown;
		exec->cap_cards = cap;
	}
	card = &exec->cards[exec->n_cards++];
	*card = (struct berth_card){.fd = -1};
	(void)snprintf(card->uuid, sizeof(card->uuid), "%s", uuid);
	return card;
}

static void answer(struct berth_exec *exec, const char *uuid, int error)
{
	struct berth_wire msg;

	berth_wire_init(&msg, BERTH_WIRE_ENROLLED, NULL);
	(void)snprintf(msg.uuid[0], sizeof(msg.uuid[0]), "%s", uuid);
	msg.n_uuid = 1;
	msg.error = error;
	berth_exec_send(exec, &msg);
}

/* 0 ours, or a positive errno. */
static int try_card(const struct berth_exec *exec, struct berth_card *card)
{
	int fd;

	if (card->fd >= 0)
		return 0;
	fd = bind_card(card->uuid);
	if (fd >= 0)
		card->fd = fd;
	card->is_owned = fd >= 0 || (fd == -EADDRINUSE && is_held_for_us(exec, card->uuid));
	return card->is_owned ? 0 : -fd;
}

void berth_exec_enrol(struct berth_exec *exec, const struct berth_wire *msg)
{
	struct berth_card *card = find_card(exec, msg->uuid[0]);

	if (!card)
		card = add_card(exec, msg->uuid[0]);
	answer(exec, msg->uuid[0], card ? try_card(exec, card) : ENOMEM);
}

void berth_exec_release(struct berth_exec *exec, const struct berth_wire *msg)
{
	struct berth_card *card = find_card(exec, msg->uuid[0]);

	if (!card)
		return;
	if (card->fd >= 0)
		(void)close(card->fd);
	*card = exec->cards[--exec->n_cards];
}

bool berth_exec_retry_cards(struct berth_exec *exec)
{
	bool is_waiting = false;

	for (size_t i = 0; i < exec->n_cards; i++) {
		struct berth_card *card = &exec->cards[i];
		bool was_owned = card->is_owned;
		int error = try_card(exec, card);

		if (card->is_owned != was_owned)
			answer(exec, card->uuid, error);
		is_waiting |= card->fd < 0;
	}
	return is_waiting;
}

int berth_exec_card_fd(struct berth_exec *exec, const char *uuid)
{
	struct berth_card *card = find_card(exec, uuid);

	if (!card)
		return -1;
	(void)try_card(exec, card);
	return card->fd;
}
