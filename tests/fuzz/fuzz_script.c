/* A script that is submitted, with the options on its #BERTH lines, and one such line by itself. */
#include <errno.h>
#include <string.h>
#include "cli/script.h"
#include "target.h"

static void try_words(const char *line, size_t n)
{
	struct berth_arena arena = {0};
	char **words = NULL;
	size_t bytes = 0;
	int count = berth_words_split(line, n, &arena, &words);

	FUZZ_PROMISE(count >= 0 || count == -EINVAL);
	for (int i = 0; i < count; i++)
		bytes += strlen(words[1 + i]);
	FUZZ_PROMISE(bytes <= n && (count < 0 || !words[1 + count]));
	berth_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_cli cli = {.program = "berth", .is_json = true, .errors = json_array()};
	struct berth_script script = {0};
	char *text = berth_arena_alloc(&cli.arena, size + 1);
	char *line = fuzz_text(data, size);

	FUZZ_PROMISE(text && cli.errors);
	memcpy(text, line, size + 1);
	if (berth_script_parse(&cli, "it", text, size, &script) != 0)
		FUZZ_PROMISE(json_array_size(cli.errors) == 1);
	try_words(line, strcspn(line, "\n"));
	free(line);
	json_decref(cli.errors);
	berth_arena_fini(&cli.arena);
	return 0;
}
