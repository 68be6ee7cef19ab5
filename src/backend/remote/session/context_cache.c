/* Properties of contexts and devices that seldom change: asked for once. */
#include <strings.h>
#include "backend/remote/session/remote.h"

CUresult remote_cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct context *c = context_current();
	unsigned i = (unsigned)limit;
	CUresult r;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!c)
		return context_none();
	if (i < CONTEXT_LIMITS && c->limits_known >> i & 1) {
		*value = c->limits[i];
		return CUDA_SUCCESS;
	}
	r = call_cuCtxGetLimit(value, limit);
	if (!r && i < CONTEXT_LIMITS) {
		c->limits[i] = *value;
		atomic_fetch_or(&c->limits_known, 1u << i);
	}
	return r;
}

/* The device rounds a limit, and setting one may change another: all are asked for again. */
CUresult remote_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *c = context_current();
	CUresult r = call_cuCtxSetLimit(limit, value);

	if (c)
		c->limits_known = 0;
	return r;
}

CUresult remote_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct context *c = context_current();
	CUresult r;
	int low, high;

	if (!c)
		return context_none();
	if (!atomic_load_explicit(&c->priorities_known, memory_order_acquire)) {
		r = call_cuCtxGetStreamPriorityRange(&low, &high);
		if (r)
			return r;
		c->least_priority = low;
		c->greatest_priority = high;
		c->priorities_known = true;
	}
	if (least)
		*least = c->least_priority;
	if (greatest)
		*greatest = c->greatest_priority;
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
	if (!device || !id)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < client->devices->count; i++)
		if (!strcasecmp(client->devices->device[i].pci, id)) {
			*device = i;
			return CUDA_SUCCESS;
		}
	return call_cuDeviceGetByPCIBusId(device, id); /* the id may be in a shorter form */
}
