/* Choosing the device: once, at the first call, and again in a child that forked before it was used. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "front/front.h"
#include "front/choose.h"
#include "front/table.h"
#include "util/explain.h"
#include "wire/trace.h"
#include "wire/trace_cuda.h"

_Atomic(const struct cuda_ops *) front_now = &cuda_boot_ops;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct backend *backend;
static union table behind;  /* the chosen backend's own functions */
static union table device;  /* and those of the front: complete */
static union table refused; /* while none can be opened */
static union table forked;  /* in a child of an initialised process */
static _Atomic(int) refusal = CUDA_ERROR_NO_DEVICE;
static atomic_bool initialised;

CUresult (*front_vendor_proc_address)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static CUresult unsupported(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult refuse(void)
{
	return refusal;
}

static CUresult refuse_forked(void)
{
	return CUDA_ERROR_NOT_INITIALIZED;
}

/*
 * Functions of any type in one table of refusals: they take no argument and return an int, which
 * every ABI we run on allows (caller cleans up, result in a register).
 */
static void make_refusals(union table *t, CUresult (*answer)(void))
{
	memset(t, 0, sizeof *t);
	t->ops.cuDriverGetVersion = front_cuDriverGetVersion;
	t->ops.cuGetErrorName = front_cuGetErrorName;
	t->ops.cuGetErrorString = front_cuGetErrorString;
	t->ops.cuGetProcAddress = front_cuGetProcAddress;
	t->ops.cuGetProcAddress_v2 = front_cuGetProcAddress_v2;
	table_fill(t, (proc_fn)answer);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* The vendor's driver looks after itself. */
static void in_child(void)
{
	const struct backend *b = backend;

	pthread_mutex_init(&lock, NULL);
	if (!b || b->vendor || front_now == &forked.ops)
		return;
	if (b->forked)
		b->forked();
	if (initialised) {
		make_refusals(&forked, refuse_forked);
		atomic_store_explicit(&front_now, &forked.ops, memory_order_release);
	} else if (b->forked) { /* chosen, but not used: the child may choose for itself */
		atomic_store_explicit(&front_now, &cuda_boot_ops, memory_order_release);
	}
}

/* A program that asks the vendor for an address would get one that no trace sees. */
static void trace_vendor_addresses(void)
{
	front_vendor_proc_address = device.ops.cuGetProcAddress_v2;
	if (front_vendor_proc_address)
		device.ops.cuGetProcAddress_v2 = front_traced_proc_address;
}

static const struct cuda_ops *finish_table(void)
{
	static bool watching;
	bool traced = trace_on();

	trace_behind = &device.ops;
	if (backend->vendor && traced)
		trace_vendor_addresses();
	behind = device;
	if (!backend->vendor) {
		table_put(&device, &front_ops);
		front_block_launches(&device.ops);
	}
	table_fill(&device, (proc_fn)unsupported);
	if (!watching && !pthread_atfork(before_fork, after_fork, in_child))
		watching = true;
	return traced ? &cuda_trace_ops : &device.ops;
}

static const struct cuda_ops *open_device(void)
{
	char why[256] = "", text[sizeof why + 16];
	const char *name = getenv("GANGWAY_DEVICE");

	memset(&device, 0, sizeof device);
	CUresult r = choose_device(name, &backend, &device.ops, why, sizeof why);
	if (r == CUDA_SUCCESS) {
		const struct cuda_ops *t = finish_table();
		atomic_store_explicit(&front_now, t, memory_order_release);
		return t;
	}
	/* The boot table stays: the next call tries again, a daemon may be up by then. */
	refusal = r;
	snprintf(text, sizeof text, "no device: %s", why);
	trace_note("%s", text);
	tell_user(text);
	make_refusals(&refused, refuse);
	return &refused.ops;
}

const struct cuda_ops *front_start(void)
{
	const struct cuda_ops *t;

	pthread_mutex_lock(&lock);
	t = atomic_load_explicit(&front_now, memory_order_acquire);
	if (t == &cuda_boot_ops)
		t = open_device();
	pthread_mutex_unlock(&lock);
	return t;
}

const struct cuda_ops *front_device(void)
{
	return &device.ops;
}

const struct cuda_ops *front_behind(void)
{
	return &behind.ops;
}

const struct backend *front_backend(void)
{
	return backend;
}

void front_initialised(void)
{
	initialised = true;
}
