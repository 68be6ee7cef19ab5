/* The shape of a copy: translation of CUDA's parameters, parts, and the host side's rows. */
#include "backend/remote/copy/block.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/hostmem.h"

/* ---- translation ---- */

/* Address and size of what the copy touches in memory with rows; false: they overflow. */
static bool side_extent(const struct wire_side *s, const struct block *b, uint64_t *from, uint64_t *size)
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

/* Fills in pitch and height where the application may leave them out; false: the rows do not fit. */
static bool side_complete_pitch(struct wire_side *s, const struct block *b)
{
	if (!s->pitch && b->height == 1 && b->depth == 1 && !s->y && !s->z)
		s->pitch = s->x + b->width;
	if (!s->height && b->depth == 1 && !s->z)
		s->height = s->y + b->height;
	if (s->pitch < b->width || s->pitch - b->width < s->x)
		return false;
	return b->depth == 1 || (s->height >= b->height && s->height - b->height >= s->y);
}

static CUresult side_init_memory(struct wire_side *s, struct block *b, bool host)
{
	enum range_check k = RANGE_VALID;
	uint64_t from, size;

	if (!s->what || !side_complete_pitch(s, b) || !side_extent(s, b, &from, &size))
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_shared((void *)(uintptr_t)from, size)) {
		s->kind = WIRE_SIDE_SHARED;
	} else {
		s->kind = host ? SIDE_PAGEABLE : WIRE_SIDE_DEVICE;
		k = host ? RANGE_VALID : memory_check_range(from, size, s == &b->dst);
	}
	b->unknown |= k == RANGE_UNKNOWN;
	return k == RANGE_INVALID ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult side_init(
	struct wire_side *s, struct block *b, CUmemorytype type, const void *host, CUdeviceptr device, CUarray array)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		s->what = (uintptr_t)host;
		return side_init_memory(s, b, true);
	case CU_MEMORYTYPE_DEVICE:
		s->what = device;
		return side_init_memory(s, b, false);
	case CU_MEMORYTYPE_UNIFIED:
		s->what = device;
		return side_init_memory(s, b, memory_place(device) == PLACE_HOST);
	case CU_MEMORYTYPE_ARRAY:
		s->what = (uintptr_t)array;
		s->kind = WIRE_SIDE_ARRAY;
		b->unknown = true; /* its size */
		return array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult block_init(struct block *b, const CUDA_MEMCPY3D_PEER *p, bool peer)
{
	CUresult r;

	*b = (struct block){.width = p->WidthInBytes,
		.height = p->Height,
		.depth = p->Depth,
		.peer = peer,
		.part_max = BLOCK_PART_MAX};
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
	if (block_empty(b))
		return CUDA_SUCCESS;
	r = side_init(&b->src, b, p->srcMemoryType, p->srcHost, p->srcDevice, p->srcArray);
	return r ? r : side_init(&b->dst, b, p->dstMemoryType, p->dstHost, p->dstDevice, p->dstArray);
}

CUresult block_init_3d(struct block *b, const CUDA_MEMCPY3D *p)
{
	CUDA_MEMCPY3D_PEER peer;

	_Static_assert(sizeof peer == sizeof *p, "the same layout, with contexts in place of the reserved fields");
	memcpy(&peer, p, sizeof peer);
	return block_init(b, &peer, false);
}

void block_init_linear(struct block *b, bool up, CUdeviceptr device, const void *host, size_t size, size_t part_max)
{
	struct wire_side on_device = {.kind = WIRE_SIDE_DEVICE, .what = device, .pitch = size, .height = 1};
	struct wire_side on_host = {.kind = SIDE_PAGEABLE, .what = (uintptr_t)host, .pitch = size, .height = 1};

	*b = (struct block){.src = up ? on_host : on_device,
		.dst = up ? on_device : on_host,
		.width = size,
		.height = 1,
		.depth = 1,
		.part_max = part_max,
		.linear = true};
}

bool block_empty(const struct block *b)
{
	return !b->width || !b->height || !b->depth;
}

/* ---- parts ---- */

void block_cut_part(const struct block *b, struct part *p)
{
	size_t rows = b->part_max / b->width, slices;

	p->width = b->width - p->x < b->part_max ? b->width - p->x : b->part_max;
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

unsigned block_count_parts(const struct block *b)
{
	struct part p = {0};
	unsigned n = 0;

	do {
		block_cut_part(b, &p);
		n++;
	} while (block_next_part(b, &p));
	return n;
}

size_t part_bytes(const struct part *p)
{
	return p->width * p->height * p->depth;
}

/* ---- rows of host memory ---- */

char *block_row(const struct wire_side *s, size_t x, size_t y, size_t z)
{
	return (char *)(uintptr_t)s->what + ((s->z + z) * s->height + s->y + y) * s->pitch + s->x + x;
}

void block_pack(char *to, const struct wire_side *s, const struct part *p)
{
	for (size_t z = 0; z < p->depth; z++)
		for (size_t y = 0; y < p->height; y++, to += p->width)
			memcpy(to, block_row(s, p->x, p->y + y, p->z + z), p->width);
}

void block_unpack(const char *from, const struct wire_side *s, const struct part *p)
{
	for (size_t z = 0; z < p->depth; z++)
		for (size_t y = 0; y < p->height; y++, from += p->width)
			memcpy(block_row(s, p->x, p->y + y, p->z + z), from, p->width);
}

void block_move(const struct block *b)
{
	for (size_t z = 0; z < b->depth; z++)
		for (size_t y = 0; y < b->height; y++)
			memmove(block_row(&b->dst, 0, y, z), block_row(&b->src, 0, y, z), b->width);
}

/* ---- frames ---- */

static struct wire_side side_at_part(struct wire_side s, const struct part *p)
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
	return (struct wire_block){.src = side_at_part(b->src, p),
		.dst = side_at_part(b->dst, p),
		.width = p->width,
		.height = p->height,
		.depth = p->depth,
		.stream = s->id,
		.peer = b->peer};
}

CUresult block_post(const struct wire_block *frame, struct stream *s)
{
	struct lane *lane = call_lane();
	struct wire_block *a = call_reserve(lane, sizeof *a);
	CUresult r;

	if (!a)
		return client_lost();
	*a = *frame;
	r = call_send(lane, WIRE_BLOCK, sizeof *a, NULL, 0);
	stream_note_posted(s);
	return r;
}
