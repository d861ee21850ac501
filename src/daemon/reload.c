#include <errno.h>
#include <string.h>
#include "daemon/server.h"

/* Values of the command line, which stand above the file. */
static int set_from_options(const struct berth_options *options, struct berth_config *config,
                            struct berth_text *complaints)
{
	const struct {
		const char *option, *text;
		enum berth_config_key key;
	} rows[] = {
		{"--listen", options->listen, BERTH_KEY_LISTEN},
		{"--devices", options->devices, BERTH_KEY_DEVICES},
		{"--log-level", options->log_level, BERTH_KEY_LOG_LEVEL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct berth_origin origin = {.kind = BERTH_ORIGIN_COMMAND_LINE};
		struct berth_error err = {0};

		if (rows[i].text && berth_config_set(config, rows[i].key, rows[i].text, origin, &err) < 0) {
			berth_text_addf(complaints, "%s: %s\n", rows[i].option, err.text);
			return -EINVAL;
		}
	}
	return 0;
}

int berth_server_read_config(const struct berth_options *options, const struct berth_paths *paths,
                             struct berth_config *ret, struct berth_text *complaints)
{
	BERTH_AUTO_TEXT struct berth_text file_complaints = {0};
	struct berth_config config;
	int r;

	berth_config_init(&config);
	r = set_from_options(options, &config, complaints);
	if (r < 0)
		return r;
	r = berth_config_load(&config, paths->config, &file_complaints);
	if (r == -ENOENT && !paths->is_config_given)
		r = 0; /* a configuration is optional */
	if (r < 0) {
		berth_text_add(complaints, file_complaints.len ? berth_text_str(&file_complaints) : "memory is out\n");
		return -EINVAL;
	}
	*ret = config;
	return 0;
}

static void log_lines(const struct berth_log *log, enum berth_log_level level, char *lines)
{
	char *save = NULL;

	for (char *line = strtok_r(lines, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		berth_log(log, level, "%s", line);
}

void berth_server_reload(struct berth_server *server)
{
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	struct berth_config next;
	uint32_t needs_restart;

	if (berth_server_read_config(server->options, &server->paths, &next, &complaints) < 0) {
		if (complaints.at)
			log_lines(&server->log, BERTH_LOG_ERROR, complaints.at);
		berth_log(&server->log, BERTH_LOG_ERROR, "the configuration was not taken; the old one stays");
		return;
	}
	needs_restart = berth_config_apply_live(&server->config, &next);
	for (int key = 0; key < BERTH_CONFIG_KEYS; key++)
		if (needs_restart >> key & 1)
			berth_log(&server->log, BERTH_LOG_WARNING,
			          "%s has changed in the configuration and needs a restart of the daemon",
			          berth_config_keys[key].path);
	server->log.level = server->config.log_level;
	berth_server_lend_defaults(server);
	berth_server_reconcile(server);
	berth_log(&server->log, BERTH_LOG_INFO, "the configuration was read again%s%s",
	          next.file[0] ? ": " : ", there is none", next.file);
}
