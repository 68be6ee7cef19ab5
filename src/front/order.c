#include <stdio.h>
#include <string.h>
#include "backend/vendor.h"
#include "front/order.h"
#include "transport/default_socket.h"

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
	const char *kind; /* GANGWAY_DEVICE, or what stands in it before a colon */
	bool (*automatic)(char *device, size_t size);
} choices[] = {
	{"unix", default_socket_find}, /* a daemon that runs here */
	{"nvidia", has_gpu},
	{"cpu", always},
	{"null", NULL},
	{"tcp", NULL},
};

#define COUNT (sizeof choices / sizeof *choices)

static bool names(const char *device, const char *kind)
{
	size_t n = strlen(kind);

	return !strncmp(device, kind, n) && (device[n] == 0 || device[n] == ':');
}

static void refuse(const char *device, char *why, size_t size)
{
	size_t used = snprintf(why, size, "GANGWAY_DEVICE=%s is not a device; known:", device);

	for (size_t i = 0; i < COUNT && used < size; i++)
		used += snprintf(why + used, size - used, " %s", choices[i].kind);
}

bool order_begin(struct order *o, const char *name, char *why, size_t size)
{
	*o = (struct order){.asked = name && *name};
	if (!o->asked) {
		snprintf(why, size, "no GPU here, and GANGWAY_DEVICE names no other device");
		return true;
	}
	refuse(name, why, size);
	for (size_t i = 0; i < COUNT; i++)
		if (names(name, choices[i].kind))
			o->kind = choices[i].kind;
	return o->kind && snprintf(o->device, sizeof o->device, "%s", name) < (int)sizeof o->device;
}

bool order_next(struct order *o)
{
	if (o->asked)
		return o->next++ == 0;
	while (o->next < COUNT) {
		const struct choice *c = &choices[o->next++];

		o->kind = c->kind;
		if (c->automatic && c->automatic(o->device, sizeof o->device))
			return true;
	}
	return false;
}
