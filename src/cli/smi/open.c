/* Load NVML and select the devices. */
#include "cli/smi/smi.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/device_query.h"
#include "cuda/nvml_errors.h"
#include "host/pci.h"
#include "wire/names.h"

/* NVML's error code says only that there is no device; the reason is in the notes of our driver. */
static void report_no_device(nvmlReturn_t r)
{
	const char *device = getenv("GANGWAY_DEVICE");
	char dir[PATH_MAX], path[PATH_MAX + 32];
	struct device_facts facts = {0};
	struct sysroot sys;

	if (cli_library_dir(dir, sizeof dir) && !sysroot_init(&sys, NULL)) {
		snprintf(path, sizeof path, "%s/libcuda.so.1", dir);
		device_query(&sys, path, device ? device : "", &facts);
		sysroot_finish(&sys);
	}
	cli_fail("found no device%s%s: %s", device && *device ? " on " : "", device ? device : "",
		!facts.opened && *facts.why ? facts.why : nvml_result_words(r));
}

static bool load_nvml(struct smi *s)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	void **slots = (void **)&s->f, *library;

	if (cli_require_libraries(dir, sizeof dir))
		return false;
	snprintf(path, sizeof path, "%s/libnvidia-ml.so.1", dir);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		cli_fail("%s", dlerror());
		return false;
	}
	for (int i = 0; i < nvml_OP_COUNT; i++)
		slots[i] = dlsym(library, nvml_names[i]);
	return true;
}

static void read_versions(struct smi *s)
{
	int v = 0;

	if (s->f.nvmlSystemGetDriverVersion(s->driver, sizeof s->driver))
		snprintf(s->driver, sizeof s->driver, "N/A");
	if (s->f.nvmlSystemGetCudaDriverVersion_v2(&v))
		snprintf(s->cuda, sizeof s->cuda, "N/A");
	else
		snprintf(s->cuda, sizeof s->cuda, "%d.%d", v / 1000, v % 1000 / 10);
}

static bool gpu_add(struct smi *s, nvmlDevice_t d)
{
	struct smi_gpu *g = &s->gpu[s->count];

	if (s->count == SMI_DEVICES)
		return true;
	*g = (struct smi_gpu){.f = &s->f, .device = d, .count = s->all};
	s->f.nvmlDeviceGetIndex(d, &g->index);
	s->count += !s->f.nvmlDeviceGetPciInfo_v3(d, &g->pci);
	return true;
}

/* `id` is an index, a UUID or a PCI address. */
static bool gpu_add_by_id(struct smi *s, const char *id)
{
	struct pci_address a;
	nvmlDevice_t d;
	char *end;
	unsigned long index = strtoul(id, &end, 10);

	if (*id && !*end)
		return !s->f.nvmlDeviceGetHandleByIndex_v2((unsigned)index, &d) && gpu_add(s, d);
	if (strchr(id, ':') && pci_parse(id, &a))
		return !s->f.nvmlDeviceGetHandleByPciBusId_v2(id, &d) && gpu_add(s, d);
	return !s->f.nvmlDeviceGetHandleByUUID(id, &d) && gpu_add(s, d);
}

static int find_gpus_by_id(struct smi *s, const char *ids)
{
	char one[128];

	while (*ids) {
		size_t n = strcspn(ids, ",");
		snprintf(one, sizeof one, "%.*s", (int)n, ids);
		if (!gpu_add_by_id(s, one)) {
			fprintf(stderr, "gangway: there is no device %s; gangway smi -L lists the devices\n", one);
			return NVML_ERROR_NOT_FOUND;
		}
		ids += n + (ids[n] == ',');
	}
	return 0;
}

int smi_open(struct smi *s, const char *ids)
{
	nvmlDevice_t d;

	if (!load_nvml(s))
		return NVML_ERROR_LIBRARY_NOT_FOUND;
	nvmlReturn_t r = s->f.nvmlInit_v2();
	if (r) {
		report_no_device(r);
		return r;
	}
	read_versions(s);
	if (s->f.nvmlDeviceGetCount_v2(&s->all))
		s->all = 0;
	if (ids)
		return find_gpus_by_id(s, ids);
	for (unsigned i = 0; i < s->all; i++)
		if (!s->f.nvmlDeviceGetHandleByIndex_v2(i, &d))
			gpu_add(s, d);
	return 0;
}

void smi_time(char *text, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(text, size, "%a %b %e %H:%M:%S %Y", &tm);
}
