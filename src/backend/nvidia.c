/* The backend nvidia: the vendor driver's own functions, with nothing in between. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include "backend/backend.h"
#include "backend/vendor.h"
#include "gen/cuda_ops.h"
#include "util/build_note.h"
#include "wire/names.h"

/* An audit library (LD_AUDIT) may redirect the path to a library of ours, which would then call itself. */
static bool is_ourselves(void *library)
{
	struct link_map *map = NULL;
	char text[128];

	return !dlinfo(library, RTLD_DI_LINKMAP, &map) && map && build_note_read(map->l_name, text, sizeof text);
}

static CUresult open_nvidia(
	const char *device, struct cuda_ops *table, void (*ending)(CUcontext ctx), char *why, size_t size)
{
	static void *library;                      /* never closed: its threads and handlers stay */
	char path[PATH_MAX] = "the vendor driver"; /* opened before */
	void **slots = (void **)table;

	(void)device, (void)ending;
	if (!library && !vendor_find(path, sizeof path, why, size))
		return CUDA_ERROR_NO_DEVICE;
	if (!library)
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, size, "cannot load the vendor driver: %s", dlerror());
		return CUDA_ERROR_NO_DEVICE;
	}
	if (is_ourselves(library)) {
		snprintf(why, size, "the loader redirects the vendor driver to Gangway; unset LD_AUDIT, which is %s",
			secure_getenv("LD_AUDIT") ? secure_getenv("LD_AUDIT") : "");
		library = NULL;
		return CUDA_ERROR_NO_DEVICE;
	}
	for (int i = 0; i < cuda_OP_COUNT; i++)
		slots[i] = dlsym(library, cuda_names[i]);
	if (!table->cuInit) {
		snprintf(why, size, "%s has no cuInit: not a CUDA driver", path);
		return CUDA_ERROR_NO_DEVICE;
	}
	return CUDA_SUCCESS;
}

const struct backend nvidia_backend = {.name = "nvidia", .vendor = true, .open = open_nvidia};
