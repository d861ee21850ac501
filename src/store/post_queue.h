#ifndef BERTH_STORE_POST_QUEUE_H
#define BERTH_STORE_POST_QUEUE_H
/* Posts that wait for their transaction, copied whole. */
#include "base/arena.h"
#include "store/post.h"

struct berth_queued_post {
	struct berth_queued_post *next;
	struct berth_arena arena;           /* holds all that post points to */
	struct berth_post post;             /* the copy; ids are still as posted */
	struct berth_submission submission; /* post.submission points here, when there is one */
	size_t at;                          /* of its first fact in the transaction, once it is in one */
};

/* First in, first out. {0} is empty. */
struct berth_post_queue {
	struct berth_queued_post *first, *last;
};

/* NULL when memory is out. */
struct berth_queued_post *berth_queued_post_new(const struct berth_post *post);
void berth_queued_post_free(struct berth_queued_post *queued);

void berth_post_queue_add(struct berth_post_queue *queue, struct berth_queued_post *queued);
/* The first, which the caller owns from then on; NULL when empty. */
struct berth_queued_post *berth_post_queue_take(struct berth_post_queue *queue);
/* Put all of front before what is in queue; front is empty then. */
void berth_post_queue_put_back(struct berth_post_queue *queue, struct berth_post_queue *front);
bool berth_post_queue_has_submission(const struct berth_post_queue *queue, uint32_t uid, const char *key);
void berth_post_queue_fini(struct berth_post_queue *queue);
#endif
