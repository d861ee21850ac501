#include "store/commit.h"

#include <errno.h>
#include "store/db.h"

static int count_frames(void *arg, sqlite3 *db, const char *schema, int frames)
{
	struct berth_committer *committer = arg;

	committer->log_frames = frames;
	return SQLITE_OK;
}

int berth_committer_init(struct berth_committer *committer, sqlite3 *db, int head_fd,
                         const struct berth_verified *verified, struct berth_error *err)
{
	int r;

	*committer = (struct berth_committer){.db = db, .head_fd = head_fd, .head = verified->head};
	(void)sqlite3_wal_hook(db, count_frames, committer);
	r = berth_journal_init(&committer->journal, db, err);
	if (r == 0)
		r = berth_record_pen_init(&committer->records, db, err);
	if (r == 0)
		r = berth_spec_prepare_put(db, &committer->spec_put, err);
	if (r == 0)
		r = berth_keeper_init(&committer->keeper, db, verified->marks, verified->n_marks, err);
	if (r == 0)
		r = berth_committer_checkpoint(committer, err);
	if (r == -ENOSPC || r == -EDQUOT || r == -EBUSY)
		r = 0;
	/* A head file that was torn or older is put right; it is what the journal was checked to hold. */
	if (r == 0)
		berth_head_write(head_fd, &committer->head);
	return r;
}

void berth_committer_fini(struct berth_committer *committer, bool is_poisoned)
{
	berth_keeper_fini(&committer->keeper);
	berth_record_pen_fini(&committer->records);
	berth_journal_fini(&committer->journal);
	sqlite3_finalize(committer->spec_put);
	if (is_poisoned)
		(void)sqlite3_db_config(committer->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	berth_db_close(committer->db);
	if (committer->head_fd >= 0)
		(void)close(committer->head_fd);
}

/* The log's own header is flushed when the log begins anew. */
static void count_flush(struct berth_committer *committer, uint64_t flushes)
{
	committer->fsyncs += flushes + (committer->is_log_copied ? 1 : 0);
	committer->is_log_copied = false;
}

static int begin(struct berth_committer *committer, struct berth_error *err)
{
	return berth_db_exec(committer->db, "BEGIN IMMEDIATE", err);
}

/* Commit if r is 0, else roll back; the result of both. */
static int end(struct berth_committer *committer, int r, struct berth_error *err)
{
	if (r == 0)
		r = berth_db_exec(committer->db, "COMMIT", err);
	if (!sqlite3_get_autocommit(committer->db))
		(void)sqlite3_exec(committer->db, "ROLLBACK", NULL, NULL, NULL);
	if (r == 0)
		count_flush(committer, 1);
	return r;
}

static int write_rows(struct berth_committer *committer, const struct berth_transaction *tx, struct berth_head *head,
                      struct berth_error *err)
{
	int r = berth_journal_append(&committer->journal, tx->facts, tx->n_facts, head, err);

	for (size_t i = 0; i < tx->n_blobs && r == 0; i++)
		r = berth_spec_put(committer->spec_put, &tx->blobs[i], err);
	for (size_t i = 0; i < tx->n_history && r == 0; i++)
		r = berth_record_history(&committer->records, &tx->history[i], err);
	for (size_t i = 0; i < tx->n_submissions && r == 0; i++)
		r = berth_record_submission(&committer->records, &tx->submissions[i], err);
	return r;
}

static bool is_empty(const struct berth_transaction *tx)
{
	return tx->n_facts + tx->n_blobs + tx->n_history + tx->n_submissions == 0;
}

int berth_committer_run(struct berth_committer *committer, const struct berth_transaction *tx, struct berth_error *err)
{
	struct berth_head head = committer->head;
	int r = begin(committer, err);

	if (r == 0)
		r = write_rows(committer, tx, &head, err);
	if (r == 0 && is_empty(tx))
		r = berth_record_setting(&committer->records, "disk probe", "", err);
	r = end(committer, r, err);
	if (r < 0)
		return r;
	committer->commits++;
	committer->head = head;
	berth_head_write(committer->head_fd, &head);
	berth_keeper_note(&committer->keeper, tx->blobs, tx->n_blobs);
	return 0;
}

int berth_committer_setting(struct berth_committer *committer, const char *name, const char *value,
                            struct berth_error *err)
{
	int r = begin(committer, err);

	if (r == 0)
		r = berth_record_setting(&committer->records, name, value, err);
	return end(committer, r, err);
}

int berth_committer_keep(struct berth_committer *committer, struct berth_error *err)
{
	int before = committer->log_frames;
	int r = berth_keeper_step(&committer->keeper, err);

	if (committer->log_frames != before)
		count_flush(committer, 0);
	return r;
}

int berth_committer_checkpoint(struct berth_committer *committer, struct berth_error *err)
{
	int frames = -1, copied = -1;
	int rc = sqlite3_wal_checkpoint_v2(committer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);

	if (rc != SQLITE_OK)
		return berth_db_error(committer->db, rc, err, "copying the write-ahead log into the database");
	if (frames > 0 && !committer->is_log_copied)
		committer->fsyncs += 2;
	committer->is_log_copied = frames == copied;
	committer->log_frames = frames > 0 ? frames : 0;
	return 0;
}
