#ifndef BERTH_DEVICE_SIM_SIM_H
#define BERTH_DEVICE_SIM_SIM_H
/* Simulated devices: for trying berth on a machine without cards, and for tests. They compute nothing; they show what a
 * card of that model would show under the loads that are told to it.
 *
 * Argument: "8xA100-80GB", several with "+" ("4xA100-80GB+2xL40S"; "L40S" alone is one card), or the path of a YAML
 * file (ends in .yaml or .yml):
 *   devices: [{model: A100-80GB, count: 8}]
 * Models: berth_sim_models. At most BERTH_SIM_CARDS_MAX cards, as many as the widest servers hold.
 *
 * UUIDs: "SIM-" and 128 bits made from the identity and the card's index, in the form of an RFC 9562 version 8 UUID:
 * stable over restarts, different for another identity.
 *
 * Load profile of a job: phases "SECONDS:UTIL:MEM" in time order, the first at 0: "0:10:2G,30:95:40G"; UTIL 0..100
 * (a % sign behind it is allowed), MEM a size; the last phase holds until the job leaves. A job that declares none ("")
 * counts as 90 % and 60 % of the memory. A busy card's utilisation moves a little with time, the same way in every run.
 * Several holders of one card add up, to at most what the card has.
 *
 * Injections (berth admin sim GPU WORDS):
 *   util PERCENT | util auto    show this utilisation whatever the loads are | show the loads again
 *   mem SIZE | mem auto         the same for used memory
 *   lost                        the card has fallen off the bus: health LOST, nothing else known
 *   hang SECONDS                the next reading of this card sleeps, so that the probe does not answer
 *   recover                     neither lost nor hanging any more
 */
#include "device/device.h"

#define BERTH_SIM_CARDS_MAX 16

/* How the cards of one model are joined inside a server. Every other pair has PCI Express alone. */
enum berth_sim_layout {
	BERTH_SIM_PCIE = 0,
	BERTH_SIM_PAIRS,     /* a bridge joins cards 0-1, 2-3, … */
	BERTH_SIM_CUBE_MESH, /* hybrid cube mesh of eight, one or two links a pair */
	BERTH_SIM_SWITCH,    /* NVSwitch: all to all at full rate */
};

struct berth_sim_model {
	const char *name;
	uint64_t mem_bytes;
	uint32_t sm_count;
	enum berth_sim_layout layout;
	uint32_t link_mbyte_per_s; /* one direction, all links of a pair together; CUBE_MESH: of one link; PCIE: 0 */
	uint32_t pcie_mbyte_per_s; /* one direction */
};
/* An entry without name ends it. Sources stand beside the table. */
extern const struct berth_sim_model berth_sim_models[];
/* By name, without regard to case; NULL when there is none. */
const struct berth_sim_model *berth_sim_model_find(const char *name);

extern const struct berth_driver_ops berth_driver_sim;

/* Would the driver open with this argument? 0; -EINVAL, or the errno of the file, with what is wrong and where. */
BERTH_MUST_USE int berth_sim_arg_check(const char *arg, struct berth_error *err);

/* Check a load profile as a user writes it: 0 or -EINVAL with what is wrong. Also for the submit path, in other
 * processes. */
BERTH_MUST_USE int berth_sim_profile_check(const char *profile, struct berth_error *err);
/* Check the words of an injection: 0 or -EINVAL naming the known ones. */
BERTH_MUST_USE int berth_sim_inject_check(const char *what, struct berth_error *err);
#endif
