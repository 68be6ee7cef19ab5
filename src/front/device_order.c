/* The order in which devices are tried. */
#include <stdio.h>
#include <string.h>
#include "backend/vendor.h"
#include "front/device_order.h"
#include "transport/default_socket.h"

static bool gpu_find(char *device, size_t size)
{
	snprintf(device, size, "nvidia");
	return vendor_has_device();
}

static bool cpu_find(char *device, size_t size)
{
	snprintf(device, size, "cpu");
	return true;
}

/* In the order tried without GANGWAY_DEVICE.  Kinds whose `find` is NULL are used only by name. */
static const struct device_kind {
	const char *kind;                        /* GANGWAY_DEVICE, up to its colon */
	bool (*find)(char *device, size_t size); /* false: this machine has none; otherwise sets the full name */
} kinds[] = {
	{"unix", default_socket_find}, /* a server on this machine */
	{"nvidia", gpu_find},
	{"cpu", cpu_find},
	{"null", NULL},
	{"tcp", NULL},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static bool is_kind(const char *device, const char *kind)
{
	size_t n = strlen(kind);

	return !strncmp(device, kind, n) && (device[n] == 0 || device[n] == ':');
}

static void explain_unknown(const char *device, char *why, size_t size)
{
	snprintf(why, size, "GANGWAY_DEVICE=%s is not a device; use nvidia, cpu, null, unix:PATH or tcp://HOST:PORT",
		device);
}

bool device_order_begin(struct device_order *o, const char *name, char *why, size_t size)
{
	*o = (struct device_order){.asked = name && *name};
	if (!o->asked) {
		snprintf(why, size, "this machine has no GPU, and GANGWAY_DEVICE is not set");
		return true;
	}
	explain_unknown(name, why, size);
	for (size_t i = 0; i < KINDS; i++)
		if (is_kind(name, kinds[i].kind))
			o->kind = kinds[i].kind;
	return o->kind && snprintf(o->device, sizeof o->device, "%s", name) < (int)sizeof o->device;
}

bool device_order_next(struct device_order *o)
{
	if (o->asked)
		return o->next++ == 0;
	while (o->next < KINDS) {
		const struct device_kind *k = &kinds[o->next++];

		o->kind = k->kind;
		if (k->find && k->find(o->device, sizeof o->device))
			return true;
	}
	return false;
}
