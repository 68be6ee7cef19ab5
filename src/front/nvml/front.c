/* From the first nvmlInit to the last nvmlShutdown, and again. */
#include <pthread.h>
#include <string.h>
#include "front/nvml/front.h"
#include "cuda/nvml_errors.h"
#include "cuda/slots.h"
#include "wire/trace.h"
#include "wire/trace_nvml.h"

_Static_assert(sizeof(struct nvml_ops) == nvml_OP_COUNT * sizeof(slot_fn), "a table is nothing but functions");

#include "gen/nvml_complete.inc"

_Atomic(const struct nvml_ops *) nvml_now = &nvml_boot_ops;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct nvml_backend *backend; /* of the device in use, or of the last one */
static struct nvml_ops idle, device;
static unsigned users; /* nvmlInit without nvmlShutdown */

static nvmlReturn_t uninitialised(void)
{
	return NVML_ERROR_UNINITIALIZED;
}

static nvmlReturn_t unsupported(void)
{
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t missing(void)
{
	return NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* From now on calls go there. */
static void use(const struct nvml_ops *table)
{
	nvml_trace_behind = table;
	atomic_store_explicit(&nvml_now, trace_on() ? &nvml_trace_ops : table, memory_order_release);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* What was initialised stays so in a child, as with the vendor's; a connection is made anew. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	if (backend && backend->forked)
		backend->forked();
}

static void begin(void)
{
	idle.nvmlErrorString = ml_nvmlErrorString;
	idle.nvmlInit = ml_nvmlInit;
	idle.nvmlInit_v2 = ml_nvmlInit_v2;
	idle.nvmlInitWithFlags = ml_nvmlInitWithFlags;
	slots_fill(&idle, (slot_fn)uninitialised, nvml_OP_COUNT);
	pthread_atfork(before_fork, after_fork, in_child);
	use(&idle);
}

const struct nvml_ops *nvml_start(void)
{
	pthread_once(&once, begin);
	return atomic_load_explicit(&nvml_now, memory_order_acquire);
}

const struct nvml_ops *nvml_device(void)
{
	return &device;
}

nvmlReturn_t nvml_hidden(nvmlDevice_t handle, unsigned slot, struct wire_nvml_hidden *value)
{
	return backend->hidden ? backend->hidden(handle, slot, value) : NVML_ERROR_NOT_SUPPORTED;
}

/* With the lock: device is filled. */
static nvmlReturn_t open_device(void)
{
	static struct nvml_ops table;
	char why[256] = "";
	nvmlReturn_t r = nvml_choose(&backend, &table, why, sizeof why);

	if (r) {
		trace_note("no device: %s", why);
		return r;
	}
	if (!backend->vendor) {
		slots_put(&table, &ml_ops, nvml_OP_COUNT);
		nvml_ops_complete(&table);
	} else if (!table.nvmlErrorString) {
		table.nvmlErrorString = ml_nvmlErrorString;
	}
	slots_fill(&table, (slot_fn)(backend->vendor ? missing : unsupported), nvml_OP_COUNT);
	if (memcmp(&device, &table, sizeof device)) /* somebody may still be in it */
		device = table;
	return NVML_SUCCESS;
}

static nvmlReturn_t vendor_init(unsigned flags)
{
	return flags ? device.nvmlInitWithFlags(flags) : device.nvmlInit_v2();
}

nvmlReturn_t ml_nvmlInitWithFlags(unsigned flags)
{
	nvmlReturn_t r = NVML_SUCCESS;

	if (flags & ~(unsigned)(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH))
		return NVML_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&lock);
	if (!users)
		r = open_device();
	if (!r) {
		users++;
		use(&device);
	}
	bool vendor = !r && backend->vendor;
	pthread_mutex_unlock(&lock);
	return vendor ? vendor_init(flags) : r; /* it counts for itself: this function is not called again */
}

nvmlReturn_t ml_nvmlInit_v2(void)
{
	return ml_nvmlInitWithFlags(0);
}

nvmlReturn_t ml_nvmlInit(void)
{
	return ml_nvmlInitWithFlags(0);
}

nvmlReturn_t ml_nvmlShutdown(void)
{
	nvmlReturn_t r = NVML_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!users)
		r = NVML_ERROR_UNINITIALIZED;
	else if (--users == 0) {
		use(&idle);
		nvml_events_end();
		if (backend->close)
			backend->close();
	}
	pthread_mutex_unlock(&lock);
	return r;
}

const char *ml_nvmlErrorString(nvmlReturn_t result)
{
	return nvml_result_words(result);
}
