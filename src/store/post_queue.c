#include "store/post_queue.h"

#include <string.h>
#include "store/fact_copy.h"

static const struct berth_fact *copy_facts(const struct berth_post *post, struct berth_arena *arena)
{
	struct berth_fact *facts = berth_arena_alloc(arena, post->n_facts * sizeof(*facts));

	for (size_t i = 0; facts && i < post->n_facts; i++) {
		if (berth_fact_copy(&facts[i], &post->facts[i], arena, NULL) < 0)
			return NULL;
	}
	return facts;
}

static const struct berth_blob *copy_blobs(const struct berth_post *post, struct berth_arena *arena)
{
	struct berth_blob *blobs = berth_arena_alloc(arena, post->n_blobs * sizeof(*blobs));

	for (size_t i = 0; blobs && i < post->n_blobs; i++) {
		blobs[i] = post->blobs[i];
		blobs[i].body = berth_arena_memdup(arena, post->blobs[i].body, post->blobs[i].len);
		if (!blobs[i].body)
			return NULL;
	}
	return blobs;
}

static bool copy_submission(struct berth_queued_post *queued, const struct berth_submission *submission)
{
	if (!submission)
		return true;
	queued->submission = *submission;
	queued->submission.key = berth_arena_strdup(&queued->arena, submission->key);
	queued->post.submission = &queued->submission;
	return queued->submission.key != NULL;
}

struct berth_queued_post *berth_queued_post_new(const struct berth_post *post)
{
	struct berth_queued_post *queued = calloc(1, sizeof(*queued));

	if (!queued)
		return NULL;
	queued->post = *post;
	queued->post.facts = copy_facts(post, &queued->arena);
	queued->post.blobs = copy_blobs(post, &queued->arena);
	if (!queued->post.facts || !queued->post.blobs || !copy_submission(queued, post->submission)) {
		berth_queued_post_free(queued);
		return NULL;
	}
	return queued;
}

void berth_queued_post_free(struct berth_queued_post *queued)
{
	if (!queued)
		return;
	berth_arena_fini(&queued->arena);
	free(queued);
}

void berth_post_queue_add(struct berth_post_queue *queue, struct berth_queued_post *queued)
{
	queued->next = NULL;
	if (queue->last)
		queue->last->next = queued;
	else
		queue->first = queued;
	queue->last = queued;
}

struct berth_queued_post *berth_post_queue_take(struct berth_post_queue *queue)
{
	struct berth_queued_post *queued = queue->first;

	if (!queued)
		return NULL;
	queue->first = queued->next;
	if (!queue->first)
		queue->last = NULL;
	queued->next = NULL;
	return queued;
}

void berth_post_queue_put_back(struct berth_post_queue *queue, struct berth_post_queue *front)
{
	if (!front->first)
		return;
	front->last->next = queue->first;
	queue->first = front->first;
	if (!queue->last)
		queue->last = front->last;
	*front = (struct berth_post_queue){0};
}

bool berth_post_queue_has_submission(const struct berth_post_queue *queue, uint32_t uid, const char *key)
{
	for (const struct berth_queued_post *queued = queue->first; queued; queued = queued->next) {
		const struct berth_submission *submission = queued->post.submission;

		if (submission && submission->uid == uid && strcmp(submission->key, key) == 0)
			return true;
	}
	return false;
}

void berth_post_queue_fini(struct berth_post_queue *queue)
{
	struct berth_queued_post *queued;

	while ((queued = berth_post_queue_take(queue)))
		berth_queued_post_free(queued);
}
