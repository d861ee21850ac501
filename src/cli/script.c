#include "cli/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include "base/text.h"
#include "cli/request.h"

/* One word of the line; *at is moved behind it. Its end is written into *to, which moves too. */
static int take_word(const char **at, const char *end, char **to)
{
	char quote = '\0';
	const char *s = *at;

	for (; s < end && (quote || (*s != ' ' && *s != '\t')); s++) {
		if (quote != '\'' && *s == '\\') {
			if (++s == end)
				return -EINVAL;
			if (quote && *s != '"' && *s != '\\')
				*(*to)++ = '\\';
			*(*to)++ = *s;
		} else if (quote ? *s == quote : *s == '"' || *s == '\'') {
			quote = quote ? '\0' : *s;
		} else {
			*(*to)++ = *s;
		}
	}
	*(*to)++ = '\0';
	*at = s;
	return quote ? -EINVAL : 0;
}

int berth_words_split(const char *line, size_t n, struct berth_arena *arena, char ***ret_words)
{
	const char *end = line + n;
	char **words = berth_arena_alloc(arena, (n / 2 + 3) * sizeof(*words));
	char *to = berth_arena_alloc(arena, n + 1);
	int count = 0;

	if (!words || !to)
		return -ENOMEM;
	for (;;) {
		int r;

		while (line < end && (*line == ' ' || *line == '\t'))
			line++;
		if (line == end || *line == '#')
			break;
		words[1 + count++] = to;
		r = take_word(&line, end, &to);
		if (r < 0)
			return r;
	}
	*ret_words = words;
	return count;
}

struct reader {
	struct berth_cli *cli;
	struct berth_script *script;
	const char *shown;
	unsigned line;
	bool is_past_comments;
};

static int read_options(struct reader *reader, const char *line, size_t n)
{
	struct berth_cli *cli = reader->cli;
	BERTH_AUTO_TEXT struct berth_text place = {0};
	struct berth_error err = {0};
	const char *help = NULL;
	const char *where;
	char **words = NULL;
	int operand = 0;
	bool has_dashes = false;
	int count = berth_words_split(line, n, &cli->arena, &words);

	berth_text_addf(&place, "%s line %u", reader->shown, reader->line);
	where = berth_arena_strdup(&cli->arena, berth_text_str(&place));
	if (count == -ENOMEM || !where)
		return berth_complain_memory(cli);
	if (count < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", NULL, "%s: a quote is not closed", where);
	words[0] = (char *)"#BERTH";
	if (berth_given_parse(&reader->script->given, count + 1, words, where, false, &cli->arena, &operand,
	                      &has_dashes, &help, &err) < 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", help, "%s", err.text);
	if (operand <= count)
		return berth_complain(cli, BERTH_EXIT_USAGE, "Usage", "Only options stand on #BERTH lines.",
		                      "%s: \"%s\" is no option", where, words[operand]);
	return 0;
}

static bool starts(const char *line, size_t n, const char *word)
{
	const size_t length = strlen(word);

	return n >= length && memcmp(line, word, length) == 0 &&
	       (n == length || line[length] == ' ' || line[length] == '\t');
}

static int read_line(struct reader *reader, const char *line, size_t n)
{
	const size_t blank = strspn(line, " \t");

	if (starts(line, n, "#BERTH")) {
		if (!reader->is_past_comments)
			return read_options(reader, line + 6, n - 6);
		berth_warn("%s line %u: #BERTH below the first command is not read; move it up", reader->shown,
		           reader->line);
	} else if (starts(line, n, "#SBATCH") && !reader->is_past_comments) {
		BERTH_AUTO_FREE char *copy = strndup(line, n);
		BERTH_AUTO_FREE char *printable = copy ? berth_utf8_printable(copy, 60) : NULL;

		berth_warn("%s line %u: \"%s\" is not carried out: this version reads #BERTH lines only, #SBATCH comes "
		           "with a later one",
		           reader->shown, reader->line, printable ? printable : "#SBATCH");
	} else if (blank < n && line[blank] != '#') {
		reader->is_past_comments = true;
	}
	return 0;
}

/* Is this a script that can be carried and run? */
static int check(struct berth_cli *cli, const char *shown, const char *text, size_t n)
{
	if (memchr(text, '\0', n))
		return berth_complain(cli, BERTH_EXIT_USAGE, "NoScript",
		                      "A program is submitted with -- before it:  berth submit -- PROGRAM",
		                      "%s is a binary file, not a script", shown);
	if (n < 3 || memcmp(text, "#!", 2) != 0)
		return berth_complain(cli, BERTH_EXIT_USAGE, "NoScript",
		                      "Its first line must name the program that runs it, as in  #!/bin/bash\n"
		                      "A command is submitted with -- before it:  berth submit -- COMMAND",
		                      "%s does not start with #!", shown);
	if (memchr(text, '\r', strcspn(text, "\n")))
		return berth_complain(cli, BERTH_EXIT_USAGE, "NoScript", "Take them out:  sed -i 's/\\r$//' FILE",
		                      "%s has DOS line ends", shown);
	if (!berth_utf8_is_valid(text, n))
		return berth_complain(cli, BERTH_EXIT_USAGE, "NotUtf8",
		                      "Convert it:  iconv -f GB18030 -t UTF-8 OLD > NEW", "%s is not UTF-8 text",
		                      shown);
	return 0;
}

int berth_script_parse(struct berth_cli *cli, const char *shown, const char *text, size_t n, struct berth_script *ret)
{
	static const struct berth_option *const tables[] = {berth_request_options, berth_launch_options, NULL};
	struct reader reader = {.cli = cli, .script = ret, .shown = shown};
	int r = check(cli, shown, text, n);

	berth_given_init(&ret->given, tables);
	ret->text = text;
	while (r == 0 && *text) {
		const size_t length = strcspn(text, "\n");

		reader.line++;
		r = read_line(&reader, text, length);
		text += length + (text[length] == '\n');
	}
	return r;
}

/* All of a descriptor, at most max bytes, NUL-terminated, in arena. -EFBIG, -ENOMEM, -errno. */
static int read_all(int fd, size_t max, struct berth_arena *arena, char **ret, size_t *ret_n)
{
	BERTH_AUTO_TEXT struct berth_text text = {0};
	char buf[16384];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		berth_text_add_n(&text, buf, (size_t)n);
		if (text.len > max)
			return -EFBIG;
	}
	*ret = berth_arena_memdup(arena, text.at ? text.at : "", text.len + 1);
	*ret_n = text.len;
	return *ret && !text.is_failed ? 0 : -ENOMEM;
}

static int complain_unreadable(struct berth_cli *cli, const char *shown, int r)
{
	const bool is_command = r == -ENOENT && !strchr(shown, '/');

	if (r == -EFBIG)
		return berth_complain(cli, BERTH_EXIT_USAGE, "NoScript", NULL,
		                      "%s is larger than %u MB, too large for a script", shown,
		                      BERTH_SCRIPT_BYTES_MAX >> 20);
	return berth_complain(cli, BERTH_EXIT_USAGE, "NoScript",
	                      is_command ? "A command is submitted with -- before it:  berth submit -- COMMAND" : NULL,
	                      "cannot read the script %s: %s", shown, strerrordesc_np(-r));
}

int berth_script_read(struct berth_cli *cli, const char *path, struct berth_script *ret)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	BERTH_AUTO_FREE char *printable = berth_utf8_printable(path, 0);
	const char *slash = strrchr(path, '/');
	const char *shown = is_stdin ? "the script on stdin" : berth_arena_strdup(&cli->arena, printable);
	BERTH_AUTO_CLOSE int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	char *text = NULL;
	size_t n = 0;
	int r;

	if (!shown)
		return berth_complain_memory(cli);
	if (fd < 0 || fstat(fd, &st) < 0)
		return complain_unreadable(cli, shown, -errno);
	if (S_ISDIR(st.st_mode))
		return complain_unreadable(cli, shown, -EISDIR);
	r = read_all(fd, BERTH_SCRIPT_BYTES_MAX, &cli->arena, &text, &n);
	if (r < 0)
		return complain_unreadable(cli, shown, r);
	ret->name = is_stdin ? "stdin" : slash ? slash + 1 : path;
	return berth_script_parse(cli, shown, text, n, ret);
}
