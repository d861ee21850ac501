/* Names of output files: a pattern that was found good expands, and to no more than its letters can mean. */
#include <string.h>
#include "engine/local/pattern.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct berth_pattern_values values = {.job = UINT64_MAX, .name = "a/b", .user = "lin", .node = "gpu01"};
	BERTH_AUTO_TEXT struct berth_text text = {0};
	struct berth_error err = {0};
	char *pattern = fuzz_text(data, size);

	if (berth_pattern_check(pattern, &err) == 0) {
		berth_pattern_expand(pattern, &values, &text);
		FUZZ_PROMISE(berth_text_str(&text) && strlen(berth_text_str(&text)) == text.len);
		FUZZ_PROMISE(text.len <= 32 * (strlen(pattern) + 1));
		FUZZ_PROMISE(strchr(pattern, '%') || strcmp(pattern, berth_text_str(&text)) == 0);
	} else {
		FUZZ_PROMISE(strchr(pattern, '%') && err.text[0]);
	}
	free(pattern);
	return 0;
}
