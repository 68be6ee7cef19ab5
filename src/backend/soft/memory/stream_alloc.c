/*
 * Stream-ordered allocation: cuMemAllocAsync, cuMemFreeAsync.  The address of new memory is valid at once in all calls.
 * The memory goes back to its pool when the stream reaches the free.
 */
#include "backend/soft/memory/mempool.h"

#include <stdlib.h>

/* Free the block of a range that was removed from the map; pool lock held.  The caller drops the returned reference. */
static struct stream *block_give_back(struct pool *p, struct range *r)
{
	struct block *b = pool_block_find(p, range_addr(r));
	struct stream *s = b->stream;

	if (b->state == BLOCK_USED)
		p->used -= b->wanted;
	b->stream = NULL;
	b->range = r; /* for reuse */
	pool_block_free(p, b);
	return s;
}

static void block_release(struct range *r)
{
	struct pool *p = r->private_data;

	pthread_mutex_lock(&p->lock);
	struct stream *s = block_give_back(p, r);
	pthread_mutex_unlock(&p->lock);
	object_put(s);
	object_put(p);
}

static bool block_enter_range(struct pool *p, struct block *b, struct context *ctx)
{
	struct range *r = b->range ? b->range : malloc(sizeof *r);

	if (!r)
		return false;
	*r = (struct range){.size = b->wanted,
		.kind = RANGE_POOL,
		.device = p->device,
		.ctx = ctx,
		.private_data = p,
		.sync_memops = true,
		.release = block_release};
	r->node.key = b->node.key;
	r->handle = p->object.handle;
	r->enclosing = p->base + (b->node.key - p->base) / POOL_CHUNK * POOL_CHUNK;
	r->enclosing_size = (b->node.key + b->size - r->enclosing + POOL_CHUNK - 1) / POOL_CHUNK * POOL_CHUNK;
	r->shareable = p->props.handleTypes;
	r->flags = p->props.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? 0 : RANGE_ON_HOST;
	b->range = range_insert(r) ? r : NULL; /* fails if the context has ended */
	return !b->range;
}

static CUresult pool_alloc(struct pool *p, struct stream *s, size_t size, CUdeviceptr *out)
{
	struct dep after = {0};
	struct block *b;
	CUresult r = pool_block_alloc(p, size, s, &b, &after);

	if (r)
		return r;
	if (after.stream) { /* it was pending: its range is in the map, and it holds its reference to the pool */
		r = stream_wait_point(s, after);
		if (r)
			soft_cuMemFree_v2(b->node.key);
		else
			*out = b->node.key;
		return r;
	}
	object_ref(p); /* for as long as the block is used */
	if (block_enter_range(p, b, s->object.ctx)) {
		*out = b->node.key;
		return CUDA_SUCCESS;
	}
	pthread_mutex_lock(&p->lock);
	p->used -= b->wanted;
	pool_block_free(p, b);
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult alloc_from_pool(struct pool *p, struct stream *s, size_t size, CUdeviceptr *out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!size) {
		*out = 0;
		return CUDA_SUCCESS;
	}
	if (atomic_load(&s->capture))
		return capture_alloc(s, p->device, size, out);
	return p->imported ? CUDA_ERROR_INVALID_VALUE : pool_alloc(p, s, size, out);
}

CUresult soft_cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	struct pool *p = pool_current(s->object.ctx->device); /* referenced */
	r = p ? alloc_from_pool(p, s, size, out) : CUDA_ERROR_OUT_OF_MEMORY;
	object_put(p);
	object_put(s);
	return r;
}

CUresult soft_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream)
{
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	struct pool *p = object_find(pool, KIND_POOL);
	r = p ? alloc_from_pool(p, s, size, out) : CUDA_ERROR_INVALID_VALUE;
	object_put(p);
	object_put(s);
	return r;
}

/* ---- freeing ---- */

/* Payload of command_free: the memory to free when the stream gets here, unless it was reused meanwhile. */
struct free_payload {
	uint64_t addr;
	unsigned long long id; /* the id of the range when cuMemFreeAsync was called */
	struct pool *pool;     /* referenced; NULL: not from a pool */
};

/* The stream has reached the free of a range that was reused meanwhile. */
static void range_forget_owner(struct range *r, void *arg)
{
	const struct free_payload *f = arg;

	if (range_addr(r) != f->addr || r->old_id != f->id)
		return;
	r->old_size = 0;
	r->old_id = 0;
}

/* The pool's lock decides whether a pending block is freed here or reused, never both. */
static void block_free_in_order(struct free_payload *f)
{
	struct pool *p = f->pool;
	struct stream *s = NULL;

	pthread_mutex_lock(&p->lock);
	struct range *r = range_remove_id(f->addr, f->id);
	if (r)
		s = block_give_back(p, r);
	else
		range_change(f->addr, range_forget_owner, f);
	pthread_mutex_unlock(&p->lock);
	object_put(s);
	if (r)
		object_put(p); /* the reference that the block held */
}

static CUresult run_free(struct command *c)
{
	struct free_payload *f = c->data;
	struct range *r;

	if (f->pool)
		block_free_in_order(f);
	else if ((r = range_remove_id(f->addr, f->id)))
		r->release(r);
	return CUDA_SUCCESS;
}

static void release_free(struct command *c)
{
	object_put(((struct free_payload *)c->data)->pool);
}

static const struct command_ops command_free = {COMMAND_OTHER, run_free, release_free, true};

/* Argument and result of range_claim. */
struct claim {
	uint64_t addr;
	unsigned long long id;
	struct pool *pool; /* if the memory is a block of a pool */
	bool ok;
};

/* Mark the memory as freed, so that no other call can free it. */
static void range_claim(struct range *r, void *arg)
{
	const unsigned kinds = 1u << RANGE_DEVICE | 1u << RANGE_POOL | 1u << RANGE_MANAGED;
	struct claim *c = arg;

	if (range_addr(r) != c->addr || r->freeing || r->variable || !(kinds & 1u << r->kind))
		return;
	r->freeing = true;
	c->id = r->id;
	c->pool = r->kind == RANGE_POOL && r->release == block_release ? r->private_data : NULL;
	c->ok = true;
}

static void block_set_pending(struct pool *p, uint64_t addr, struct stream *s, uint64_t number)
{
	struct block *b = pool_block_find(p, addr);

	p->used -= b->wanted;
	b->state = BLOCK_PENDING;
	object_ref(s);
	b->stream = s;
	b->number = number;
	list_append(&p->pending, &b->bin);
}

static CUresult submit_free(struct stream *s, const struct claim *f)
{
	struct command *c = command_create(&command_free, sizeof(struct free_payload));
	struct pool *p = f->pool;
	CUresult r;

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(struct free_payload *)c->data = (struct free_payload){f->addr, f->id, p};
	if (p)
		object_ref(p);
	if (!p || stream_idle(s))
		return stream_submit_quick(s, c);
	/*
	 * The block must be pending before the free runs: the free waits for this lock.  soft.queue_lock comes after
	 * the pool's lock here; no thread takes a pool's lock while it holds soft.queue_lock.
	 */
	object_ref(p);
	pthread_mutex_lock(&p->lock);
	uint64_t number = 0;
	r = stream_submit(s, c, &number);
	if (!r && number)
		block_set_pending(p, f->addr, s, number);
	pthread_mutex_unlock(&p->lock);
	object_put(p);
	return r;
}

CUresult soft_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct claim c = {.addr = ptr};
	struct stream *s;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	if (atomic_load(&s->capture)) {
		r = ptr ? capture_free(s, ptr) : CUDA_SUCCESS;
	} else if (ptr && !graph_free(s, ptr, &r)) {
		range_change(ptr, range_claim, &c);
		r = c.ok ? submit_free(s, &c) : CUDA_ERROR_INVALID_VALUE;
	}
	object_put(s);
	return r;
}
