/* nvmlInit and nvmlShutdown: opens the device, counts its users, and switches the table of the exported functions. */
#include <pthread.h>
#include <string.h>
#include "front/nvml/front.h"
#include "cuda/nvml_errors.h"
#include "cuda/slots.h"
#include "wire/trace.h"
#include "wire/trace_nvml.h"

_Static_assert(sizeof(struct nvml_ops) == nvml_OP_COUNT * sizeof(slot_fn), "an ops table has nothing but functions");

#include "gen/nvml_complete.inc"

_Atomic(const struct nvml_ops *) nvml_now = &nvml_boot_ops;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t start_once = PTHREAD_ONCE_INIT;
static const struct nvml_backend *backend; /* of the open device, or of the last one that was open */
static struct nvml_ops idle_ops, device_ops;
static unsigned users; /* calls of nvmlInit without their nvmlShutdown */

static nvmlReturn_t answer_uninitialised(void)
{
	return NVML_ERROR_UNINITIALIZED;
}

static nvmlReturn_t answer_unsupported(void)
{
	return NVML_ERROR_NOT_SUPPORTED;
}

static nvmlReturn_t answer_not_found(void)
{
	return NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* From now on the exported functions call through this table. */
static void use_table(const struct nvml_ops *table)
{
	nvml_trace_behind = table;
	atomic_store_explicit(&nvml_now, trace_on() ? &nvml_trace_ops : table, memory_order_release);
}

static void lock_before_fork(void)
{
	pthread_mutex_lock(&init_lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&init_lock);
}

/* A child stays initialised, as with the vendor's library; the backend connects anew. */
static void after_fork_in_child(void)
{
	pthread_mutex_init(&init_lock, NULL);
	if (backend && backend->forked)
		backend->forked();
}

static void start_idle(void)
{
	idle_ops.nvmlErrorString = ml_nvmlErrorString;
	idle_ops.nvmlInit = ml_nvmlInit;
	idle_ops.nvmlInit_v2 = ml_nvmlInit_v2;
	idle_ops.nvmlInitWithFlags = ml_nvmlInitWithFlags;
	slots_fill(&idle_ops, (slot_fn)answer_uninitialised, nvml_OP_COUNT);
	pthread_atfork(lock_before_fork, unlock_after_fork, after_fork_in_child);
	use_table(&idle_ops);
}

const struct nvml_ops *nvml_start(void)
{
	pthread_once(&start_once, start_idle);
	return atomic_load_explicit(&nvml_now, memory_order_acquire);
}

const struct nvml_ops *nvml_device(void)
{
	return &device_ops;
}

nvmlReturn_t nvml_private_value(nvmlDevice_t handle, unsigned slot, struct wire_nvml_hidden *value)
{
	return backend->private_value ? backend->private_value(handle, slot, value) : NVML_ERROR_NOT_SUPPORTED;
}

/* Opens the device and fills device_ops.  With init_lock held. */
static nvmlReturn_t open_device(void)
{
	static struct nvml_ops table;
	char why[256] = "";
	nvmlReturn_t r = nvml_choose_device(&backend, &table, why, sizeof why);

	if (r) {
		trace_note("no device: %s", why);
		return r;
	}
	if (!backend->vendor) {
		slots_override(&table, &ml_ops, nvml_OP_COUNT);
		nvml_ops_complete(&table);
	} else if (!table.nvmlErrorString) {
		table.nvmlErrorString = ml_nvmlErrorString;
	}
	slots_fill(&table, (slot_fn)(backend->vendor ? answer_not_found : answer_unsupported), nvml_OP_COUNT);
	/* A late call of another thread may still read the table: written only if it differs. */
	if (memcmp(&device_ops, &table, sizeof device_ops))
		device_ops = table;
	return NVML_SUCCESS;
}

static nvmlReturn_t vendor_init(unsigned flags)
{
	return flags ? device_ops.nvmlInitWithFlags(flags) : device_ops.nvmlInit_v2();
}

nvmlReturn_t ml_nvmlInitWithFlags(unsigned flags)
{
	nvmlReturn_t r = NVML_SUCCESS;

	if (flags & ~(unsigned)(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH))
		return NVML_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&init_lock);
	if (!users)
		r = open_device();
	if (!r) {
		users++;
		use_table(&device_ops);
	}
	bool vendor = !r && backend->vendor;
	pthread_mutex_unlock(&init_lock);
	return vendor ? vendor_init(flags) : r; /* the vendor's library counts its users itself: later calls go there */
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

	pthread_mutex_lock(&init_lock);
	if (!users)
		r = NVML_ERROR_UNINITIALIZED;
	else if (--users == 0) {
		use_table(&idle_ops);
		nvml_event_sets_end();
		if (backend->close)
			backend->close();
	}
	pthread_mutex_unlock(&init_lock);
	return r;
}

const char *ml_nvmlErrorString(nvmlReturn_t result)
{
	return nvml_result_words(result);
}
