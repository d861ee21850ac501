#include <string.h>
#include "device/device.h"
#include "device/sim/sim.h"

const struct berth_driver_ops *const berth_drivers[] = {
	&berth_driver_sim,
	NULL,
};

const struct berth_driver_ops *berth_driver_find(const char *name)
{
	for (size_t i = 0; berth_drivers[i]; i++)
		if (berth_drivers[i]->abi == BERTH_DEVICE_ABI && strcmp(berth_drivers[i]->name, name) == 0)
			return berth_drivers[i];
	return NULL;
}
