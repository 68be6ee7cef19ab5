/* Devices: the server describes them when the link is opened, and queries are answered from that. */
#include <stdio.h>
#include "backend/remote/session/remote.h"

const struct wire_device *device_find(CUdevice dev)
{
	return dev >= 0 && dev < client->devices->count ? &client->devices->device[dev] : NULL;
}

CUresult remote_cuInit(unsigned int flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : client->devices->count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult remote_cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_find(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetCount(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = client->devices->count;
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	const struct wire_device *d = device_find(dev);

	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, len, "%s", d->name);
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	const struct wire_device *d = device_find(dev);

	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	*uuid = d->uuid;
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return remote_cuDeviceGetUuid_v2(uuid, dev);
}

CUresult remote_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const struct wire_device *d = device_find(dev);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = d->memory;
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice dev)
{
	const struct wire_device *d = device_find(dev);

	if (!value || (int)attribute <= 0 || attribute >= WIRE_ATTRIBUTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!d->known[attribute])
		return CUDA_ERROR_INVALID_VALUE;
	*value = d->attribute[attribute];
	return CUDA_SUCCESS;
}

CUresult remote_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	const struct wire_device *d = device_find(dev);

	if (!id || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!d)
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(id, len, "%s", d->pci);
	return CUDA_SUCCESS;
}
