#ifndef BERTH_STORE_SEAL_H
#define BERTH_STORE_SEAL_H
/* Sealed rows. SQLite does not notice a flipped bit in a row, so the last column of our tables is a seal: the SHA-256
 * (FIPS 180-4, by nettle) of the table's name and the row's other columns with their types. A seal may also cover the
 * seal of the row before, which makes the rows a chain: none can be changed, lost or exchanged unnoticed but the last.
 *
 * The bytes that are hashed: table, NUL; the 32 bytes of the seal before, if chained; then for each column one byte of
 * type (SQLite's number), 8 bytes little-endian (the number, or the length) and, but for numbers, the content.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/cleanup.h"

#define BERTH_SEAL_BYTES 32
#define BERTH_ROW_COLUMNS_MAX 12

struct berth_seal {
	uint8_t bytes[BERTH_SEAL_BYTES];
};

/* One column. Content is borrowed. */
struct berth_value {
	int type; /* SQLITE_INTEGER, SQLITE_TEXT, SQLITE_BLOB; another one fits no seal */
	uint64_t number;
	const void *data;
	size_t n;
};

static inline struct berth_value berth_value_number(uint64_t number)
{
	return (struct berth_value){.type = SQLITE_INTEGER, .number = number};
}

static inline struct berth_value berth_value_text(const char *s)
{
	return (struct berth_value){.type = SQLITE_TEXT, .data = s, .n = strlen(s)};
}

static inline struct berth_value berth_value_blob(const void *data, size_t n)
{
	return (struct berth_value){.type = SQLITE_BLOB, .data = data, .n = n};
}

/* before may be NULL: not chained. */
void berth_seal_make(const char *table, const struct berth_seal *before, const struct berth_value *values, size_t n,
                     struct berth_seal *ret);
/* SHA-256 of plain content, for what is kept under its hash. */
void berth_seal_content(const void *data, size_t n, struct berth_seal *ret);

/* As BERTH_SEAL_HEX lower-case hexadecimal digits and NUL, and back; false when hex is not exactly that. */
#define BERTH_SEAL_HEX (2 * BERTH_SEAL_BYTES)
void berth_seal_write_hex(const struct berth_seal *seal, char ret[static BERTH_SEAL_HEX + 1]);
bool berth_seal_read_hex(const char *hex, struct berth_seal *ret);

/* Bind values to the parameters from 1 on, run the statement (an INSERT, DELETE or UPDATE kept by the caller) and reset
 * it. Returns SQLite's extended result code, SQLITE_DONE when it went well. */
BERTH_MUST_USE int berth_row_run(sqlite3_stmt *stmt, const struct berth_value *values, size_t n);
/* The same for an INSERT, with the seal of the values as one more parameter behind them; ret_seal may be NULL. */
BERTH_MUST_USE int berth_row_insert(sqlite3_stmt *stmt, const char *table, const struct berth_seal *before,
                                    const struct berth_value *values, size_t n, struct berth_seal *ret_seal);

/* Does the current row, n columns and its seal behind them, hold what was written? ret_seal (may be NULL): the row's
 * seal when it does. */
bool berth_row_is_sound(sqlite3_stmt *stmt, const char *table, const struct berth_seal *before, size_t n,
                        struct berth_seal *ret_seal);
/* The column as a seal; false when it is no blob of that size. */
bool berth_column_seal(sqlite3_stmt *stmt, int column, struct berth_seal *ret);
/* The column as text, "" for anything that is none. Borrowed until the next step. */
const char *berth_column_text(sqlite3_stmt *stmt, int column);
#endif
