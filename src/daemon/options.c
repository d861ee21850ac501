#include "daemon/options.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/text.h"

struct option {
	const char *name;
	const char *value; /* word for the help; NULL = takes none */
	size_t offset;     /* in struct berth_options: const char *, or bool when it takes no value */
	const char *doc;
};

#define FIELD(name) offsetof(struct berth_options, name)
static const struct option options[] = {
	{"config", "FILE", FIELD(config), "configuration (default: $XDG_CONFIG_HOME/berth/berth.yaml when it exists)"},
	{"state", "DIR", FIELD(state), "where all that lasts is kept (default: $XDG_STATE_HOME/berth)"},
	{"socket", "PATH", FIELD(socket),
         "unix socket for the command line (default: $XDG_RUNTIME_DIR/berth/berth.sock,\n"
         "                        or /tmp/berth-UID/berth.sock)"},
	{"listen", "ADDR:PORT|none", FIELD(listen),
         "where the page is served, loopback only (default: 127.0.0.1:8477)"},
	{"devices", "SPEC", FIELD(devices),
         "auto, sim:MODELS (sim:8xA100-80GB) or sim:FILE.yaml; auto is a simulated server,\n"
         "                        since drivers for real cards come with a later version"},
	{"log-level", "LEVEL", FIELD(log_level), "error, warning, info (default) or debug"},
	{"demo", NULL, FIELD(is_demo), "submit the example jobs when the queue is empty, and say what to type next"},
	{"check-config", "FILE", FIELD(check_config), "say whether FILE is a good configuration, and end"},
	{"version", NULL, FIELD(wants_version), "print the version, and end"},
	{"help", NULL, FIELD(wants_help), "print this, and end"},
};
#undef FIELD
#define OPTIONS (sizeof(options) / sizeof(options[0]))

/* Promised by the interface, not there yet: accepted silently they would lie. */
static const struct {
	const char *name, *sentence;
} later[] = {
	{"system", "--system (a daemon for all users of the machine) comes with a later version; without it berthd "
                   "serves the user who starts it"},
	{"observe", "--observe (watch only) comes with a later version"},
	{"sim-speed", "--sim-speed (simulated time) comes with a later version"},
};

/* Does arg, "--name" or "--name=…", mean name? */
static bool is_named(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return strncmp(arg, "--", 2) == 0 && strncmp(arg + 2, name, n) == 0 &&
	       (arg[2 + n] == '\0' || arg[2 + n] == '=');
}

static int refuse_unknown(const char *arg, struct berth_error *err)
{
	const char *names[OPTIONS + 1] = {0};
	char word[32];
	const char *near;

	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (is_named(arg, later[i].name))
			return berth_error_set(err, -EINVAL, "%s", later[i].sentence);
	if (strncmp(arg, "--", 2) != 0 || !arg[2])
		return berth_error_set(err, -EINVAL, "\"%.60s\" is no option of berthd; berthd --help lists them", arg);
	(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
	for (size_t i = 0; i < OPTIONS; i++)
		names[i] = options[i].name;
	near = berth_text_nearest(word, names);
	if (near)
		return berth_error_set(err, -EINVAL, "unknown option --%s; did you mean --%s?", word, near);
	return berth_error_set(err, -EINVAL, "unknown option --%s; berthd --help lists them", word);
}

static int take_flag(const struct option *option, const char *arg, bool *ret, struct berth_error *err)
{
	if (strchr(arg, '='))
		return berth_error_set(err, -EINVAL, "--%s takes no value", option->name);
	if (*ret)
		return berth_error_set(err, -EINVAL, "--%s is given twice", option->name);
	*ret = true;
	return 0;
}

/* next: the argument behind it, NULL at the end. Returns how many arguments were used, or -EINVAL. */
static int take_value(const struct option *option, const char *arg, const char *next, const char **ret,
                      struct berth_error *err)
{
	const char *equals = strchr(arg, '=');
	const char *value = equals ? equals + 1 : next;

	if (!value || !*value)
		return berth_error_set(err, -EINVAL, "--%s needs a value: --%s %s", option->name, option->name,
		                       option->value);
	if (*ret)
		return berth_error_set(err, -EINVAL, "--%s is given twice", option->name);
	*ret = value;
	return equals ? 1 : 2;
}

static const struct option *find(const char *arg)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (is_named(arg, options[i].name))
			return &options[i];
	return NULL;
}

int berth_options_parse(int argc, char *const argv[], struct berth_options *ret, struct berth_error *err)
{
	struct berth_options parsed = {0};

	for (int i = 1; i < argc;) {
		const struct option *option = find(argv[i]);
		void *field = option ? (char *)&parsed + option->offset : NULL;
		int used = 1;

		if (!option)
			return refuse_unknown(argv[i], err);
		if (option->value)
			used = take_value(option, argv[i], i + 1 < argc ? argv[i + 1] : NULL, field, err);
		else if (take_flag(option, argv[i], field, err) < 0)
			used = -EINVAL;
		if (used < 0)
			return used;
		i += used;
	}
	*ret = parsed;
	return 0;
}

void berth_options_help(FILE *out)
{
	(void)fputs("usage: berthd [OPTION...]\n"
	            "The berth scheduler: gives every job its GPUs. Runs in the foreground, for the user who starts "
	            "it.\n\n",
	            out);
	for (size_t i = 0; i < OPTIONS; i++) {
		char left[48];

		(void)snprintf(left, sizeof(left), "--%s%s%s", options[i].name, options[i].value ? " " : "",
		               options[i].value ? options[i].value : "");
		(void)fprintf(out, "  %-23s%s%s\n", left, strlen(left) > 22 ? "\n                        " : " ",
		              options[i].doc);
	}
	(void)fputs("\nSIGTERM or Ctrl-C ends the daemon; jobs run on and are found again by the next one. SIGHUP "
	            "reads the configuration again.\n"
	            "Exit code: 0 ended as asked, 1 failed, 2 wrong options or configuration.\n",
	            out);
}
