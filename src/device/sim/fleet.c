#include "device/sim/fleet.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

#define FILE_MAX (64 * 1024)
#define MODEL_TEXT_MAX 64
#define MODELS_LISTED_MAX 64

static int refuse_model(const char *name, struct berth_error *err)
{
	const char *names[MODELS_LISTED_MAX + 1] = {0};
	BERTH_AUTO_TEXT struct berth_text list = {0};
	const char *near;

	for (size_t i = 0; i < MODELS_LISTED_MAX && berth_sim_models[i].name; i++) {
		names[i] = berth_sim_models[i].name;
		berth_text_addf(&list, "%s%s", i ? " " : "", names[i]);
	}
	near = berth_text_nearest(name, names);
	if (near)
		return berth_error_set(err, -EINVAL, "no simulated card is called '%s'; did you mean %s?", name, near);
	return berth_error_set(err, -EINVAL, "no simulated card is called '%s'; known: %s", name,
	                       list.is_failed ? "" : berth_text_str(&list));
}

int berth_sim_fleet_add(struct berth_sim_fleet *fleet, const char *model, uint64_t n, struct berth_error *err)
{
	const struct berth_sim_model *found = berth_sim_model_find(model);

	if (!found)
		return refuse_model(model, err);
	if (n > BERTH_SIM_CARDS_MAX - fleet->n)
		return berth_error_set(err, -EINVAL, "a server holds at most %d cards", BERTH_SIM_CARDS_MAX);
	for (uint64_t i = 0; i < n; i++)
		fleet->model[fleet->n++] = found;
	return 0;
}

/* "8xA100-80GB" or "A100-80GB", writable. */
static int add_group(struct berth_sim_fleet *fleet, char *text, struct berth_error *err)
{
	const size_t digits = strspn(text, "0123456789");
	uint64_t n = 1;
	int r;

	if (digits == 0 || text[digits] != 'x')
		return berth_sim_fleet_add(fleet, text, 1, err);
	text[digits] = '\0';
	r = berth_number_parse(text, "number of cards", 1, BERTH_SIM_CARDS_MAX, &n, err);
	if (r < 0)
		return r;
	return berth_sim_fleet_add(fleet, text + digits + 1, n, err);
}

static int parse_short(const char *arg, struct berth_sim_fleet *ret, struct berth_error *err)
{
	struct berth_error why;
	int r;

	for (const char *at = arg;; at++) {
		const size_t len = strcspn(at, "+");
		char text[MODEL_TEXT_MAX];

		if (len == 0 || len >= sizeof(text))
			return berth_error_set(err, -EINVAL,
			                       "simulated cards '%s': write them as 8xA100-80GB, several kinds as "
			                       "4xA100-80GB+2xL40S, or name a .yaml file",
			                       arg);
		memcpy(text, at, len);
		text[len] = '\0';
		r = add_group(ret, text, &why);
		if (r < 0)
			return berth_error_set(err, -EINVAL, "simulated cards '%s': %s", arg, why.text);
		at += len;
		if (*at == '\0')
			return 0;
	}
}

static bool ends_in(const char *s, const char *end)
{
	const size_t n = strlen(s);
	const size_t n_end = strlen(end);

	return n > n_end && strcmp(s + n - n_end, end) == 0;
}

int berth_sim_fleet_parse(const char *arg, struct berth_sim_fleet *ret, struct berth_error *err)
{
	BERTH_AUTO_FREE char *text = NULL;
	struct berth_sim_fleet fleet = {0};
	size_t len;
	int r;

	if (ends_in(arg, ".yaml") || ends_in(arg, ".yml")) {
		r = berth_file_read_at(AT_FDCWD, arg, FILE_MAX, &text, &len);
		if (r < 0)
			return berth_error_errno(err, r, "reading the simulated cards from %s", arg);
		r = berth_sim_fleet_parse_yaml(text, len, arg, &fleet, err);
	} else {
		r = parse_short(arg, &fleet, err);
	}
	if (r < 0)
		return r;
	*ret = fleet;
	return 0;
}

int berth_sim_arg_check(const char *arg, struct berth_error *err)
{
	struct berth_sim_fleet fleet;

	return berth_sim_fleet_parse(arg, &fleet, err);
}

/* Links between cards of one hybrid cube mesh: "nvidia-smi topo -m" of a DGX-1 with V100, printed in NVIDIA's DGX-1
 * system architecture whitepaper (WP-08437) as a picture. Every card has 6. */
static unsigned mesh_links(size_t a, size_t b)
{
	static const unsigned char links[8][8] = {
		{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
		{2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
	};

	return a / 8 == b / 8 ? links[a % 8][b % 8] : 0;
}

struct berth_link berth_sim_fleet_link(const struct berth_sim_fleet *fleet, size_t a, size_t b)
{
	const struct berth_sim_model *x = fleet->model[a];
	const struct berth_sim_model *y = fleet->model[b];
	struct berth_link link = {.a = (uint16_t)a, .b = (uint16_t)b, .kind = BERTH_LINK_PCIE};
	unsigned n = 0;

	if (x == y && x->layout == BERTH_SIM_SWITCH)
		n = 1;
	else if (x == y && x->layout == BERTH_SIM_PAIRS)
		n = a / 2 == b / 2;
	else if (x == y && x->layout == BERTH_SIM_CUBE_MESH)
		n = mesh_links(a, b);
	link.mbyte_per_s = x->pcie_mbyte_per_s < y->pcie_mbyte_per_s ? x->pcie_mbyte_per_s : y->pcie_mbyte_per_s;
	if (n > 0) {
		link.kind = x->layout == BERTH_SIM_SWITCH ? BERTH_LINK_NVSWITCH : BERTH_LINK_NVLINK;
		link.mbyte_per_s = n * x->link_mbyte_per_s;
	}
	return link;
}
