#include "server/nvml/nvml.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/nvml/machine.h"
#include "backend/nvml/vendor.h"
#include "server/session/message.h"
#include "server/nvml/nvml_processes.h"
#include "server/nvml/nvml_quota.h"
#include "server/nvml/nvml_batch.h"
#include "cuda/slots.h"
#include "cuda/uuid.h"
#include "wire/nvml.h"

#define PARTS 64 /* of devices (MIG) that a client may name, beyond the devices themselves */

static const char *kind = "nvidia";
static struct nvml_ops table; /* complete once opened is set */
static bool opened, vendor;
static nvmlReturn_t failed;
static unsigned ndevices;
static nvmlDevice_t devices[WIRE_NVML_DEVICES_MAX], parts[PARTS];
static unsigned nparts;
static struct wire_nvml_devices identity; /* of these devices: never changes */

void nvml_device(const char *device)
{
	kind = device;
}

/* ---- opening: at the first call, or before it where that takes time ---- */

static nvmlReturn_t unsupported(void)
{
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t open_machine(void)
{
	char why[256];
	nvmlReturn_t r = machine_open(kind, getenv("CUDA_VISIBLE_DEVICES"), why, sizeof why);

	table = machine_ops;
	for (int i = 0; i < machine.count && i < WIRE_NVML_DEVICES_MAX; i++)
		devices[ndevices++] = NVML_HANDLE(i);
	return r;
}

/* The vendor's handle for each device that CUDA has, by its UUID. */
static nvmlReturn_t open_vendor(const struct cuda_ops *ops)
{
	char why[256], text[UUID_TEXT];
	nvmlReturn_t r = nvml_vendor_open(&table, why, sizeof why);
	int count = 0;
	CUuuid uuid;

	if (!r)
		r = table.nvmlInit_v2();
	if (!r && ops->cuDeviceGetCount(&count))
		r = NVML_ERROR_UNKNOWN;
	for (int i = 0; !r && i < count && i < WIRE_NVML_DEVICES_MAX; i++) {
		if (ops->cuDeviceGetUuid_v2(&uuid, i))
			return NVML_ERROR_UNKNOWN;
		uuid_text((const unsigned char *)uuid.bytes, text);
		r = table.nvmlDeviceGetHandleByUUID(text, &devices[i]);
		memcpy(text, "MIG", 3);
		if (r == NVML_ERROR_NOT_FOUND)
			r = table.nvmlDeviceGetHandleByUUID(text, &devices[i]);
		ndevices = (unsigned)i + 1;
	}
	vendor = true;
	return r;
}

static nvmlReturn_t describe(void)
{
	memset(&identity, 0, sizeof identity);
	identity.count = ndevices;
	for (unsigned i = 0; i < ndevices; i++) {
		struct wire_nvml_device *d = &identity.device[i];
		table.nvmlDeviceGetName(devices[i], d->name, sizeof d->name);
		table.nvmlDeviceGetUUID(devices[i], d->uuid, sizeof d->uuid);
		table.nvmlDeviceGetPciInfo_v3(devices[i], &d->pci);
	}
	return table.nvmlSystemGetDriverVersion(identity.driver, sizeof identity.driver);
}

static nvmlReturn_t open_once(const struct cuda_ops *ops)
{
	if (opened)
		return failed;
	opened = true;
	failed = strcmp(kind, "nvidia") ? open_machine() : open_vendor(ops);
	slots_fill(&table, (slot_fn)unsupported, nvml_OP_COUNT);
	nvml_quota_wrap(&table, devices, ndevices);
	if (!failed)
		failed = describe();
	return failed;
}

void nvml_warm_up(const struct cuda_ops *ops)
{
	if (strcmp(kind, "nvidia") || !open_once(ops))
		return;
	opened = false; /* a client may have more luck */
	ndevices = 0;
}

/* ---- the plain calls: generated, with what is ours in place of CUDA's ---- */

struct nvml_served {
	unsigned op;
	void (*serve)(const struct nvml_ops *ops, struct msg *m);
	bool waits;
};

static nvmlDevice_t find_device(uint64_t id)
{
	int i = nvml_handle_index((nvmlDevice_t)(uintptr_t)id, WIRE_NVML_DEVICES_MAX + PARTS);

	if (i >= 0 && (unsigned)i < ndevices)
		return devices[i];
	i -= WIRE_NVML_DEVICES_MAX;
	return i >= 0 && (unsigned)i < nparts ? parts[i] : NULL;
}

static void *handle(struct msg *m, enum nvml_handle_kind kind, uint64_t id)
{
	void *real = kind == HANDLE_nvmlDevice_t ? find_device(id) : NULL;

	if (!real)
		m->error = (CUresult)NVML_ERROR_INVALID_ARGUMENT;
	return real;
}

/* The number of a device that is shown; a part of one may be named from now on. */
static uint64_t give_device(nvmlDevice_t real, bool part)
{
	for (unsigned i = 0; i < ndevices; i++)
		if (devices[i] == real)
			return (uintptr_t)NVML_HANDLE(i);
	for (unsigned i = 0; i < nparts; i++)
		if (parts[i] == real)
			return (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX + i);
	if (!part || nparts == PARTS)
		return 0;
	parts[nparts] = real;
	return (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX + nparts++);
}

static void give_handles(struct msg *m, enum nvml_handle_kind kind, void *real, size_t count)
{
	nvmlDevice_t *d = real;

	if (m->value || kind != HANDLE_nvmlDevice_t || count != 1)
		return;
	uint64_t id = give_device(*d, m->frame.op == WIRE_NVML + NR_nvmlDeviceGetMigDeviceHandleByIndex);
	memcpy(d, &id, sizeof id);
	if (!id)
		m->value = NVML_ERROR_NOT_FOUND;
}

static bool bad(struct msg *m)
{
	if (m->error)
		m->value = (int32_t)m->error;
	m->error = CUDA_SUCCESS;
	return m->broken || m->value;
}

static void result(struct msg *m, nvmlReturn_t r)
{
	m->value = r;
}

/* A struct that says its own size: one of a size that we do not know is no vendor's to fill. */
static void *inout_sized(struct msg *m, bool present, size_t ours)
{
	uint32_t version = 0;

	if (present && (size_t)(m->in_end - m->in) >= sizeof version)
		memcpy(&version, m->in, sizeof version);
	size_t size = wire_sized(&version, ours);
	void *p = msg_inout(m, present, size);
	if (p && size == sizeof version)
		m->error = (CUresult)NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	return p;
}

#define msg_handle       handle
#define msg_give_handles give_handles
#define msg_bad          bad
#define msg_result       result
#define msg_inout_sized  inout_sized
#include "gen/nvml_server.inc"
#undef msg_handle
#undef msg_give_handles
#undef msg_bad
#undef msg_result
#undef msg_inout_sized

/* ---- our own ---- */

static void serve_devices_of(struct msg *m)
{
	struct wire_nvml_devices *all = msg_out(m, true, sizeof *all);

	if (all)
		*all = identity;
}

static void serve_processes(struct msg *m)
{
	struct wire_nvml_processes *page = msg_out(m, true, sizeof *page);
	struct wire_nvml_ask ask;
	nvmlDevice_t real;

	msg_args(m, &ask, sizeof ask);
	real = page ? handle(m, HANDLE_nvmlDevice_t, ask.device) : NULL;
	if (!bad(m) && real)
		m->value = nvml_list(&table, real, &ask, link_peer(m->session->link), page);
}

/*
 * Values that only the vendor's own tool asks for, by places in a table that are known of one release
 * (doc/private-tables.md): these places, and no others.
 */
static const struct hidden {
	unsigned slot, length; /* of the text; 0: it is a number */
} hidden_slots[] = {{230, 0}, {231, 80}, {232, 0}, {237, 20}, {249, 0}};

static const struct hidden *find_hidden(unsigned slot)
{
	for (size_t i = 0; i < sizeof hidden_slots / sizeof *hidden_slots; i++)
		if (hidden_slots[i].slot == slot)
			return &hidden_slots[i];
	return NULL;
}

static nvmlReturn_t read_hidden(nvmlDevice_t real, const struct hidden *h, struct wire_nvml_hidden *value)
{
	static const unsigned char id[16] = "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
	char version[80] = "", text[256] = ""; /* roomier than what it is told */
	const void *private;
	unsigned number = 0;
	nvmlReturn_t r;

	if (!vendor || !h || table.nvmlSystemGetDriverVersion(version, sizeof version) || strncmp(version, "580.", 4) ||
		table.nvmlInternalGetExportTable(&private, id))
		return NVML_ERROR_NOT_SUPPORTED;
	const uintptr_t *words = private;
	if (words[0] < (h->slot + 1) * sizeof *words || !words[h->slot])
		return NVML_ERROR_NOT_SUPPORTED;
	if (h->length)
		r = ((nvmlReturn_t(*)(nvmlDevice_t, char *, unsigned))words[h->slot])(real, text, h->length);
	else
		r = ((nvmlReturn_t(*)(nvmlDevice_t, unsigned *))words[h->slot])(real, &number);
	if (r)
		return r;
	value->number = number;
	snprintf(value->text, sizeof value->text, "%.*s", (int)h->length, text);
	return NVML_SUCCESS;
}

static void serve_hidden(struct msg *m)
{
	struct wire_nvml_hidden *value = msg_out(m, true, sizeof *value);
	struct wire_nvml_ask ask;

	msg_args(m, &ask, sizeof ask);
	nvmlDevice_t real = handle(m, HANDLE_nvmlDevice_t, ask.device);
	if (!bad(m) && real && value)
		m->value = read_hidden(real, find_hidden(ask.what), value);
}

/* ---- one call ---- */

static const struct nvml_served *by_number[WIRE_NVML_PLAIN];

static void serve_plain(struct msg *m)
{
	by_number[m->frame.op - WIRE_NVML]->serve(&table, m);
}

static void serve_own(struct msg *m)
{
	switch (m->frame.op) {
	case WIRE_NVML_DEVICES:
		serve_devices_of(m);
		break;
	case WIRE_NVML_PROCESSES:
		serve_processes(m);
		break;
	case WIRE_NVML_HIDDEN:
		serve_hidden(m);
		break;
	case WIRE_NVML_TOGETHER:
		nvml_together(m, serve_plain);
		break;
	}
}

/*
 * ---- who only looks at the device needs no context on it: that one was for a program ----
 *
 * Giving it up takes the vendor's driver a tenth of a second or more: a thread does that, and not before the client
 * has its first answers.  A client that wants no more than those is gone by then.
 */

#define GIVE_UP_AFTER_US 20000

static pthread_t giving_up;
static bool gives_up;

static void *give_up(void *ops)
{
	usleep(GIVE_UP_AFTER_US);
	((const struct cuda_ops *)ops)->cuDevicePrimaryCtxRelease_v2(0);
	return NULL;
}

static void give_context_up(struct session *s)
{
	if (s->calls != 1)
		return;
	gives_up = !pthread_create(&giving_up, NULL, give_up, (void *)s->ops);
	if (!gives_up)
		s->ops->cuDevicePrimaryCtxRelease_v2(0);
	nvml_list_onlooker(true);
	serve_nvml_only();
}

void nvml_settle(void)
{
	if (gives_up)
		pthread_join(giving_up, NULL);
	gives_up = false;
	nvml_list_onlooker(false);
}

static void serve_nvml(const struct cuda_ops *ops, struct msg *m)
{
	unsigned op = m->frame.op - WIRE_NVML;
	nvmlReturn_t r = open_once(ops);

	m->error = CUDA_SUCCESS; /* needs no context */
	give_context_up(m->session);
	if (r && m->frame.op != WIRE_NVML_DEVICES) { /* a client that did not begin as clients do */
		m->broken = true;
		return;
	}
	if (r) {
		msg_out(m, true, sizeof(struct wire_nvml_devices));
		m->value = r;
	} else if (op < WIRE_NVML_PLAIN) {
		serve_plain(m);
	} else {
		serve_own(m);
	}
}

const struct served *nvml_find(unsigned op)
{
	static const struct served served = {WIRE_NVML, serve_nvml, true};
	unsigned number = op - WIRE_NVML;

	if (!by_number[plain[0].op])
		for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
			by_number[plain[i].op] = &plain[i];
	if (op < WIRE_NVML || op >= WIRE_NVML_END || (number < WIRE_NVML_PLAIN && !by_number[number]))
		return NULL;
	return &served;
}
