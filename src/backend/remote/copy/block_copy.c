/* Copies of blocks: chooses between a staged copy, a copy that the server makes alone, and one that is made here. */
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/hostmem/hostmem.h"

static bool side_pageable(const struct wire_side *s)
{
	return s->kind == SIDE_PAGEABLE;
}

/* The host can touch it. */
static bool side_on_host(const struct wire_side *s)
{
	return s->kind == SIDE_PAGEABLE || s->kind == WIRE_SIDE_SHARED;
}

/* The server reaches both sides. */
static CUresult block_post_whole(const struct block *b, struct stream *s)
{
	struct part all = {.width = b->width, .height = b->height, .depth = b->depth};
	struct wire_block frame = block_frame(b, &all, s);

	return block_post(&frame, s);
}

/* Both sides are host memory, at least one of which the server cannot reach: wait for the stream, then copy here. */
static CUresult block_copy_here(const struct block *b, struct stream *s)
{
	CUresult r = stream_synchronize(s);

	if (r)
		return r;
	block_move(b);
	return stream_async_error(s);
}

/* copy_lock held. */
static CUresult block_copy_now(const struct block *b, struct stream *s, bool wait)
{
	bool from = side_pageable(&b->src), to = side_pageable(&b->dst);
	struct staged_copy c;
	CUresult r;

	if (side_on_host(&b->src) && side_on_host(&b->dst) && (from || to))
		return block_copy_here(b, s);
	staged_copy_init(&c, b);
	if (to)
		return staged_copy_down(&c, s);
	r = from ? staged_copy_up(&c, s) : block_post_whole(b, s);
	if (!r && b->unknown)
		r = call_flush();
	if (from)
		return !r && wait && hostmem_pinned(block_row(&b->src, 0, 0, 0)) ? stream_synchronize(s) : r;
	if (!r && wait && (side_on_host(&b->src) || side_on_host(&b->dst)))
		r = stream_synchronize(s);
	return r || !wait ? r : stream_async_error(s);
}

static bool side_needs_deferring(const struct wire_side *s)
{
	return side_pageable(s) && deferred_copy_needed((const void *)(uintptr_t)s->what);
}

CUresult block_copy(const CUDA_MEMCPY3D_PEER *p, bool peer, CUstream handle, bool wait)
{
	struct block b;
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	mirror_before_work(false);
	r = block_init(&b, p, peer);
	if (r || block_empty(&b))
		return r;
	if (s->capturing ? side_pageable(&b.src) || side_pageable(&b.dst)
			 : side_needs_deferring(&b.src) || side_needs_deferring(&b.dst)) {
		CUDA_MEMCPY3D c;
		memcpy(&c, p, sizeof c); /* the same layout: block_init_3d */
		c.reserved0 = c.reserved1 = NULL;
		if (s->capturing || !wait)
			return staged_copy_defer(s, &c);
		r = stream_synchronize(s);
		if (r)
			return r;
	}
	pthread_mutex_lock(&s->copy_lock);
	r = block_copy_now(&b, s, wait);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}

CUresult block_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool wait)
{
	CUDA_MEMCPY3D_PEER peer;

	memcpy(&peer, p, sizeof peer); /* the same layout: block_init_3d */
	return block_copy(&peer, false, stream, wait);
}
