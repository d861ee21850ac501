#include "store/keeper.h"

#include <errno.h>
#include "store/db.h"

/* Rows per slice: a few milliseconds of work here (2 cores of 2023, ext4). */
#define FACTS_PER_SLICE 1000
#define ROWS_PER_SLICE 2000

int berth_keeper_init(struct berth_keeper *keeper, sqlite3 *db, const struct berth_snapshot_mark *marks, size_t n_marks,
                      struct berth_error *err)
{
	*keeper = (struct berth_keeper){.db = db, .phase = BERTH_KEEPER_FACTS, .n_marks = n_marks};
	memcpy(keeper->marks, marks, n_marks * sizeof(*marks));
	return berth_snapshot_pen_init(&keeper->pen, db, err);
}

static void drop_snapshot(struct berth_keeper *keeper)
{
	berth_snapshot_free(BERTH_TAKE(keeper->snapshot));
}

void berth_keeper_fini(struct berth_keeper *keeper)
{
	drop_snapshot(keeper);
	berth_snapshot_pen_fini(&keeper->pen);
	berth_spec_keep_fini(&keeper->keep);
}

void berth_keeper_take(struct berth_keeper *keeper, struct berth_snapshot *snapshot, const struct berth_head *at)
{
	drop_snapshot(keeper);
	berth_spec_keep_fini(&keeper->keep);
	keeper->snapshot = snapshot;
	keeper->mark = (struct berth_snapshot_mark){.at = *at};
	keeper->has_keep = false;
	keeper->phase = BERTH_KEEPER_WRITE;
}

void berth_keeper_note(struct berth_keeper *keeper, const struct berth_blob *blobs, size_t n)
{
	if (!keeper->snapshot && !keeper->has_keep)
		return;
	for (size_t i = 0; i < n; i++)
		berth_spec_keep_add(&keeper->keep, blobs[i].key);
}

bool berth_keeper_has_work(const struct berth_keeper *keeper)
{
	return keeper->phase != BERTH_KEEPER_IDLE;
}

/* --- the phases ------------------------------------------------------------------------------------------ */

static void shift_marks(struct berth_keeper *keeper)
{
	keeper->marks[1] = keeper->marks[0];
	keeper->marks[0] = keeper->mark;
	if (keeper->n_marks < BERTH_SNAPSHOTS_KEPT)
		keeper->n_marks++;
}

static int write_facts(struct berth_keeper *keeper, bool *ret_is_done, struct berth_error *err)
{
	const struct berth_snapshot *snapshot = keeper->snapshot;
	size_t left, n;
	int r = 0;

	if (keeper->mark.first == 0) {
		keeper->mark.at_ms = snapshot->at_ms;
		r = berth_snapshot_begin(keeper->db, &keeper->mark, err);
	}
	left = snapshot->n - keeper->mark.n;
	n = left < FACTS_PER_SLICE ? left : FACTS_PER_SLICE;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct berth_fact *fact = &snapshot->facts[keeper->mark.n + i];

		if (fact->kind == BERTH_FACT_JOB_IMAGE)
			berth_spec_keep_add(&keeper->keep, fact->u.image.asked.spec);
	}
	if (r == 0)
		r = berth_snapshot_add(&keeper->pen, snapshot->facts + keeper->mark.n, n, &keeper->mark, err);
	if (r == 0 && n == left) {
		r = berth_snapshot_finish(&keeper->pen, &keeper->mark, err);
		*ret_is_done = true;
	}
	return r;
}

/* Remove up to ROWS_PER_SLICE rows of a range [from, to) with a statement of two limits and a number of rows. */
static int remove_range(sqlite3 *db, const char *sql, uint64_t from, uint64_t to, bool *ret_is_done,
                        struct berth_error *err)
{
	BERTH_AUTO_STMT sqlite3_stmt *stmt = NULL;
	const struct berth_value row[] = {berth_value_number(from), berth_value_number(to),
	                                  berth_value_number(ROWS_PER_SLICE)};
	int rc, r = from < to ? berth_db_prepare(db, sql, &stmt, err) : 0;

	*ret_is_done = true;
	if (r < 0 || from >= to)
		return r;
	rc = berth_row_run(stmt, row, 3);
	if (rc != SQLITE_DONE)
		return berth_db_error(db, rc, err, "removing what the last snapshot replaced");
	*ret_is_done = sqlite3_changes(db) < ROWS_PER_SLICE;
	return 0;
}

/* Around the ranges of the kept snapshots: before, between, behind. */
static int remove_facts(struct berth_keeper *keeper, bool *ret_is_done, struct berth_error *err)
{
	static const char sql[] = "DELETE FROM snapshot_fact WHERE id IN"
				  " (SELECT id FROM snapshot_fact WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)";
	static const char sql_marks[] = "DELETE FROM snapshot WHERE seq IN"
					" (SELECT seq FROM snapshot WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)";
	uint64_t from = 0;
	int r = 0;

	*ret_is_done = true;
	if (keeper->n_marks == BERTH_SNAPSHOTS_KEPT)
		r = remove_range(keeper->db, sql_marks, 0, keeper->marks[1].at.seq, ret_is_done, err);
	for (size_t i = keeper->n_marks; i-- > 0 && r == 0 && *ret_is_done;) {
		r = remove_range(keeper->db, sql, from, keeper->marks[i].first, ret_is_done, err);
		from = keeper->marks[i].first + keeper->marks[i].n;
	}
	if (r == 0 && *ret_is_done)
		r = remove_range(keeper->db, sql, from, INT64_MAX, ret_is_done, err);
	return r;
}

static int remove_journal(struct berth_keeper *keeper, bool *ret_is_done, struct berth_error *err)
{
	static const char sql[] = "DELETE FROM journal WHERE seq IN"
				  " (SELECT seq FROM journal WHERE seq >= ? AND seq < ? ORDER BY seq LIMIT ?)";
	struct berth_head anchor;

	berth_snapshot_anchor(keeper->marks, keeper->n_marks, &anchor);
	return remove_range(keeper->db, sql, 0, anchor.seq + 1, ret_is_done, err);
}

static int remove_submissions(struct berth_keeper *keeper, bool *ret_is_done, struct berth_error *err)
{
	static const char sql[] = "DELETE FROM submission WHERE (uid, key) IN"
				  " (SELECT uid, key FROM submission WHERE at_ms >= ? AND at_ms < ? LIMIT ?)";
	const uint64_t now_ms = keeper->n_marks ? keeper->marks[0].at_ms : 0;
	const uint64_t limit_ms = now_ms > BERTH_SUBMISSION_KEPT_MS ? now_ms - BERTH_SUBMISSION_KEPT_MS : 0;

	return remove_range(keeper->db, sql, 0, limit_ms, ret_is_done, err);
}

static int remove_specs(struct berth_keeper *keeper, bool *ret_is_done, struct berth_error *err)
{
	if (!keeper->has_keep) {
		*ret_is_done = true;
		return 0;
	}
	return berth_spec_sweep(keeper->db, &keeper->keep, &keeper->spec_at, ROWS_PER_SLICE, ret_is_done, err);
}

/* What a phase leaves behind once its last slice is committed. */
static void end_phase(struct berth_keeper *keeper)
{
	if (keeper->phase == BERTH_KEEPER_WRITE) {
		shift_marks(keeper);
		drop_snapshot(keeper);
		keeper->has_keep = true;
		keeper->spec_at = 0;
	}
	if (keeper->phase == BERTH_KEEPER_SPECS) {
		berth_spec_keep_fini(&keeper->keep);
		keeper->has_keep = false;
	}
	keeper->phase = (keeper->phase + 1) % BERTH_KEEPER_PHASE_COUNT;
}

static void give_up(struct berth_keeper *keeper)
{
	drop_snapshot(keeper);
	berth_spec_keep_fini(&keeper->keep);
	keeper->has_keep = false;
	keeper->phase = BERTH_KEEPER_IDLE;
}

int berth_keeper_step(struct berth_keeper *keeper, struct berth_error *err)
{
	static int (*const phases[BERTH_KEEPER_PHASE_COUNT])(struct berth_keeper *, bool *, struct berth_error *) = {
		[BERTH_KEEPER_WRITE] = write_facts,      [BERTH_KEEPER_FACTS] = remove_facts,
		[BERTH_KEEPER_JOURNAL] = remove_journal, [BERTH_KEEPER_SUBMISSIONS] = remove_submissions,
		[BERTH_KEEPER_SPECS] = remove_specs,
	};
	bool is_done = false;
	int r = berth_db_exec(keeper->db, "PRAGMA synchronous=NORMAL; BEGIN IMMEDIATE", err);

	if (r == 0)
		r = phases[keeper->phase](keeper, &is_done, err);
	if (r == 0)
		r = berth_db_exec(keeper->db, "COMMIT", err);
	if (!sqlite3_get_autocommit(keeper->db))
		(void)sqlite3_exec(keeper->db, "ROLLBACK", NULL, NULL, NULL);
	if (berth_db_exec(keeper->db, "PRAGMA synchronous=FULL", NULL) < 0 && r == 0)
		r = berth_error_set(err, -EIO, "switching the database back to flushed commits failed");
	if (r < 0)
		give_up(keeper);
	else if (is_done)
		end_phase(keeper);
	return r;
}
