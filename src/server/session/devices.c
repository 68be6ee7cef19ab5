/* Describes the devices once: the client answers questions about their constant properties itself. */
#include "server/session/message.h"
#include "wire/devices.h"

static CUresult device_describe(const struct cuda_ops *ops, CUdevice dev, struct wire_device *d)
{
	CUresult r = ops->cuDeviceGetName(d->name, sizeof d->name - 1, dev);

	if (!r)
		r = ops->cuDeviceTotalMem_v2(&d->memory, dev);
	if (!r)
		r = ops->cuDeviceGetUuid_v2 ? ops->cuDeviceGetUuid_v2(&d->uuid, dev)
					    : ops->cuDeviceGetUuid(&d->uuid, dev);
	if (!r)
		r = ops->cuDeviceGetPCIBusId(d->pci, sizeof d->pci - 1, dev);
	for (int a = 1; a < WIRE_ATTRIBUTES && !r; a++)
		d->known[a] = ops->cuDeviceGetAttribute(&d->attribute[a], a, dev) == CUDA_SUCCESS;
	return r;
}

void serve_devices(const struct cuda_ops *ops, struct msg *m)
{
	struct wire_devices *all = msg_out(m, true, sizeof *all);
	int count = 0;

	m->error = CUDA_SUCCESS; /* needs no context */
	if (!all || msg_bad(m))
		return;
	CUresult r = ops->cuInit(0);
	if (ops->cuDriverGetVersion(&all->version))
		all->version = 0; /* one of our devices: the client's front has its version */
	if (!r)
		r = ops->cuDeviceGetCount(&count);
	all->count = count < WIRE_DEVICES_MAX ? count : WIRE_DEVICES_MAX;
	for (int i = 0; i < all->count && !r; i++)
		r = device_describe(ops, i, &all->device[i]);
	msg_result(m, r);
}
