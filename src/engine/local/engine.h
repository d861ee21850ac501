#ifndef BERTH_ENGINE_LOCAL_ENGINE_H
#define BERTH_ENGINE_LOCAL_ENGINE_H
/* The engine's own state, seen by the files of this folder only. */
#include "engine/local/execlink.h"
#include "engine/local/local.h"
#include "engine/local/watch.h"

#define BERTH_ENGINE_BUCKETS 1024u

struct berth_engine_card {
	struct berth_engine_card *next;
	char uuid[BERTH_WIRE_UUID_MAX];
	bool is_owned;
};

struct berth_engine {
	sd_event *event;
	struct berth_ledger *ledger;
	struct berth_engine_options options; /* strings owned */
	struct berth_engine_host host;
	int state_fd, attempts_fd;
	char *attempts_dir;
	struct berth_execlink *link;
	sd_event_source *sweep;
	struct berth_watch *bucket[BERTH_ENGINE_BUCKETS];
	struct berth_engine_card *cards;
};

/* Start an attempt through berth-exec: its specification from the store, its environment, its devices. 0 the question
 * is under way; -ENOTCONN berth-exec does not answer now; another -errno: it cannot be started. */
BERTH_MUST_USE int berth_launch(struct berth_engine *engine, const struct berth_job *job);

/* Tell the ledger, once each (the flag in the watch); what cannot be posted for memory is tried again by the sweep. */
void berth_report_started(struct berth_watch *watch, int32_t pid);
void berth_report_refused(struct berth_watch *watch, int error);
/* From the record. */
void berth_report_ended(struct berth_watch *watch, const struct berth_record *record);
/* It did start once and its files are gone: nobody knows how it ended. */
void berth_report_vanished(struct berth_watch *watch);
#endif
