#include <stdio.h>
#include <string.h>
#include "backend/plugin.h"
#include "backend/remote/backend.h"
#include "backend/vendor.h"
#include "front/choose.h"
#include "front/front.h"
#include "util/place.h"
#include "wire/trace.h"

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

static bool has_gpu(char *device, size_t size)
{
	snprintf(device, size, "nvidia");
	return vendor_has_device();
}

static bool always(char *device, size_t size)
{
	snprintf(device, size, "cpu");
	return true;
}

/* In the order tried when nothing is asked for; `automatic` says whether this machine has it, and its name. */
static const struct choice {
	const char *name; /* GANGWAY_DEVICE, or what stands in it before a colon */
	bool (*automatic)(char *device, size_t size);
	const struct backend *(*get)(const char *name, char *why, size_t size);
} choices[] = {
	{"unix", place_find, get_remote}, /* a daemon that runs here */
	{"nvidia", has_gpu, get_nvidia},
	{"cpu", always, plugin_backend},
	{"null", NULL, plugin_backend},
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

static CUresult choose_asked(const char *name, const struct backend **backend, struct cuda_ops *table, char *why,
	size_t size)
{
	refuse_name(name, why, size);
	for (size_t i = 0; i < COUNT; i++)
		if (names(name, choices[i].name))
			return try(&choices[i], name, backend, table, why, size);
	return CUDA_ERROR_NO_DEVICE;
}

/* What does not work is passed over, and the trace says why. */
static CUresult choose_first(const struct backend **backend, struct cuda_ops *table, char *why, size_t size)
{
	CUresult r = CUDA_ERROR_NO_DEVICE;
	char device[256];

	snprintf(why, size, "no GPU here, and GANGWAY_DEVICE names no other device");
	for (size_t i = 0; i < COUNT && r; i++) {
		if (!choices[i].automatic || !choices[i].automatic(device, sizeof device))
			continue;
		memset(table, 0, sizeof *table);
		r = try(&choices[i], device, backend, table, why, size);
		if (r)
			trace_note("passing over %s: %s", device, why);
	}
	return r;
}

CUresult choose_device(const char *name, const struct backend **backend, struct cuda_ops *table, char *why,
	size_t size)
{
	if (name && *name)
		return choose_asked(name, backend, table, why, size);
	return choose_first(backend, table, why, size);
}
