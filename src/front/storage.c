/*
 * Context-local storage: what each copy of NVIDIA's runtime keeps per context.
 *
 * Read on nearly every runtime call, written once per runtime and context: readers walk a bucket
 * without a lock, writers hold one.  A node is never freed, only reused, so a reader is always in
 * valid memory; there are as many as runtimes times contexts ever alive at one time.
 */
#include <pthread.h>
#include <stdlib.h>
#include "front/front.h"

#define BUCKETS 256

struct node {
	_Atomic(CUcontext) ctx; /* NULL: free */
	_Atomic(void *) key;
	_Atomic(void *) value;
	void (*drop)(CUcontext ctx, void *key, void *value);
	_Atomic(struct node *) next;
};

static _Atomic(struct node *) buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(struct node *) *bucket(CUcontext ctx, void *key)
{
	uintptr_t h = (uintptr_t)ctx * 0x9E3779B97F4A7C15u ^ (uintptr_t)key * 0xC2B2AE3D27D4EB4Fu;

	return &buckets[h >> 56];
}

static struct node *find(CUcontext ctx, void *key)
{
	struct node *n = atomic_load_explicit(bucket(ctx, key), memory_order_acquire);

	while (n && (atomic_load_explicit(&n->ctx, memory_order_acquire) != ctx || n->key != key))
		n = atomic_load_explicit(&n->next, memory_order_acquire);
	return n;
}

static CUresult resolve(CUcontext *ctx)
{
	if (*ctx)
		return CUDA_SUCCESS;
	CUresult r = front_device()->cuCtxGetCurrent(ctx);
	return r ? r : *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* A free node of the bucket, or a new one linked into it. */
static struct node *take(CUcontext ctx, void *key)
{
	_Atomic(struct node *) *b = bucket(ctx, key);
	struct node *n;

	for (n = *b; n; n = n->next)
		if (!n->ctx)
			return n;
	n = calloc(1, sizeof *n);
	if (!n)
		return NULL;
	n->next = *b;
	atomic_store_explicit(b, n, memory_order_release);
	return n;
}

CUresult front_storage_put(CUcontext ctx, void *key, void *value, void (*drop)(CUcontext, void *, void *))
{
	CUresult r = resolve(&ctx);

	if (r)
		return r;
	pthread_mutex_lock(&lock);
	struct node *n = find(ctx, key);
	if (!n)
		n = take(ctx, key);
	if (n) {
		n->key = key;
		n->value = value;
		n->drop = drop;
		atomic_store_explicit(&n->ctx, ctx, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult front_storage_delete(CUcontext ctx, void *key)
{
	CUresult r = resolve(&ctx);

	if (r)
		return r;
	pthread_mutex_lock(&lock);
	struct node *n = find(ctx, key);
	if (n)
		n->ctx = NULL;
	pthread_mutex_unlock(&lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult front_storage_get(void **value, CUcontext ctx, void *key)
{
	CUresult r = resolve(&ctx);

	if (r)
		return r;
	struct node *n = find(ctx, key);
	if (!n || !value)
		return CUDA_ERROR_INVALID_HANDLE;
	*value = n->value;
	return CUDA_SUCCESS;
}

/* Takes one node of the context out of the store, so that its callback can run without the lock. */
static bool pull(CUcontext ctx, struct node *copy)
{
	for (int i = 0; i < BUCKETS; i++) {
		for (struct node *n = buckets[i]; n; n = n->next) {
			if (n->ctx != ctx)
				continue;
			copy->key = n->key;
			copy->value = n->value;
			copy->drop = n->drop;
			n->ctx = NULL;
			return true;
		}
	}
	return false;
}

void front_storage_drop(CUcontext ctx)
{
	struct node n;
	bool more = ctx != NULL;

	while (more) {
		pthread_mutex_lock(&lock);
		more = pull(ctx, &n);
		pthread_mutex_unlock(&lock);
		if (more && n.drop)
			n.drop(ctx, n.key, n.value);
	}
}
