#ifndef BERTH_DEVICE_SIM_FLEET_H
#define BERTH_DEVICE_SIM_FLEET_H
/* Which simulated cards there are: from the short form or the YAML file of sim.h, and how they are joined. */
#include "device/sim/sim.h"

struct berth_sim_fleet {
	size_t n;                                                 /* 1..BERTH_SIM_CARDS_MAX */
	const struct berth_sim_model *model[BERTH_SIM_CARDS_MAX]; /* by index; static */
};

/* Read the driver's argument. 0; -EINVAL with the place and the nearest model or key; the errno of the file. */
BERTH_MUST_USE int berth_sim_fleet_parse(const char *arg, struct berth_sim_fleet *ret, struct berth_error *err);

/* n more cards of a model. -EINVAL: no such model, or more than a server holds. For the two readers. */
BERTH_MUST_USE int berth_sim_fleet_add(struct berth_sim_fleet *fleet, const char *model, uint64_t n,
                                       struct berth_error *err);
/* The YAML form. text: the file's content, len bytes; name: what messages call it. */
BERTH_MUST_USE int berth_sim_fleet_parse_yaml(const char *text, size_t len, const char *name,
                                              struct berth_sim_fleet *ret, struct berth_error *err);

/* The link between cards a and b, a < b: NVLink or NVSwitch where the model's layout has one for this pair, else PCI
 * Express at the rate of the slower card. */
struct berth_link berth_sim_fleet_link(const struct berth_sim_fleet *fleet, size_t a, size_t b);
#endif
