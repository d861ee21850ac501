#include <stddef.h>
#include <string.h>
#include "core/reason.h"

const char *const berth_reason_names[BERTH_REASON_COUNT] = {
	[BERTH_REASON_NONE] = "None",
	[BERTH_REASON_STARTING] = "Starting",
	[BERTH_REASON_HELD] = "JobHeldUser",
	[BERTH_REASON_BEGIN_TIME] = "BeginTime",
	[BERTH_REASON_BACK_OFF] = "BackOff",
	[BERTH_REASON_RESOURCES] = "Resources",
	[BERTH_REASON_PRIORITY] = "Priority",
	[BERTH_REASON_NO_DEVICES] = "NoDevices",
	[BERTH_REASON_STOPPING] = "Stopping",
	[BERTH_REASON_TOO_MANY_GPUS] = "TooManyGpus",
	[BERTH_REASON_NO_SUCH_MODEL] = "NoSuchModel",
	[BERTH_REASON_GPU_TOO_SMALL] = "GpuTooSmall",
	[BERTH_REASON_NO_SUCH_INDEX] = "NoSuchIndex",
	[BERTH_REASON_NO_NODE] = "NoNode",
	[BERTH_REASON_DEVICE_FREE] = "DeviceFree",
	[BERTH_REASON_DEVICE_BUSY] = "DeviceBusy",
	[BERTH_REASON_DEVICE_RESERVED] = "DeviceReserved",
	[BERTH_REASON_DEVICE_DRAINED] = "DeviceDrained",
	[BERTH_REASON_DEVICE_LOST] = "DeviceLost",
	[BERTH_REASON_DEVICE_MODEL] = "DeviceModel",
	[BERTH_REASON_DEVICE_MEMORY] = "DeviceMemory",
	[BERTH_REASON_DEVICE_INDEX] = "DeviceIndex",
	[BERTH_REASON_EXIT_CODE] = "NonZeroExitCode",
	[BERTH_REASON_SIGNALED] = "RaisedSignal",
	[BERTH_REASON_TIME_LIMIT] = "TimeLimit",
	[BERTH_REASON_CANCELLED] = "Cancelled",
	[BERTH_REASON_REQUEUED] = "Requeued",
	[BERTH_REASON_PREEMPTED] = "Preempted",
	[BERTH_REASON_DEVICE_FAILED] = "DeviceFailed",
	[BERTH_REASON_OUT_OF_MEMORY] = "OutOfMemory",
	[BERTH_REASON_EXIT_CODE_UNKNOWN] = "ExitCodeUnknown",
	[BERTH_REASON_LAUNCH_FAILED] = "JobLaunchFailure",
	[BERTH_REASON_OUTPUT_FAILED] = "OutputFailed",
	[BERTH_REASON_EXEC_FAILED] = "ExecFailed",
};

static const char *const param_names[BERTH_REASON_COUNT][3] = {
	[BERTH_REASON_BEGIN_TIME] = { "at_ms" },
	[BERTH_REASON_BACK_OFF] = { "at_ms", "failures" },
	[BERTH_REASON_RESOURCES] = { "asked", "free", "suiting" },
	[BERTH_REASON_PRIORITY] = { "job" },
	[BERTH_REASON_NO_DEVICES] = { "asked", "out_of_service", "in_service" },
	[BERTH_REASON_STOPPING] = { "deadline_ms" },
	[BERTH_REASON_TOO_MANY_GPUS] = { "asked", "most" },
	[BERTH_REASON_GPU_TOO_SMALL] = { "asked_bytes", "most_bytes" },
	[BERTH_REASON_NO_SUCH_INDEX] = { "asked_mask", "known_mask" },
	[BERTH_REASON_DEVICE_BUSY] = { "job", "latest_end_ms" },
	[BERTH_REASON_DEVICE_RESERVED] = { "job", "latest_start_ms" },
	[BERTH_REASON_DEVICE_MEMORY] = { "asked_bytes", "has_bytes" },
	[BERTH_REASON_EXIT_CODE] = { "exit_code" },
	[BERTH_REASON_SIGNALED] = { "signal" },
	[BERTH_REASON_TIME_LIMIT] = { "limit_ms" },
	[BERTH_REASON_DEVICE_FAILED] = { "device" },
	[BERTH_REASON_LAUNCH_FAILED] = { "errno" },
	[BERTH_REASON_OUTPUT_FAILED] = { "errno" },
	[BERTH_REASON_EXEC_FAILED] = { "errno" },
};

const char *berth_reason_name(enum berth_reason_code code)
{
	return code < BERTH_REASON_COUNT ? berth_reason_names[code] : "";
}

enum berth_reason_code berth_reason_from_name(const char *name)
{
	for (unsigned code = 0; code < BERTH_REASON_COUNT; code++) {
		if (strcmp(name, berth_reason_names[code]) == 0)
			return (enum berth_reason_code)code;
	}
	return BERTH_REASON_COUNT;
}

const char *const *berth_reason_param_names(enum berth_reason_code code)
{
	return param_names[code < BERTH_REASON_COUNT ? code : BERTH_REASON_NONE];
}
