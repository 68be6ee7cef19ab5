/*
 * Devices: initialising them, and the entry points that describe them.
 */
#include "backend/soft/core/soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/core/device.h"
#include "cuda/format.h"
#include "host/machine.h"
#include "host/pci.h"
#include "cuda/visible.h"

struct device *device_find(CUdevice dev)
{
	return dev >= 0 && dev < soft.ndevices ? &soft.devices[dev] : NULL;
}

static CUresult device_init(struct device *d, int ordinal, int physical)
{
	pthread_mutexattr_t attr;

	d->ordinal = ordinal;
	d->physical = physical;
	describe_uuid(soft.engine->name, physical, (unsigned char *)d->uuid.bytes);
	describe_device(soft.engine->describe, physical, &d->info);
	if (!d->info.multiprocessors)
		d->info.multiprocessors = (int)soft_parallelism();
	d->memory = describe_memory(soft.config.memory);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&d->primary_lock, &attr);
	pthread_mutexattr_destroy(&attr);
	d->primary = context_create(d, CU_CTX_SCHED_AUTO, true);
	return d->primary ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult devices_open(void)
{
	unsigned char uuids[MAX_DEVICES][16];
	int physical[MAX_DEVICES];
	int n = soft.config.devices < 1 ? 1 : soft.config.devices;

	if (n > MAX_DEVICES)
		n = MAX_DEVICES;
	for (int i = 0; i < n; i++)
		describe_uuid(soft.engine->name, i, uuids[i]);
	n = visible_devices(soft.config.visible, n, uuids, physical);
	for (int i = 0; i < n; i++) {
		CUresult r = device_init(&soft.devices[i], i, physical[i]);

		if (r)
			return r;
	}
	soft.ndevices = n;
	return CUDA_SUCCESS;
}

/* ---- entry points ---- */

CUresult device_enter(CUdevice dev, const void *out, struct device **d)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*d = device_find(dev);
	return *d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult soft_cuDeviceGetCount(int *count)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = soft.ndevices;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGet(CUdevice *out, int ordinal)
{
	struct device *d;
	CUresult r = device_enter(ordinal, out, &d);

	if (!r)
		*out = d->ordinal;
	return r;
}

CUresult soft_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	struct device *d;
	CUresult r = len > 0 ? device_enter(dev, name, &d) : CUDA_ERROR_INVALID_VALUE;

	if (!r)
		snprintf(name, len, "%s", d->info.name);
	return r;
}

CUresult soft_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, uuid, &d);

	if (!r)
		*uuid = d->uuid;
	return r;
}

CUresult soft_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return soft_cuDeviceGetUuid(uuid, dev);
}

CUresult soft_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, bytes, &d);

	if (!r)
		*bytes = d->memory;
	return r;
}

CUresult soft_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	struct device *d;
	CUresult r = minor ? device_enter(dev, major, &d) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	*major = d->info.major;
	*minor = d->info.minor;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	struct device *d;
	CUresult r = len > 0 ? device_enter(dev, id, &d) : CUDA_ERROR_INVALID_VALUE;

	if (!r && snprintf(id, len, "0000:%02x:00.0", describe_bus(d->physical)) >= len)
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult soft_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	struct pci_address a;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!dev || !id || !pci_parse(id, &a))
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < soft.ndevices; i++)
		if (!a.domain && !a.device && !a.function && a.bus == describe_bus(soft.devices[i].physical)) {
			*dev = i;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_DEVICE;
}

CUresult soft_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, pi, &d);

	if (r)
		return r;
	if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = 0;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels, CUdevice dev)
{
	struct device *d;
	CUresult r = device_enter(dev, width, &d);

	if (r)
		return r;
	if (!format_channel(format) || (channels != 1 && channels != 2 && channels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	*width = 1u << 28;
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	struct device *d;
	CUresult r = device_enter(dev, can, &d);

	if (r)
		return r;
	if (!device_find(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = dev != peer; /* all devices share host memory */
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice src, CUdevice dst)
{
	struct device *d;
	CUresult r = device_enter(src, value, &d);

	if (r)
		return r;
	if (!device_find(dst) || src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
