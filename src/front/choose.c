#include <stdio.h>
#include <string.h>
#include "backend/plugin.h"
#include "backend/remote/backend.h"
#include "backend/vendor.h"
#include "front/choose.h"
#include "front/front.h"

static const struct backend *get_nvidia(const char *name, char *why, size_t size)
{
	(void)name, (void)why, (void)size;
	return &nvidia_backend;
}

static const struct backend *get_remote(const char *name, char *why, size_t size)
{
	(void)why, (void)size;
	return !strcmp(name, "unix") ? &unix_backend : &tcp_backend;
}

static bool always(void)
{
	return true;
}

/* In the order tried when nothing is asked for; `automatic` says whether this machine has what it needs. */
static const struct choice {
	const char *name; /* GANGWAY_DEVICE, or what stands in it before a colon */
	bool (*automatic)(void);
	const struct backend *(*get)(const char *name, char *why, size_t size);
} choices[] = {
	{"nvidia", vendor_has_device, get_nvidia},
	{"cpu", NULL, plugin_backend},
	{"cpu", always, plugin_backend},
	{"null", NULL, plugin_backend},
	{"unix", NULL, get_remote},
	{"tcp", NULL, get_remote},
};

#define COUNT (sizeof choices / sizeof *choices)

static CUresult try(const struct choice *c, const char *device, const struct backend **backend, struct cuda_ops *table,
	char *why, size_t size)
{
	*backend = c->get(c->name, why, size);
	return *backend ? (*backend)->open(device, table, front_storage_drop, why, size) : CUDA_ERROR_NO_DEVICE;
}

static bool names(const char *device, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(device, name, n) && (device[n] == 0 || device[n] == ':');
}

static void refuse_name(const char *device, char *why, size_t size)
{
	size_t used = snprintf(why, size, "GANGWAY_DEVICE=%s is not a device; known:", device);

	for (size_t i = 0; i < COUNT && used < size; i++)
		used += snprintf(why + used, size - used, " %s", choices[i].name);
}

CUresult choose_device(const char *name, const struct backend **backend, struct cuda_ops *table, char *why,
	size_t size)
{
	CUresult r = CUDA_ERROR_NO_DEVICE;
	bool asked = name && *name;

	if (asked)
		refuse_name(name, why, size);
	else
		snprintf(why, size, "no GPU here, and GANGWAY_DEVICE names no other device");
	for (size_t i = 0; i < COUNT && r; i++) {
		const struct choice *c = &choices[i];
		if (asked ? !names(name, c->name) : !c->automatic || !c->automatic())
			continue;
		memset(table, 0, sizeof *table);
		r = try(c, asked ? name : c->name, backend, table, why, size);
	}
	return r;
}
