/*
 * Devices: how many there are, and what they are called.
 */
#include "backend/soft/soft.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/soft/device.h"
#include "util/format.h"
#include "util/machine.h"
#include "util/visible.h"

struct device *device_find(CUdevice dev)
{
	return dev >= 0 && dev < soft.ndevices ? &soft.devices[dev] : NULL;
}

static void describe(int physical, struct engine_device *info)
{
	*info = (struct engine_device){
		.name = "Gangway device",
		.major = 9,
		.minor = 0,
		.multiprocessors = soft_parallelism(),
		.clock_khz = machine_clock_khz(),
		.memory_khz = machine_clock_khz(),
		.memory_bits = 64,
		.cache = machine_cache(),
		.shared_per_block = 48 << 10,
		.shared_optin = 227 << 10,
		.shared_reserved = 1 << 10,
		.max_threads_per_block = 1024,
		.max_threads_per_multiprocessor = 2048,
		.max_blocks_per_multiprocessor = 32,
		.registers_per_block = 65536,
		.max_cluster_size = 8,
	};
	if (soft.engine->describe)
		soft.engine->describe(physical, info);
}

static void physical_uuid(int physical, unsigned char uuid[16])
{
	machine_uuid(soft.engine->name, physical, uuid);
}

static CUresult device_init(struct device *d, int ordinal, int physical)
{
	pthread_mutexattr_t attr;

	d->ordinal = ordinal;
	d->physical = physical;
	physical_uuid(physical, (unsigned char *)d->uuid.bytes);
	describe(physical, &d->info);
	d->memory = soft.config.memory ? soft.config.memory : machine_memory();
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
		physical_uuid(i, uuids[i]);
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

static CUresult device_enter(CUdevice dev, const void *out, struct device **d)
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

/* Device n sits alone on bus n + 1. */
CUresult soft_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	struct device *d;
	CUresult r = len > 0 ? device_enter(dev, id, &d) : CUDA_ERROR_INVALID_VALUE;

	if (!r && snprintf(id, len, "0000:%02x:00.0", d->physical + 1) >= len)
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

/* [domain:]bus:device[.function], in hexadecimal. */
CUresult soft_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus, device, function = 0;
	char rest;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x%c", &domain, &bus, &device, &function, &rest) != 4 &&
	    sscanf(id, "%x:%x:%x%c", &domain, &bus, &device, &rest) != 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x%c", &bus, &device, &function, &rest) != 3 &&
		    sscanf(id, "%x:%x%c", &bus, &device, &rest) != 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	for (int i = 0; i < soft.ndevices; i++)
		if (!domain && !device && !function && bus == (unsigned)soft.devices[i].physical + 1) {
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

CUresult soft_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
						 CUdevice dev)
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
	*can = dev != peer; /* all our devices share the host's memory */
	return CUDA_SUCCESS;
}

CUresult soft_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice src, CUdevice dst)
{
	struct device *d;
	CUresult r = device_enter(src, value, &d);

	if (r)
		return r;
	if (!device_find(dst))
		return CUDA_ERROR_INVALID_DEVICE;
	if (src == dst)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
		*value = 0;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 1;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}
