/* The configuration file, and the file of simulated devices (first byte 's'). A refusal says where; what is taken shows
 * itself as JSON. */
#include <string.h>
#include "daemon/config.h"
#include "device/sim/fleet.h"
#include "target.h"

static void try_config(const uint8_t *data, size_t size)
{
	static struct berth_config config;
	BERTH_AUTO_TEXT struct berth_text complaints = {0};
	BERTH_AUTO_TEXT struct berth_text path = {0};
	const char *dir;
	int r;

	(void)fuzz_dir(&dir);
	fuzz_file("berth.yaml", data, size);
	berth_text_addf(&path, "%s/berth.yaml", dir);
	berth_config_init(&config);
	r = berth_config_load(&config, berth_text_str(&path), &complaints);
	FUZZ_PROMISE((r < 0) == (complaints.len > 0));
	if (r == 0) {
		char *json = berth_config_json(&config);

		FUZZ_PROMISE(json);
		free(json);
	} else {
		FUZZ_PROMISE(config.file[0] == '\0');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_sim_fleet fleet;
	struct berth_error err = {0};

	if (size == 0)
		return 0;
	if (data[0] == 's') {
		char *text = fuzz_text(data + 1, size - 1);

		if (berth_sim_fleet_parse_yaml(text, size - 1, "it", &fleet, &err) == 0)
			FUZZ_PROMISE(fleet.n > 0 && fleet.n <= BERTH_SIM_CARDS_MAX);
		else
			FUZZ_PROMISE(err.text[0]);
		free(text);
	} else {
		try_config(data + 1, size - 1);
	}
	return 0;
}
