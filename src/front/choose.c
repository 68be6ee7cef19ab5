#include <stdio.h>
#include <string.h>
#include "backend/vendor.h"
#include "front/choose.h"
#include "front/front.h"

/* `automatic` says whether this machine has what it needs; in the order tried when nothing is asked for. */
static const struct {
	const struct backend *backend;
	bool (*automatic)(void);
} backends[] = {
	{&nvidia_backend, vendor_has_device},
	{&null_backend, NULL},
};

#define COUNT (sizeof backends / sizeof *backends)

/* "null" names null; "unix:/run/x" names the backend called unix. */
static bool names(const char *device, const struct backend *b)
{
	size_t n = strlen(b->name);

	return !strncmp(device, b->name, n) && (device[n] == 0 || device[n] == ':');
}

static void list_names(char *out, size_t size)
{
	size_t used = 0;

	out[0] = 0;
	for (size_t i = 0; i < COUNT && used < size; i++)
		used += snprintf(out + used, size - used, "%s%s", i ? ", " : "", backends[i].backend->name);
}

static CUresult open_named(const char *name, const struct backend **backend, struct cuda_ops *table, char *why,
	size_t size)
{
	char known[128];

	for (size_t i = 0; i < COUNT; i++) {
		if (!names(name, backends[i].backend))
			continue;
		*backend = backends[i].backend;
		return (*backend)->open(name, table, front_storage_drop, why, size);
	}
	list_names(known, sizeof known);
	snprintf(why, size, "GANGWAY_DEVICE=%s is not a device; known: %s", name, known);
	return CUDA_ERROR_NO_DEVICE;
}

CUresult choose_device(const char *name, const struct backend **backend, struct cuda_ops *table, char *why,
	size_t size)
{
	if (name && *name)
		return open_named(name, backend, table, why, size);
	snprintf(why, size, "no GPU here, and GANGWAY_DEVICE names no other device");
	for (size_t i = 0; i < COUNT; i++) {
		if (!backends[i].automatic || !backends[i].automatic())
			continue;
		*backend = backends[i].backend;
		if (!(*backend)->open(backends[i].backend->name, table, front_storage_drop, why, size))
			return CUDA_SUCCESS;
		memset(table, 0, sizeof *table);
	}
	return CUDA_ERROR_NO_DEVICE;
}
