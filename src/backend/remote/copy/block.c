/*
 * Copies of blocks.
 *
 * Rows in the application's own memory are packed into bulk memory, or unpacked from it, as many at a time
 * as a piece holds; a device address, an array or shared host memory goes over as it is.
 */
#include <errno.h>
#include <sched.h>
#include "backend/remote/copy/block.h"
#include "backend/remote/code/code.h"
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/graph/graph.h"

/* ---- what the application said ---- */

/* Memory by rows: bytes from the first to the last that the copy touches; false: makes no sense. */
static bool extent(const struct wire_side *s, const struct block *b, uint64_t *from, uint64_t *size)
{
	uint64_t row, rows, first, last;

	if (__builtin_mul_overflow(s->z, s->height, &row) || __builtin_add_overflow(row, s->y, &row) ||
		__builtin_mul_overflow(row, s->pitch, &first) || __builtin_add_overflow(first, s->x, &first) ||
		__builtin_add_overflow(first, s->what, from))
		return false;
	if (__builtin_mul_overflow(b->depth - 1, s->height, &rows) ||
		__builtin_add_overflow(rows, b->height - 1, &rows) || __builtin_mul_overflow(rows, s->pitch, &last) ||
		__builtin_add_overflow(last, b->width, size))
		return false;
	return *from + *size >= *from;
}

/* Pitch and height may be left out where nothing depends on them. */
static bool shape(struct wire_side *s, const struct block *b)
{
	if (!s->pitch && b->height == 1 && b->depth == 1 && !s->y && !s->z)
		s->pitch = s->x + b->width;
	if (!s->height && b->depth == 1 && !s->z)
		s->height = s->y + b->height;
	if (s->pitch < b->width || s->pitch - b->width < s->x)
		return false;
	return b->depth == 1 || (s->height >= b->height && s->height - b->height >= s->y);
}

static CUresult linear(struct wire_side *s, struct block *b, bool host)
{
	enum known k = KNOWN_GOOD;
	uint64_t from, size;

	if (!s->what || !shape(s, b) || !extent(s, b, &from, &size))
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_shared((void *)(uintptr_t)from, size)) {
		s->kind = WIRE_SIDE_SHARED;
	} else {
		s->kind = host ? SIDE_PAGEABLE : WIRE_SIDE_DEVICE;
		k = host ? KNOWN_GOOD : memory_known(from, size, s == &b->dst);
	}
	b->unknown |= k == UNKNOWN;
	return k == KNOWN_BAD ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult side(
	struct wire_side *s, struct block *b, CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		s->what = (uintptr_t)host;
		return linear(s, b, true);
	case CU_MEMORYTYPE_DEVICE:
		s->what = device;
		return linear(s, b, false);
	case CU_MEMORYTYPE_UNIFIED:
		s->what = device;
		return linear(s, b, memory_place(device) == PLACE_HOST);
	case CU_MEMORYTYPE_ARRAY:
		s->what = (uintptr_t)array;
		s->kind = WIRE_SIDE_ARRAY;
		b->unknown = true; /* how large it is */
		return array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult block_init(struct block *b, const CUDA_MEMCPY3D_PEER *p, bool peer)
{
	CUresult r;

	*b = (struct block){
		.width = p->WidthInBytes, .height = p->Height, .depth = p->Depth, .peer = peer, .piece = BLOCK_PIECE};
	b->src = (struct wire_side){.lod = p->srcLOD,
		.x = p->srcXInBytes,
		.y = p->srcY,
		.z = p->srcZ,
		.pitch = p->srcPitch,
		.height = p->srcHeight,
		.context = peer ? (uintptr_t)p->srcContext : 0};
	b->dst = (struct wire_side){.lod = p->dstLOD,
		.x = p->dstXInBytes,
		.y = p->dstY,
		.z = p->dstZ,
		.pitch = p->dstPitch,
		.height = p->dstHeight,
		.context = peer ? (uintptr_t)p->dstContext : 0};
	if (p->srcLOD || p->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (!b->width || !b->height || !b->depth)
		return CUDA_SUCCESS;
	r = side(&b->src, b, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray);
	return r ? r : side(&b->dst, b, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray);
}

/* ---- parts ---- */

/* Rows of a slice, or whole slices, or some of one row. */
void block_cut_part(const struct block *b, struct part *p)
{
	size_t rows = b->piece / b->width, slices;

	p->width = b->width - p->x < b->piece ? b->width - p->x : b->piece;
	p->height = p->depth = 1;
	if (!rows || p->x)
		return;
	p->height = b->height - p->y < rows ? b->height - p->y : rows;
	slices = rows / b->height;
	if (slices && !p->y)
		p->depth = b->depth - p->z < slices ? b->depth - p->z : slices;
}

bool block_next_part(const struct block *b, struct part *p)
{
	p->x += p->width;
	if (p->x < b->width)
		return true;
	p->x = 0;
	p->y += p->height;
	if (p->y < b->height)
		return true;
	p->y = 0;
	p->z += p->depth;
	return p->z < b->depth;
}

static char *row(const struct wire_side *s, size_t x, size_t y, size_t z)
{
	return (char *)(uintptr_t)s->what + ((s->z + z) * s->height + s->y + y) * s->pitch + s->x + x;
}

static void pack(char *to, const struct wire_side *s, const struct part *p)
{
	for (size_t z = 0; z < p->depth; z++)
		for (size_t y = 0; y < p->height; y++, to += p->width)
			memcpy(to, row(s, p->x, p->y + y, p->z + z), p->width);
}

static void unpack(const char *from, const struct wire_side *s, const struct part *p)
{
	for (size_t z = 0; z < p->depth; z++)
		for (size_t y = 0; y < p->height; y++, from += p->width)
			memcpy(row(s, p->x, p->y + y, p->z + z), from, p->width);
}

static void move(const struct block *b)
{
	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++)
			memmove(row(&b->dst, 0, y, z), row(&b->src, 0, y, z), b->width);
}

void block_step(const struct block *b, const struct part *p, struct piece piece, bool up)
{
	char *bulk = (char *)bulk_base(call_link(), up ? BULK_UP : BULK_DOWN, NULL) + piece.offset;

	if (!piece.size)
		move(b);
	else if (up)
		pack(bulk, &b->src, p);
	else
		unpack(bulk, &b->dst, p);
}

static struct wire_side moved(struct wire_side s, const struct part *p)
{
	s.x += p->x;
	s.y += p->y;
	s.z += p->z;
	return s;
}

struct wire_side block_packed_side(enum wire_side_kind kind, const struct part *p, uint64_t offset, uint64_t context)
{
	return (struct wire_side){
		.kind = kind, .what = offset, .pitch = p->width, .height = p->height, .context = context};
}

struct wire_block block_frame(const struct block *b, const struct part *p, struct stream *s)
{
	return (struct wire_block){.src = moved(b->src, p),
		.dst = moved(b->dst, p),
		.width = p->width,
		.height = p->height,
		.depth = p->depth,
		.stream = s->id,
		.peer = b->peer};
}

/* ---- the four ways ---- */

static CUresult part_up(const struct block *b, const struct part *p, struct stream *s)
{
	struct wire_block a = block_frame(b, p, s);
	struct piece piece;
	CUresult r = staging_take(s, p->width * p->height * p->depth, &piece);

	if (r)
		return r;
	block_step(b, p, piece, true);
	a.src = block_packed_side(WIRE_SIDE_BULK, p, piece.offset, b->src.context);
	return staging_post(s, WIRE_BLOCK, &a, sizeof a, piece);
}

static CUresult part_down(const struct block *b, const struct part *p, struct stream *s)
{
	struct wire_block a = block_frame(b, p, s);
	struct piece piece;
	uint64_t work = s->posted;
	uint32_t value;
	CUresult r;
	int e;

	while ((e = bulk_alloc(call_link(), BULK_DOWN, p->width * p->height * p->depth, &piece)) == -EAGAIN &&
		!link_error(call_link(), NULL))
		sched_yield(); /* other threads' copies: they end */
	if (e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a.dst = block_packed_side(WIRE_SIDE_BULK, p, piece.offset, b->dst.context);
	r = stream_post_with_signal(s, WIRE_BLOCK, &a, sizeof a, &value);
	if (!r)
		r = stream_word_wait(s, value);
	if (!r) {
		stream_note_completed(s, work);
		r = stream_async_error(s);
	}
	if (!r)
		block_step(b, p, piece, false);
	bulk_free(call_link(), BULK_DOWN, piece);
	return r;
}

static CUresult by_parts(const struct block *b, struct stream *s,
	CUresult (*one)(const struct block *b, const struct part *p, struct stream *s))
{
	struct part p = {0};
	CUresult r;

	do {
		block_cut_part(b, &p);
		r = one(b, &p, s);
	} while (!r && block_next_part(b, &p));
	return r;
}

CUresult block_post(const struct wire_block *what, struct stream *s)
{
	struct lane *lane = call_lane();
	struct wire_block *a = call_reserve(lane, sizeof *a);
	CUresult r;

	if (!a)
		return call_lost();
	*a = *what;
	r = call_send(lane, WIRE_BLOCK, sizeof *a, NULL, 0);
	stream_note_posted(s);
	return r;
}

static CUresult straight(const struct block *b, struct stream *s)
{
	struct part whole = {.width = b->width, .height = b->height, .depth = b->depth};
	struct wire_block a = block_frame(b, &whole, s);

	return block_post(&a, s);
}

/* Ours both: the stream comes to here, and we copy. */
static CUresult at_home(const struct block *b, struct stream *s)
{
	CUresult r = stream_synchronize(s);

	if (r)
		return r;
	move(b);
	return stream_async_error(s);
}

static bool ours(const struct wire_side *s)
{
	return s->kind == SIDE_PAGEABLE || s->kind == WIRE_SIDE_SHARED;
}

static CUresult run(const struct block *b, struct stream *s, bool wait)
{
	bool from = b->src.kind == SIDE_PAGEABLE, to = b->dst.kind == SIDE_PAGEABLE;
	CUresult r;

	if (ours(&b->src) && ours(&b->dst) && (from || to))
		return at_home(b, s);
	if (to)
		return by_parts(b, s, part_down);
	if (from) {
		r = by_parts(b, s, part_up);
		if (!r && b->unknown)
			r = call_flush();
		return !r && wait && hostmem_pinned(row(&b->src, 0, 0, 0)) ? stream_synchronize(s) : r;
	}
	r = straight(b, s);
	if (!r && b->unknown)
		r = call_flush();
	if (!r && wait && (ours(&b->src) || ours(&b->dst)))
		r = stream_synchronize(s);
	return r || !wait ? r : stream_async_error(s);
}

static bool pageable(const struct wire_side *side)
{
	return side->kind == SIDE_PAGEABLE;
}

static bool later(const struct wire_side *side)
{
	return pageable(side) && deferred_copy_needed((const void *)(uintptr_t)side->what);
}

CUresult block_copy(const CUDA_MEMCPY3D_PEER *p, bool peer, CUstream handle, bool wait)
{
	struct block b;
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	call_work(false);
	r = block_init(&b, p, peer);
	if (r || !b.width || !b.height || !b.depth)
		return r;
	if (s->capturing ? pageable(&b.src) || pageable(&b.dst) : later(&b.src) || later(&b.dst)) {
		CUDA_MEMCPY3D c;
		memcpy(&c, p, sizeof c); /* the same layout: copy3d.c */
		c.reserved0 = c.reserved1 = NULL;
		if (s->capturing)
			return copy_node_capture(s, &c);
		if (!wait)
			return deferred_copy_post(s, &c);
		r = stream_synchronize(s);
		if (r)
			return r;
	}
	pthread_mutex_lock(&s->copy_lock);
	r = run(&b, s, wait);
	pthread_mutex_unlock(&s->copy_lock);
	return r;
}
