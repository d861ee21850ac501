#include "store/seal.h"

#include <assert.h>
#include <nettle/sha2.h>

static_assert(BERTH_SEAL_BYTES == SHA256_DIGEST_SIZE, "a seal is a SHA-256");

static void add_value(struct sha256_ctx *ctx, const struct berth_value *value)
{
	uint64_t number = value->type == SQLITE_INTEGER ? value->number : value->n;
	uint8_t head[9] = {(uint8_t)value->type};

	for (unsigned i = 0; i < 8; i++)
		head[1 + i] = (uint8_t)(number >> (8 * i));
	sha256_update(ctx, sizeof(head), head);
	if (value->type != SQLITE_INTEGER && value->n > 0)
		sha256_update(ctx, value->n, value->data);
}

void berth_seal_make(const char *table, const struct berth_seal *before, const struct berth_value *values, size_t n,
                     struct berth_seal *ret)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, strlen(table) + 1, (const uint8_t *)table);
	if (before)
		sha256_update(&ctx, sizeof(before->bytes), before->bytes);
	for (size_t i = 0; i < n; i++)
		add_value(&ctx, &values[i]);
	sha256_digest(&ctx, sizeof(ret->bytes), ret->bytes);
}

void berth_seal_content(const void *data, size_t n, struct berth_seal *ret)
{
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	if (n > 0)
		sha256_update(&ctx, n, data);
	sha256_digest(&ctx, sizeof(ret->bytes), ret->bytes);
}

void berth_seal_write_hex(const struct berth_seal *seal, char ret[static BERTH_SEAL_HEX + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < BERTH_SEAL_BYTES; i++) {
		ret[2 * i] = digits[seal->bytes[i] >> 4];
		ret[2 * i + 1] = digits[seal->bytes[i] & 15];
	}
	ret[BERTH_SEAL_HEX] = '\0';
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool berth_seal_read_hex(const char *hex, struct berth_seal *ret)
{
	struct berth_seal seal;

	for (size_t i = 0; i < BERTH_SEAL_BYTES; i++) {
		int high = nibble(hex[2 * i]), low = high < 0 ? -1 : nibble(hex[2 * i + 1]);

		if (low < 0)
			return false;
		seal.bytes[i] = (uint8_t)(high << 4 | low);
	}
	if (hex[BERTH_SEAL_HEX])
		return false;
	*ret = seal;
	return true;
}

static int bind_value(sqlite3_stmt *stmt, int at, const struct berth_value *value)
{
	if (value->type == SQLITE_INTEGER)
		return sqlite3_bind_int64(stmt, at, (sqlite3_int64)value->number);
	if (value->type == SQLITE_TEXT)
		return sqlite3_bind_text64(stmt, at, value->data, value->n, SQLITE_STATIC, SQLITE_UTF8);
	/* A NULL pointer would bind a NULL; an empty blob is not that. */
	return sqlite3_bind_blob64(stmt, at, value->n ? value->data : "", value->n, SQLITE_STATIC);
}

int berth_row_run(sqlite3_stmt *stmt, const struct berth_value *values, size_t n)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; i < n && rc == SQLITE_OK; i++)
		rc = bind_value(stmt, (int)i + 1, &values[i]);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(stmt);
	(void)sqlite3_reset(stmt);
	(void)sqlite3_clear_bindings(stmt);
	return rc;
}

int berth_row_insert(sqlite3_stmt *stmt, const char *table, const struct berth_seal *before,
                     const struct berth_value *values, size_t n, struct berth_seal *ret_seal)
{
	struct berth_value row[BERTH_ROW_COLUMNS_MAX + 1];
	struct berth_seal seal;
	int rc;

	assert(n <= BERTH_ROW_COLUMNS_MAX);
	memcpy(row, values, n * sizeof(*values));
	berth_seal_make(table, before, values, n, &seal);
	row[n] = berth_value_blob(seal.bytes, sizeof(seal.bytes));
	rc = berth_row_run(stmt, row, n + 1);
	if (rc == SQLITE_DONE && ret_seal)
		*ret_seal = seal;
	return rc;
}

static struct berth_value column_value(sqlite3_stmt *stmt, int column)
{
	struct berth_value value = {.type = sqlite3_column_type(stmt, column)};

	if (value.type == SQLITE_INTEGER) {
		value.number = (uint64_t)sqlite3_column_int64(stmt, column);
	} else if (value.type == SQLITE_TEXT || value.type == SQLITE_BLOB) {
		value.data = sqlite3_column_blob(stmt, column);
		value.n = (size_t)sqlite3_column_bytes(stmt, column);
	}
	return value;
}

bool berth_row_is_sound(sqlite3_stmt *stmt, const char *table, const struct berth_seal *before, size_t n,
                        struct berth_seal *ret_seal)
{
	struct berth_value row[BERTH_ROW_COLUMNS_MAX];
	struct berth_seal stored, seal;

	assert(n <= BERTH_ROW_COLUMNS_MAX);
	for (size_t i = 0; i < n; i++)
		row[i] = column_value(stmt, (int)i);
	berth_seal_make(table, before, row, n, &seal);
	if (!berth_column_seal(stmt, (int)n, &stored) || memcmp(&stored, &seal, sizeof(seal)) != 0)
		return false;
	if (ret_seal)
		*ret_seal = seal;
	return true;
}

bool berth_column_seal(sqlite3_stmt *stmt, int column, struct berth_seal *ret)
{
	const void *data = sqlite3_column_type(stmt, column) == SQLITE_BLOB ? sqlite3_column_blob(stmt, column) : NULL;

	if (!data || sqlite3_column_bytes(stmt, column) != BERTH_SEAL_BYTES)
		return false;
	memcpy(ret->bytes, data, BERTH_SEAL_BYTES);
	return true;
}

const char *berth_column_text(sqlite3_stmt *stmt, int column)
{
	const unsigned char *text = sqlite3_column_type(stmt, column) == SQLITE_TEXT ? sqlite3_column_text(stmt, column)
	                                                                             : NULL;

	return text ? (const char *)text : "";
}
