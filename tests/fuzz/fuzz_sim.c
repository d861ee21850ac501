/* Load profiles ('p'), injections ('i') and short forms ('f') of simulated devices. */
#include <string.h>
#include "device/sim/fleet.h"
#include "device/sim/profile.h"
#include "target.h"

static void try_profile(const char *text)
{
	struct berth_sim_profile profile;
	struct berth_error err = {0};

	if (berth_sim_profile_parse(text, 80ull << 30, &profile, &err) < 0) {
		FUZZ_PROMISE(err.text[0] && berth_sim_profile_check(text, NULL) < 0);
		return;
	}
	FUZZ_PROMISE(profile.n > 0 && profile.n <= BERTH_SIM_PHASES_MAX && profile.phase[0].from_ms == 0);
	for (size_t i = 0; i < profile.n; i++) {
		FUZZ_PROMISE(profile.phase[i].util_permille <= 1000);
		FUZZ_PROMISE(i == 0 || profile.phase[i].from_ms > profile.phase[i - 1].from_ms);
		FUZZ_PROMISE(berth_sim_profile_at(&profile, profile.phase[i].from_ms) == &profile.phase[i]);
	}
}

static void try_injection(const char *text)
{
	struct berth_sim_injection injection;
	struct berth_error err = {0};
	int r = berth_sim_inject_parse(text, &injection, &err);

	FUZZ_PROMISE(r == 0 ? injection.kind != BERTH_SIM_INJECT_UNKNOWN : err.text[0] != '\0');
	FUZZ_PROMISE((berth_sim_inject_check(text, NULL) == 0) == (r == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct berth_sim_fleet fleet;
	struct berth_error err = {0};
	char *text;

	if (size == 0)
		return 0;
	text = fuzz_text(data + 1, size - 1);
	if (data[0] == 'p')
		try_profile(text);
	else if (data[0] == 'i')
		try_injection(text);
	else if (!strchr(text, '/') && berth_sim_fleet_parse(text, &fleet, &err) == 0)
		FUZZ_PROMISE(fleet.n > 0 && fleet.n <= BERTH_SIM_CARDS_MAX);
	free(text);
	return 0;
}
