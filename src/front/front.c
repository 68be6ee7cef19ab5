/*
 * Opens the device at the first call and completes its ops table.  A child that forks before cuInit chooses its device
 * anew; a child that forks later gets CUDA_ERROR_NOT_INITIALIZED.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/slots.h"
#include "front/device_choice.h"
#include "front/front.h"
#include "util/explain.h"
#include "wire/trace.h"
#include "wire/trace_cuda.h"

_Static_assert(sizeof(struct cuda_ops) == cuda_OP_COUNT * sizeof(slot_fn), "an ops table has nothing but functions");

_Atomic(const struct cuda_ops *) front_now = &cuda_boot_ops;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct backend *backend;
static struct cuda_ops backend_ops;   /* filled by the backend */
static struct cuda_ops device_ops;    /* the same with the front's own functions; no entry is NULL */
static struct cuda_ops early_ops;     /* used before cuInit: CUDA_ERROR_NOT_INITIALIZED */
static struct cuda_ops no_device_ops; /* used for the calls during which no device can be opened */
static struct cuda_ops forked_ops;    /* used in the child of an initialised process */
static _Atomic(int) open_error = CUDA_ERROR_NO_DEVICE;
static atomic_bool initialised;

CUresult (*front_vendor_proc_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static CUresult answer_unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult answer_no_device(void)
{
	return open_error;
}

static CUresult answer_not_initialised(void)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

/* Fills a table with `answer`, but for the calls that need no device. */
static void fill_without_device(struct cuda_ops *t, CUresult (*answer)(void))
{
	*t = (struct cuda_ops){
		.cuDriverGetVersion = front_cuDriverGetVersion,
		.cuGetErrorName = front_cuGetErrorName,
		.cuGetErrorString = front_cuGetErrorString,
		.cuGetProcAddress = front_cuGetProcAddress,
		.cuGetProcAddress_v2 = front_cuGetProcAddress_v2,
	};
	slots_fill(t, (slot_fn)answer, cuda_OP_COUNT);
}

static void lock_before_fork(void)
{
	pthread_mutex_lock(&start_lock);
}

static void unlock_after_fork(void)
{
	pthread_mutex_unlock(&start_lock);
}

/* A vendor driver handles forks itself. */
static void after_fork_in_child(void)
{
	const struct backend *b = backend;

	pthread_mutex_init(&start_lock, NULL);
	if (!b || b->vendor || front_now == &forked_ops)
		return;
	if (b->forked)
		b->forked();
	if (initialised) {
		fill_without_device(&forked_ops, answer_not_initialised);
		atomic_store_explicit(&front_now, &forked_ops, memory_order_release);
	} else if (b->forked) { /* open, but not initialised: the child opens its own device */
		atomic_store_explicit(&front_now, &cuda_boot_ops, memory_order_release);
	}
}

/* The vendor would return its own addresses, and calls to those bypass the trace. */
static void trace_vendor_addresses(void)
{
	front_vendor_proc_address = device_ops.cuGetProcAddress_v2;
	if (front_vendor_proc_address)
		device_ops.cuGetProcAddress_v2 = front_traced_proc_address;
}

/* Makes the exported functions use this table, behind the trace if there is one. */
static const struct cuda_ops *publish_ops(const struct cuda_ops *ops)
{
	const struct cuda_ops *now = trace_on() ? &cuda_trace_ops : ops;

	atomic_store_explicit(&trace_behind, ops, memory_order_release);
	atomic_store_explicit(&front_now, now, memory_order_release);
	return now;
}

/* Before cuInit, only calls that need no device succeed.  NVIDIA's runtimes ask for private tables that early, too. */
static void fill_early_ops(void)
{
	fill_without_device(&early_ops, answer_not_initialised);
	early_ops.cuInit = device_ops.cuInit;
	early_ops.cuGetExportTable = device_ops.cuGetExportTable;
}

/*
 * The backend has filled device_ops: completes it, and publishes the table that the exported functions use.  A vendor's
 * driver knows itself whether it is initialised.
 */
static const struct cuda_ops *complete_device_ops(void)
{
	static bool fork_handled;

	if (backend->vendor && trace_on())
		trace_vendor_addresses();
	backend_ops = device_ops;
	if (!backend->vendor) {
		slots_override(&device_ops, &front_ops, cuda_OP_COUNT);
		front_block_launches(&device_ops);
	}
	slots_fill(&device_ops, (slot_fn)answer_unsupported, cuda_OP_COUNT);
	if (!fork_handled && !pthread_atfork(lock_before_fork, unlock_after_fork, after_fork_in_child))
		fork_handled = true;
	if (backend->vendor)
		return publish_ops(&device_ops);
	fill_early_ops();
	return publish_ops(&early_ops);
}

/* With start_lock held. */
static const struct cuda_ops *open_device(void)
{
	char why[256] = "", text[sizeof why + 16];
	const char *name = secure_getenv("GANGWAY_DEVICE");

	memset(&device_ops, 0, sizeof device_ops);
	CUresult r = choose_device(name, &backend, &device_ops, why, sizeof why);
	if (r == CUDA_SUCCESS)
		return complete_device_ops();
	/* The boot table stays in use, so that the next call tries again: a server may have started by then. */
	open_error = r;
	snprintf(text, sizeof text, "no device: %s", why);
	trace_note("%s", text);
	explain_once(text);
	fill_without_device(&no_device_ops, answer_no_device);
	return &no_device_ops;
}

const struct cuda_ops *front_start(void)
{
	const struct cuda_ops *t;

	pthread_mutex_lock(&start_lock);
	t = atomic_load_explicit(&front_now, memory_order_acquire);
	if (t == &cuda_boot_ops)
		t = open_device();
	pthread_mutex_unlock(&start_lock);
	return t;
}

const struct cuda_ops *front_device(void)
{
	return &device_ops;
}

const struct cuda_ops *front_backend_ops(void)
{
	return &backend_ops;
}

const struct backend *front_backend(void)
{
	return backend;
}

void front_initialised(void)
{
	initialised = true;
	if (!backend->vendor)
		publish_ops(&device_ops);
}
