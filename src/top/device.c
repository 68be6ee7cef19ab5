/* Memory and utilisation of devices, from our NVML connected to the server. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "top/top.h"

/* The structs of NVML. */
struct nvml_memory {
	unsigned long long total, free, used;
};
struct nvml_utilization {
	unsigned gpu, memory;
};

static int (*get_handle)(const char *uuid, void **device);
static int (*get_memory)(void *device, struct nvml_memory *m);
static int (*get_busy)(void *device, struct nvml_utilization *b);

void top_open_nvml(const char *server, const char *library_dir)
{
	char path[4096 + 32];
	int (*init)(void);
	void *library;

	snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", library_dir);
	setenv("GANGWAY_DEVICE", server, 1);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	*(void **)&init = dlsym(library, "nvmlInit_v2");
	if (!init || init())
		return;
	*(void **)&get_memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
	*(void **)&get_busy = dlsym(library, "nvmlDeviceGetUtilizationRates");
	*(void **)&get_handle = dlsym(library, "nvmlDeviceGetHandleByUUID");
}

/* The used memory of a device with a quota, as our own worker last reported it. */
static bool used_memory_of_worker(const struct top *t, const struct top_device *d, uint64_t *used)
{
	for (unsigned i = 0; i < t->nlines; i++) {
		const struct top_client *c = &t->clients[i];
		if (c->pid != (int)getpid() || c->device != d->index || !c->looked)
			continue;
		*used = c->seen;
		return true;
	}
	return false;
}

/* Devices are matched by UUID, because their order may differ. */
void top_measure_devices(struct top *t)
{
	for (unsigned i = 0; get_handle && get_memory && i < t->ndevices; i++) {
		struct top_device *d = &t->devices[i];
		struct nvml_memory m;
		struct nvml_utilization b = {0};
		void *handle;

		if (get_handle(d->uuid, &handle) || get_memory(handle, &m))
			continue;
		d->measured = !d->quota || used_memory_of_worker(t, d, &d->used);
		if (!d->quota)
			d->used = m.used;
		d->busy = get_busy && !get_busy(handle, &b) ? b.gpu : 0;
	}
}
