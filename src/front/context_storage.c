/*
 * Context-local storage: values that each copy of NVIDIA's runtime keeps for a context.
 *
 * Nearly every runtime call reads a value; a value is written once for each runtime and context.  Therefore readers
 * walk a bucket without a lock, and writers hold one.  A node is reused and never freed, so that readers always are in
 * valid memory.  The number of nodes is bounded by runtimes times contexts alive at the same time.
 */
#include <pthread.h>
#include <stdlib.h>
#include "front/front.h"

#define BUCKETS 256

struct value_node {
	_Atomic(CUcontext) ctx; /* NULL: free */
	_Atomic(void *) key;
	_Atomic(void *) value;
	void (*drop)(CUcontext ctx, void *key, void *value);
	_Atomic(struct value_node *) next;
};

static _Atomic(struct value_node *) buckets[BUCKETS];
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

static _Atomic(struct value_node *) *bucket_of(CUcontext ctx, void *key)
{
	uintptr_t h = (uintptr_t)ctx * 0x9E3779B97F4A7C15u ^ (uintptr_t)key * 0xC2B2AE3D27D4EB4Fu;

	return &buckets[h >> 56];
}

static struct value_node *node_find(CUcontext ctx, void *key)
{
	struct value_node *n = atomic_load_explicit(bucket_of(ctx, key), memory_order_acquire);

	while (n && (atomic_load_explicit(&n->ctx, memory_order_acquire) != ctx || n->key != key))
		n = atomic_load_explicit(&n->next, memory_order_acquire);
	return n;
}

/* Replaces NULL by the current context. */
static CUresult resolve_context(CUcontext *ctx)
{
	if (*ctx)
		return CUDA_SUCCESS;
	CUresult r = front_device()->cuCtxGetCurrent(ctx);
	return r ? r : *ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

/* A free node of the bucket, or a new one linked into it; NULL: no memory.  With write_lock held. */
static struct value_node *node_take(CUcontext ctx, void *key)
{
	_Atomic(struct value_node *) *b = bucket_of(ctx, key);
	struct value_node *n;

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
	CUresult r = resolve_context(&ctx);

	if (r)
		return r;
	pthread_mutex_lock(&write_lock);
	struct value_node *n = node_find(ctx, key);
	if (!n)
		n = node_take(ctx, key);
	if (n) {
		n->key = key;
		n->value = value;
		n->drop = drop;
		atomic_store_explicit(&n->ctx, ctx, memory_order_release);
	}
	pthread_mutex_unlock(&write_lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult front_storage_delete(CUcontext ctx, void *key)
{
	CUresult r = resolve_context(&ctx);

	if (r)
		return r;
	pthread_mutex_lock(&write_lock);
	struct value_node *n = node_find(ctx, key);
	if (n)
		n->ctx = NULL;
	pthread_mutex_unlock(&write_lock);
	return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult front_storage_get(void **value, CUcontext ctx, void *key)
{
	CUresult r = resolve_context(&ctx);

	if (r)
		return r;
	struct value_node *n = node_find(ctx, key);
	if (!n || !value)
		return CUDA_ERROR_INVALID_HANDLE;
	*value = n->value;
	return CUDA_SUCCESS;
}

/* Removes one value of the context, so that its `drop` can run without the lock.  With write_lock held. */
static bool node_remove_one(CUcontext ctx, struct value_node *copy)
{
	for (int i = 0; i < BUCKETS; i++) {
		for (struct value_node *n = buckets[i]; n; n = n->next) {
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
	struct value_node n;
	bool more = ctx != NULL;

	while (more) {
		pthread_mutex_lock(&write_lock);
		more = node_remove_one(ctx, &n);
		pthread_mutex_unlock(&write_lock);
		if (more && n.drop)
			n.drop(ctx, n.key, n.value);
	}
}
