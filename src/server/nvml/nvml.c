/*
 * Serves NVML calls: opens the device's NVML, translates device handles, and answers the calls that are not
 * generated.
 */
#include "server/nvml/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/nvml/machine.h"
#include "backend/nvml/vendor.h"
#include "cuda/slots.h"
#include "cuda/uuid.h"
#include "server/nvml/nvml_batch.h"
#include "server/nvml/nvml_processes.h"
#include "server/nvml/nvml_quota.h"
#include "server/session/message.h"

bool nvml_init(struct session *s, const char *device)
{
	s->nvml = calloc(1, sizeof *s->nvml);
	if (!s->nvml)
		return false;
	s->nvml->device = device;
	return true;
}

/* ---- Opening ---- */

static nvmlReturn_t call_unsupported(void)
{
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t machine_nvml_open(struct nvml_state *n)
{
	char why[256];
	nvmlReturn_t r = machine_open(n->device, secure_getenv("CUDA_VISIBLE_DEVICES"), why, sizeof why);

	n->ops = machine_ops;
	for (int i = 0; i < machine.count && i < WIRE_NVML_DEVICES_MAX; i++)
		n->devices[n->ndevices++] = NVML_HANDLE(i);
	return r;
}

/* Finds the vendor's handle for each of CUDA's devices by its UUID. */
static nvmlReturn_t vendor_nvml_open(struct nvml_state *n, const struct cuda_ops *ops)
{
	char why[256], text[UUID_TEXT];
	nvmlReturn_t r = nvml_vendor_open(&n->ops, why, sizeof why);
	int count = 0;
	CUuuid uuid;

	if (!r)
		r = n->ops.nvmlInit_v2();
	if (!r && ops->cuDeviceGetCount(&count))
		r = NVML_ERROR_UNKNOWN;
	for (int i = 0; !r && i < count && i < WIRE_NVML_DEVICES_MAX; i++) {
		if (ops->cuDeviceGetUuid_v2(&uuid, i))
			return NVML_ERROR_UNKNOWN;
		uuid_text((const unsigned char *)uuid.bytes, text);
		r = n->ops.nvmlDeviceGetHandleByUUID(text, &n->devices[i]);
		memcpy(text, "MIG", 3);
		if (r == NVML_ERROR_NOT_FOUND)
			r = n->ops.nvmlDeviceGetHandleByUUID(text, &n->devices[i]);
		n->ndevices = (unsigned)i + 1;
	}
	n->vendor = true;
	return r;
}

static nvmlReturn_t devices_describe(struct nvml_state *n)
{
	struct wire_nvml_devices *identity = &n->identity;

	memset(identity, 0, sizeof *identity);
	identity->count = n->ndevices;
	for (unsigned i = 0; i < n->ndevices; i++) {
		struct wire_nvml_device *d = &identity->device[i];
		n->ops.nvmlDeviceGetName(n->devices[i], d->name, sizeof d->name);
		n->ops.nvmlDeviceGetUUID(n->devices[i], d->uuid, sizeof d->uuid);
		n->ops.nvmlDeviceGetPciInfo_v3(n->devices[i], &d->pci);
	}
	return n->ops.nvmlSystemGetDriverVersion(identity->driver, sizeof identity->driver);
}

static nvmlReturn_t nvml_open_once(struct nvml_state *n, const struct cuda_ops *ops)
{
	if (n->opened)
		return n->open_result;
	n->opened = true;
	n->open_result = strcmp(n->device, "nvidia") ? machine_nvml_open(n) : vendor_nvml_open(n, ops);
	slots_fill(&n->ops, (slot_fn)call_unsupported, nvml_OP_COUNT);
	nvml_quota_wrap(n);
	if (!n->open_result)
		n->open_result = devices_describe(n);
	return n->open_result;
}

void nvml_warm_up(struct session *s)
{
	if (strcmp(s->nvml->device, "nvidia") || !nvml_open_once(s->nvml, s->ops))
		return;
	s->nvml->opened = false; /* tried again for the client */
	s->nvml->ndevices = 0;
}

/* ---- The generated calls, with these functions in place of CUDA's ---- */

struct nvml_served {
	void (*serve)(const struct nvml_ops *ops, struct msg *m);
	bool waits;
};

static nvmlDevice_t device_find(const struct nvml_state *n, uint64_t id)
{
	int i = nvml_handle_index((nvmlDevice_t)(uintptr_t)id, WIRE_NVML_DEVICES_MAX + NVML_PARTS);

	if (i >= 0 && (unsigned)i < n->ndevices)
		return n->devices[i];
	i -= WIRE_NVML_DEVICES_MAX;
	return i >= 0 && (unsigned)i < n->nparts ? n->parts[i] : NULL;
}

static void *nvml_msg_handle(struct msg *m, enum nvml_handle_kind kind, uint64_t id)
{
	void *real = kind == HANDLE_nvmlDevice_t ? device_find(m->session->nvml, id) : NULL;

	if (!real)
		m->error = (CUresult)NVML_ERROR_INVALID_ARGUMENT;
	return real;
}

/* The handle of a device that the client may see, or 0.  A part (MIG device) gets a handle when it is first seen. */
static uint64_t device_handle(struct nvml_state *n, nvmlDevice_t real, bool part)
{
	for (unsigned i = 0; i < n->ndevices; i++)
		if (n->devices[i] == real)
			return (uintptr_t)NVML_HANDLE(i);
	for (unsigned i = 0; i < n->nparts; i++)
		if (n->parts[i] == real)
			return (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX + i);
	if (!part || n->nparts == NVML_PARTS)
		return 0;
	n->parts[n->nparts] = real;
	return (uintptr_t)NVML_HANDLE(WIRE_NVML_DEVICES_MAX + n->nparts++);
}

static void nvml_msg_give_handles(struct msg *m, enum nvml_handle_kind kind, void *real, size_t count)
{
	nvmlDevice_t *d = real;

	if (m->value || kind != HANDLE_nvmlDevice_t || count != 1)
		return;
	bool part = m->frame.op == WIRE_NVML + NR_nvmlDeviceGetMigDeviceHandleByIndex;
	uint64_t id = device_handle(m->session->nvml, *d, part);
	memcpy(d, &id, sizeof id);
	if (!id)
		m->value = NVML_ERROR_NOT_FOUND;
}

static bool nvml_msg_bad(struct msg *m)
{
	if (m->error)
		m->value = (int32_t)m->error;
	m->error = CUDA_SUCCESS;
	return m->broken || m->value;
}

static void nvml_msg_result(struct msg *m, nvmlReturn_t r)
{
	m->value = r;
}

/* A versioned struct, which states its own size: the vendor must not fill one of an unknown size. */
static void *nvml_msg_inout_sized(struct msg *m, bool present, size_t ours)
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

#define msg_handle       nvml_msg_handle
#define msg_give_handles nvml_msg_give_handles
#define msg_bad          nvml_msg_bad
#define msg_result       nvml_msg_result
#define msg_inout_sized  nvml_msg_inout_sized
#include "gen/nvml_server.inc"
#undef msg_handle
#undef msg_give_handles
#undef msg_bad
#undef msg_result
#undef msg_inout_sized

/* ---- Calls written by hand ---- */

static void serve_nvml_devices(struct msg *m)
{
	struct wire_nvml_devices *all = msg_out(m, true, sizeof *all);

	if (all)
		*all = m->session->nvml->identity;
}

static void serve_nvml_processes(struct msg *m)
{
	struct wire_nvml_processes *page = msg_out(m, true, sizeof *page);
	struct wire_nvml_ask ask;
	nvmlDevice_t real;

	msg_args(m, &ask, sizeof ask);
	real = page ? nvml_msg_handle(m, HANDLE_nvmlDevice_t, ask.device) : NULL;
	if (!nvml_msg_bad(m) && real)
		m->value = nvml_processes_list(m->session->nvml, real, &ask, link_peer(m->session->link), page);
}

/*
 * Values that only the vendor's own tool asks for, through slots of a private table that are known for one release
 * (doc/private-tables.md).  The client may ask for these slots and no others.
 */
static const struct hidden_slot {
	unsigned slot;
	unsigned length; /* of a text; 0: the value is a number */
} hidden_slots[] = {{230, 0}, {231, 80}, {232, 0}, {237, 20}, {249, 0}};

static const struct hidden_slot *hidden_slot_find(unsigned slot)
{
	for (size_t i = 0; i < sizeof hidden_slots / sizeof *hidden_slots; i++)
		if (hidden_slots[i].slot == slot)
			return &hidden_slots[i];
	return NULL;
}

static nvmlReturn_t hidden_slot_read(
	struct nvml_state *n, nvmlDevice_t real, const struct hidden_slot *h, struct wire_nvml_hidden *value)
{
	static const unsigned char id[16] = "\xc4\xfe\x3e\x6c\xc9\x8f\x6c\x4e\xa3\x27\xee\x69\x6e\x12\xf7\xc4";
	char version[80] = "", text[256] = ""; /* larger than the length that the vendor is given */
	const void *private;
	unsigned number = 0;
	nvmlReturn_t r;

	if (!n->vendor || !h || n->ops.nvmlSystemGetDriverVersion(version, sizeof version) ||
		strncmp(version, "580.", 4) || n->ops.nvmlInternalGetExportTable(&private, id))
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

static void serve_nvml_hidden(struct msg *m)
{
	struct wire_nvml_hidden *value = msg_out(m, true, sizeof *value);
	struct wire_nvml_ask ask;

	msg_args(m, &ask, sizeof ask);
	nvmlDevice_t real = nvml_msg_handle(m, HANDLE_nvmlDevice_t, ask.device);
	if (!nvml_msg_bad(m) && real && value)
		m->value = hidden_slot_read(m->session->nvml, real, hidden_slot_find(ask.what), value);
}

/* ---- Dispatch ---- */

static void serve_generated(struct msg *m)
{
	nvml_served[m->frame.op - WIRE_NVML].serve(&m->session->nvml->ops, m);
}

static void serve_nvml_batch(struct msg *m)
{
	nvml_batch_serve(m, serve_generated);
}

static void (*const own_served[])(struct msg *m) = {
#define OP(number, op, serve) [op - WIRE_NVML_OPS_FIRST] = serve,
#include "wire/nvml_ops.def"
#undef OP
};

/*
 * ---- The context of a client that uses NVML only ----
 *
 * A spare worker has made a context for a CUDA program.  A client that starts with NVML does not need it, and giving
 * it up takes the vendor's driver 100 ms or more: a thread does that, after the client has had its first answers.  A
 * client that wants no more than those is gone by then.
 */

#define RELEASE_DELAY_US 20000

static void *context_release_run(void *ops)
{
	usleep(RELEASE_DELAY_US);
	((const struct cuda_ops *)ops)->cuDevicePrimaryCtxRelease_v2(0);
	return NULL;
}

static void context_release(struct session *s)
{
	struct nvml_state *n = s->nvml;

	if (s->calls != 1)
		return;
	n->context_releasing = !pthread_create(&n->context_releaser, NULL, context_release_run, (void *)s->ops);
	if (!n->context_releasing)
		s->ops->cuDevicePrimaryCtxRelease_v2(0);
	nvml_client_set_onlooker(n, true);
	serve_nvml_only();
}

void nvml_settle(void)
{
	struct nvml_state *n = worker_session->nvml;

	if (n->context_releasing)
		pthread_join(n->context_releaser, NULL);
	n->context_releasing = false;
	nvml_client_set_onlooker(n, false);
}

static void serve_nvml(const struct cuda_ops *ops, struct msg *m)
{
	unsigned op = m->frame.op - WIRE_NVML;
	nvmlReturn_t r = nvml_open_once(m->session->nvml, ops);

	m->error = CUDA_SUCCESS; /* needs no context */
	context_release(m->session);
	if (r && m->frame.op != WIRE_NVML_DEVICES) { /* our clients ask for the devices first */
		m->broken = true;
		return;
	}
	if (r) {
		msg_out(m, true, sizeof(struct wire_nvml_devices));
		m->value = r;
	} else if (op < WIRE_NVML_PLAIN) {
		serve_generated(m);
	} else {
		own_served[m->frame.op - WIRE_NVML_OPS_FIRST](m);
	}
}

const struct served *nvml_find(unsigned op)
{
	static const struct served served = {serve_nvml, true};
	unsigned number = op - WIRE_NVML;
	bool plain = number < sizeof nvml_served / sizeof *nvml_served && nvml_served[number].serve;

	return plain || (op >= WIRE_NVML_OPS_FIRST && op < WIRE_NVML_END) ? &served : NULL;
}
