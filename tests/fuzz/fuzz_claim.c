/* Claims and records as they lie in the state directory. The first byte: bit 0 chooses the record, bit 1 puts the right
 * sum behind, bit 2 writes what was read and reads it again. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "base/hash.h"
#include "base/text.h"
#include "host/claim.h"
#include "target.h"

static const struct berth_attempt_id id = {12, 1};

static void put(bool is_record, bool has_sum, const char *lines, size_t n)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char name[BERTH_ATTEMPT_NAME_MAX];

	berth_text_add_n(&text, lines, n);
	if (has_sum)
		berth_text_addf(&text, "sum %016" PRIx64 "\n", berth_hash_bytes(BERTH_HASH_SEED, lines, n));
	fuzz_file(berth_attempt_file_name(&id, is_record ? BERTH_ATTEMPT_RECORD : BERTH_ATTEMPT_CLAIM, name),
	          text.at ? text.at : "", text.len);
}

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

static void try_claim(void)
{
	struct berth_claim claim;
	struct berth_error err = {0};

	if (berth_claim_read(fuzz_dir(NULL), &id, &claim, &err) < 0) {
		FUZZ_PROMISE(err.code == -EBADMSG && err.text[0]);
		return;
	}
	FUZZ_PROMISE(berth_attempt_is_same(&id, &claim.id) && claim.n_uuid <= 16);
	FUZZ_PROMISE(is_terminated(claim.group, sizeof(claim.group)));
	FUZZ_PROMISE(is_terminated(claim.boot_id, sizeof(claim.boot_id)));
	for (uint32_t i = 0; i < claim.n_uuid; i++)
		FUZZ_PROMISE(is_terminated(claim.uuid[i], sizeof(claim.uuid[i])));
}

static void try_record(bool is_again)
{
	struct berth_record record, again;
	struct berth_error err = {0};

	if (berth_record_read(fuzz_dir(NULL), &id, &record, &err) < 0) {
		FUZZ_PROMISE(err.code == -EBADMSG && err.text[0]);
		return;
	}
	FUZZ_PROMISE(berth_attempt_is_same(&id, &record.id));
	if (!is_again)
		return;
	FUZZ_PROMISE(berth_record_write(fuzz_dir(NULL), &record) == 0);
	FUZZ_PROMISE(berth_record_read(fuzz_dir(NULL), &id, &again, &err) == 0);
	FUZZ_PROMISE(memcmp(&record.exit_code, &again.exit_code, sizeof(record.exit_code)) == 0);
	FUZZ_PROMISE(record.signal == again.signal && record.started_ms == again.started_ms);
	FUZZ_PROMISE(strcmp(record.how, again.how) == 0 && strcmp(record.witness, again.witness) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_attempt_id found;
	enum berth_attempt_file file;
	char name[BERTH_ATTEMPT_NAME_MAX];
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	put(data[0] & 1, data[0] & 2, text, size - 1);
	if (data[0] & 1)
		try_record((data[0] & 7) == 7);
	else
		try_claim();
	if (berth_attempt_parse_name(text, &found, &file))
		FUZZ_PROMISE(strcmp(berth_attempt_file_name(&found, file, name), text) == 0);
	free(text);
	return 0;
}
