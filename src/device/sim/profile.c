#include "device/sim/profile.h"

#include <errno.h>
#include <string.h>
#include "base/units.h"

#define SECONDS_MAX (10ull * 366 * 24 * 3600)
#define PHASE_TEXT_MAX 64
#define DEFAULT_UTIL_PERMILLE 900
#define DEFAULT_MEM_PERCENT 60

/* "95" or "95%". */
static int parse_percent(const char *text, uint32_t *ret_permille, struct berth_error *err)
{
	char digits[8];
	size_t len = strlen(text);
	uint64_t percent;
	int r;

	if (len > 0 && text[len - 1] == '%')
		len--;
	if (len == 0 || len >= sizeof(digits))
		return berth_error_set(err, -EINVAL, "'%s' is no percentage, 0 to 100", text);
	memcpy(digits, text, len);
	digits[len] = '\0';
	r = berth_number_parse(digits, "utilisation in percent", 0, 100, &percent, err);
	if (r < 0)
		return berth_error_set(err, -EINVAL, "'%s' is no percentage, 0 to 100", text);
	*ret_permille = (uint32_t)percent * 10;
	return 0;
}

/* "SECONDS:UTIL:MEM", writable. */
static int parse_phase(char *text, struct berth_sim_phase *ret, struct berth_error *err)
{
	char *util = strchr(text, ':');
	char *mem = util ? strchr(util + 1, ':') : NULL;
	struct berth_sim_phase phase = {0};
	uint64_t seconds;
	int r;

	if (!mem)
		return berth_error_set(err, -EINVAL, "a phase is SECONDS:UTIL:MEM, such as 30:95:40G, not '%s'", text);
	*util++ = '\0';
	*mem++ = '\0';
	r = berth_number_parse(text, "seconds", 0, SECONDS_MAX, &seconds, err);
	if (r < 0)
		return r;
	r = parse_percent(util, &phase.util_permille, err);
	if (r < 0)
		return r;
	r = berth_size_parse(mem, &phase.mem_bytes, err);
	if (r < 0)
		return r;
	phase.from_ms = seconds * 1000;
	*ret = phase;
	return 0;
}

/* One phase behind those that profile has. at, len: its text. */
static int add_phase(struct berth_sim_profile *profile, const char *at, size_t len, struct berth_error *err)
{
	struct berth_sim_phase *phase = &profile->phase[profile->n];
	struct berth_error why;
	char text[PHASE_TEXT_MAX];
	int r;

	if (profile->n == BERTH_SIM_PHASES_MAX)
		return berth_error_set(err, -EINVAL, "load profile: more than %d phases", BERTH_SIM_PHASES_MAX);
	if (len >= sizeof(text))
		return berth_error_set(err, -EINVAL, "load profile: phase %zu is too long", profile->n + 1);
	memcpy(text, at, len);
	text[len] = '\0';
	r = parse_phase(text, phase, &why);
	if (r < 0)
		return berth_error_set(err, -EINVAL, "load profile: phase %zu: %s", profile->n + 1, why.text);
	if (profile->n == 0 && phase->from_ms != 0)
		return berth_error_set(err, -EINVAL, "load profile: the first phase begins at 0, not at second %s",
		                       text);
	if (profile->n > 0 && phase->from_ms <= phase[-1].from_ms)
		return berth_error_set(err, -EINVAL, "load profile: phase %zu does not begin after the one before it",
		                       profile->n + 1);
	profile->n++;
	return 0;
}

int berth_sim_profile_parse(const char *text, uint64_t card_mem_bytes, struct berth_sim_profile *ret,
                            struct berth_error *err)
{
	struct berth_sim_profile profile = {0};
	int r;

	if (text[0] == '\0') {
		profile.n = 1;
		profile.phase[0].util_permille = DEFAULT_UTIL_PERMILLE;
		profile.phase[0].mem_bytes = card_mem_bytes / 100 * DEFAULT_MEM_PERCENT;
	}
	while (text[0] != '\0') {
		const size_t len = strcspn(text, ",");

		r = add_phase(&profile, text, len, err);
		if (r < 0)
			return r;
		text += len;
		if (text[0] == ',' && *++text == '\0')
			return berth_error_set(err, -EINVAL, "load profile: a phase is missing behind the last comma");
	}
	*ret = profile;
	return 0;
}

const struct berth_sim_phase *berth_sim_profile_at(const struct berth_sim_profile *profile, uint64_t age_ms)
{
	size_t i = profile->n - 1;

	while (i > 0 && profile->phase[i].from_ms > age_ms)
		i--;
	return &profile->phase[i];
}

int berth_sim_profile_check(const char *profile, struct berth_error *err)
{
	struct berth_sim_profile parsed;

	return berth_sim_profile_parse(profile, 0, &parsed, err);
}

static int parse_value(enum berth_sim_inject_kind kind, const char *value, struct berth_sim_injection *ret,
                       struct berth_error *err)
{
	uint32_t permille;
	int r;

	ret->kind = kind;
	switch (kind) {
	case BERTH_SIM_INJECT_UTIL:
		r = parse_percent(value, &permille, err);
		if (r == 0)
			ret->value = permille;
		return r;
	case BERTH_SIM_INJECT_MEM:
		return berth_size_parse(value, &ret->value, err);
	case BERTH_SIM_INJECT_HANG:
		r = berth_number_parse(value, "seconds to hang", 1, BERTH_SIM_HANG_MAX_S, &ret->value, err);
		ret->value *= 1000;
		return r;
	default:
		return 0;
	}
}

int berth_sim_inject_parse(const char *what, struct berth_sim_injection *ret, struct berth_error *err)
{
	static const struct {
		const char *word;
		enum berth_sim_inject_kind kind;
		bool has_value, has_auto;
	} words[] = {
		{"util", BERTH_SIM_INJECT_UTIL, true, true},   {"mem", BERTH_SIM_INJECT_MEM, true, true},
		{"lost", BERTH_SIM_INJECT_LOST, false, false}, {"recover", BERTH_SIM_INJECT_RECOVER, false, false},
		{"hang", BERTH_SIM_INJECT_HANG, true, false},
	};
	const size_t len = strcspn(what, " ");
	const char *value = what + len + strspn(what + len, " ");
	struct berth_sim_injection injection = {0};
	struct berth_error why;
	int r;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strlen(words[i].word) != len || strncmp(words[i].word, what, len) != 0)
			continue;
		if (words[i].has_value != (value[0] != '\0'))
			break;
		injection.kind = words[i].kind;
		injection.is_auto = words[i].has_auto && strcmp(value, "auto") == 0;
		r = injection.is_auto ? 0 : parse_value(words[i].kind, value, &injection, &why);
		if (r < 0)
			return berth_error_set(err, -EINVAL, "%s: %s", words[i].word, why.text);
		*ret = injection;
		return 0;
	}
	return berth_error_set(err, -EINVAL,
	                       "'%s': a simulated card knows util PERCENT|auto, mem SIZE|auto, lost, recover, "
	                       "hang SECONDS",
	                       what);
}

int berth_sim_inject_check(const char *what, struct berth_error *err)
{
	struct berth_sim_injection injection;

	return berth_sim_inject_parse(what, &injection, err);
}
