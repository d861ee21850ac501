#ifndef BERTH_CLI_SCRIPT_H
#define BERTH_CLI_SCRIPT_H
/* A script that is submitted: its text, and the options on its #BERTH lines.
 *
 * Option lines start with "#BERTH" and stand before the first line that is neither empty nor a comment. They are split
 * into words as a shell does it (quotes, backslash; a word that starts with # ends the line), nothing is expanded.
 */
#include "cli/cli.h"

#define BERTH_SCRIPT_BYTES_MAX (4u << 20)

struct berth_script {
	const char *text; /* in cli's arena */
	const char *name; /* its file name without directories, or "stdin" */
	struct berth_given given;
};

/* Read a file, or stdin for "-", and its option lines. What is no script is refused: binary files, a missing #! line,
 * DOS line ends, text that is not UTF-8. Every #SBATCH line, and every #BERTH line that comes too late, is warned
 * about. 0, or an exit code after a complaint. */
BERTH_MUST_USE int berth_script_read(struct berth_cli *cli, const char *path, struct berth_script *ret);
/* The same from memory; shown: how messages call it. text must live in cli's arena. */
BERTH_MUST_USE int berth_script_parse(struct berth_cli *cli, const char *shown, const char *text, size_t n,
                                      struct berth_script *ret);

/* Split one line into words, in arena. *ret_words is NULL-terminated and has a free place in front, as argv[0].
 * Returns the number of words, -EINVAL for an open quote or a backslash at the end, -ENOMEM. */
BERTH_MUST_USE int berth_words_split(const char *line, size_t n, struct berth_arena *arena, char ***ret_words);
#endif
