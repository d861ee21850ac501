/* Laws over random streams of facts.
 *
 * law-random [--facts N] [--seed S] [--false-law]
 * A stream that breaks a law is cut down as long as the rest still breaks the same law, and printed with its seed.
 * --false-law holds that no job is ever completed, which is not so: the harness must find and shrink it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "play.h"

#define EPISODE_STEPS 1500

struct episode {
	struct step *step;
	size_t n;
	bool is_hostile, is_false_law;
};

/* The law that these steps break; NULL = none. With until, the number of steps it took. */
static const char *breaks(const struct episode *episode, size_t *ret_n, uint64_t *ret_about)
{
	struct play play;
	const char *broken = NULL;
	size_t i;

	play_open(&play, episode->is_hostile, episode->is_false_law);
	for (i = 0; i < episode->n && !broken; i++) {
		if (!play_step(&play, &episode->step[i]))
			broken = play.broken;
	}
	if (!broken && !play_end(&play))
		broken = play.broken;
	*ret_n = i;
	*ret_about = play.about;
	play_close(&play);
	return broken;
}

/* Drop ever smaller chunks while the same law stays broken (after Zeller's ddmin). */
static void shrink(struct episode *episode, const char *law)
{
	struct step *kept = malloc(episode->n * sizeof(*kept));
	struct episode shorter = *episode;
	size_t chunk = episode->n / 2;
	uint64_t about;

	if (!kept)
		abort();
	shorter.step = kept;
	while (chunk > 0) {
		bool is_shorter = false;

		for (size_t from = 0; from < episode->n;) {
			size_t n = from + chunk <= episode->n ? chunk : episode->n - from;
			const char *broken;
			size_t used;

			memcpy(kept, episode->step, from * sizeof(*kept));
			memcpy(kept + from, episode->step + from + n, (episode->n - from - n) * sizeof(*kept));
			shorter.n = episode->n - n;
			broken = breaks(&shorter, &used, &about);
			if (broken && strcmp(broken, law) == 0) {
				memcpy(episode->step, kept, used * sizeof(*kept));
				episode->n = used;
				is_shorter = true;
			} else {
				from += chunk;
			}
		}
		if (!is_shorter)
			chunk /= 2;
	}
	free(kept);
}

/* Returns whether a law was broken; the steps that did it are left in the episode. */
static const char *play_episode(struct episode *episode, uint64_t seed, uint64_t *facts)
{
	struct stream_maker maker = {
		.random = seed, .now_ms = 1000000, .is_hostile = episode->is_hostile, .is_slow = seed % 3 == 0
	};
	struct play play;
	const char *broken = NULL;

	play_open(&play, episode->is_hostile, episode->is_false_law);
	for (episode->n = 0; episode->n < EPISODE_STEPS && !broken; episode->n++) {
		if (maker.now_ms < berth_core_at_ms(play.core))
			maker.now_ms = berth_core_at_ms(play.core);
		episode->step[episode->n] = stream_next(&maker, play.core);
		if (!play_step(&play, &episode->step[episode->n]))
			broken = play.broken;
	}
	if (!broken && !play_end(&play))
		broken = play.broken;
	*facts += play.n_facts;
	play_close(&play);
	return broken;
}

static void report(struct episode *episode, const char *law, uint64_t seed)
{
	size_t was = episode->n;
	size_t used;
	uint64_t about = 0;

	shrink(episode, law);
	(void)breaks(episode, &used, &about);
	printf("broken: %s (job or device %" PRIu64 ")\n", law, about);
	printf("seed %" PRIu64 "%s, %zu steps, of which these %zu do it:\n", seed,
	       episode->is_hostile ? " (hostile)" : "", was, episode->n);
	for (size_t i = 0; i < episode->n; i++)
		stream_print(&episode->step[i]);
}

int main(int argc, char **argv)
{
	uint64_t facts = 200000, seed = 1, done = 0;
	static struct step steps[EPISODE_STEPS];
	struct episode episode = { .step = steps };
	size_t n_episodes = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--false-law") == 0)
			episode.is_false_law = true;
		else if (strcmp(argv[i], "--facts") == 0 && i + 1 < argc)
			facts = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 10);
		else
			return fprintf(stderr, "usage: %s [--facts N] [--seed S] [--false-law]\n", argv[0]), 2;
	}
	for (; done < facts; seed++, n_episodes++) {
		const char *broken;

		episode.is_hostile = !episode.is_false_law && seed % 2 == 0;
		broken = play_episode(&episode, seed, &done);
		if (broken) {
			report(&episode, broken, seed);
			if (episode.is_false_law)
				return episode.n <= 12 ? 0 : 1;
			return 1;
		}
	}
	printf("%" PRIu64 " facts in %zu streams, every law held\n", done, n_episodes);
	return episode.is_false_law ? 1 : 0;
}
