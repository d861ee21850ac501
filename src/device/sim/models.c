#include <strings.h>
#include "device/sim/sim.h"

#define GIB (1024ull * 1024 * 1024)

/* PCI Express, 16 lanes, one direction: transfers per second x 16 lanes x 128/130 coding / 8 bits (PCI-SIG base
 * specification: 8, 16 and 32 GT/s for generations 3, 4 and 5). */
#define PCIE_3 15754u
#define PCIE_4 31508u
#define PCIE_5 63015u

/* Memory: the size in the model's name, taken as GiB (a real card shows a little less). SM counts and NVLink rates:
 *   V100     NVIDIA Tesla V100 architecture whitepaper (WP-08608): 80 SMs, 6 links of 25 GB/s each way
 *   T4       NVIDIA Turing architecture whitepaper (WP-09183): 40 SMs; PCIe 3
 *   A100     NVIDIA A100 architecture whitepaper (V1.0): 108 SMs, 12 links, 600 GB/s both ways together
 *   A30      NVIDIA A30 datasheet: NVLink bridge 200 GB/s both ways together; 3,584 CUDA cores, 64 an SM
 *   A40      NVIDIA A40 datasheet: NVLink bridge 112.5 GB/s both ways together; 10,752 cores, 128 an SM
 *   A10      NVIDIA Ampere GA102 whitepaper (V2): 9,216 cores, 128 an SM; PCIe 4
 *   L4, L40S NVIDIA L4 and L40S datasheets: 7,424 and 18,176 cores, 128 an SM; PCIe 4
 *   RTX4090  NVIDIA Ada GPU architecture whitepaper (V2): 128 SMs; PCIe 4
 *   H100     NVIDIA H100 architecture whitepaper (V1.04), SXM5: 132 SMs, 900 GB/s both ways together
 *   H200     NVIDIA H200 datasheet, SXM: 141 GB, 900 GB/s both ways together; the SMs of H100 SXM5
 * An even half of "both ways together" is one direction. */
const struct berth_sim_model berth_sim_models[] = {
	{"V100-16GB", 16 * GIB, 80, BERTH_SIM_CUBE_MESH, 25000, PCIE_3},
	{"V100-32GB", 32 * GIB, 80, BERTH_SIM_CUBE_MESH, 25000, PCIE_3},
	{"T4", 16 * GIB, 40, BERTH_SIM_PCIE, 0, PCIE_3},
	{"A10", 24 * GIB, 72, BERTH_SIM_PCIE, 0, PCIE_4},
	{"A30", 24 * GIB, 56, BERTH_SIM_PAIRS, 100000, PCIE_4},
	{"A40", 48 * GIB, 84, BERTH_SIM_PAIRS, 56250, PCIE_4},
	{"A100-40GB", 40 * GIB, 108, BERTH_SIM_SWITCH, 300000, PCIE_4},
	{"A100-80GB", 80 * GIB, 108, BERTH_SIM_SWITCH, 300000, PCIE_4},
	{"L4", 24 * GIB, 58, BERTH_SIM_PCIE, 0, PCIE_4},
	{"L40S", 48 * GIB, 142, BERTH_SIM_PCIE, 0, PCIE_4},
	{"RTX4090", 24 * GIB, 128, BERTH_SIM_PCIE, 0, PCIE_4},
	{"H100-80GB", 80 * GIB, 132, BERTH_SIM_SWITCH, 450000, PCIE_5},
	{"H200", 141 * GIB, 132, BERTH_SIM_SWITCH, 450000, PCIE_5},
	{0},
};

const struct berth_sim_model *berth_sim_model_find(const char *name)
{
	for (const struct berth_sim_model *model = berth_sim_models; model->name; model++)
		if (strcasecmp(model->name, name) == 0)
			return model;
	return NULL;
}
