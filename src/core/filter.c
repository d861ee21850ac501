#include "core/filter.h"

uint64_t berth_filter_index_bit(uint32_t index)
{
	return index < 64 ? (uint64_t)1 << index : 0;
}

static enum berth_reason_code obstacle(const struct berth_request *request, const struct berth_device_rec *rec)
{
	if (*request->gpu_model && request->gpu_model != rec->model_lower)
		return BERTH_REASON_DEVICE_MODEL;
	if (request->gpu_mem_bytes > rec->device.mem_bytes)
		return BERTH_REASON_DEVICE_MEMORY;
	if (request->index_mask && !(request->index_mask & berth_filter_index_bit(rec->device.index)))
		return BERTH_REASON_DEVICE_INDEX;
	return BERTH_REASON_NONE;
}

bool berth_filter_suits(const struct berth_shape *shape, const struct berth_device_rec *rec, struct berth_reason *ret)
{
	enum berth_reason_code code = obstacle(&shape->request, rec);

	if (code == BERTH_REASON_NONE)
		return true;
	if (ret)
		*ret = (struct berth_reason){ .code = code };
	if (ret && code == BERTH_REASON_DEVICE_MEMORY) {
		ret->a = shape->request.gpu_mem_bytes;
		ret->b = rec->device.mem_bytes;
	}
	return false;
}

bool berth_filter_is_in_service(const struct berth_device *device)
{
	return device->health == BERTH_HEALTH_OK && !device->is_draining;
}
