/* Copies of 2D and 3D blocks, between linear memory and arrays: checking and running them. */
#include "backend/soft/copy/copy3d.h"

#include <string.h>

#include "backend/soft/copy/copy.h"
#include "backend/soft/memory/range.h"

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* The bytes from the first to the last byte of a side; false: overflow. */
static bool side_extent(const struct copy_side *side, const struct copy3d *c, uint64_t *bytes)
{
	uint64_t slices, rows;

	return !__builtin_mul_overflow(c->depth - 1, side->slice, &slices) &&
	       !__builtin_mul_overflow(c->height - 1, side->pitch, &rows) &&
	       !__builtin_add_overflow(slices, rows, bytes) && !__builtin_add_overflow(*bytes, c->width, bytes) &&
	       side->addr + *bytes >= side->addr;
}

/* Whether a side is still accessible.  Its array is referenced; pageable memory is the application's. */
static bool side_accessible(const struct copy_side *side, const struct copy3d *c, bool write)
{
	uint64_t bytes;

	if (side->array || side->pageable)
		return true;
	return side_extent(side, c, &bytes) &&
	       (write ? range_writable(side->addr, bytes) : range_accessible(side->addr, bytes));
}

/* Fuzz builds: a side that was driver memory when the copy was submitted still is. */
static void side_check_touched(const struct copy_side *side, const struct copy3d *c, const char *what)
{
	uint64_t bytes = 0;

	if (!side->array && !side->pageable)
		range_check_touched(side->addr, side_extent(side, c, &bytes) ? bytes : UINT64_MAX, what);
}

static CUresult run_copy3d(struct command *command)
{
	const struct copy3d *c = command->data;
	const struct copy_side *d = &c->dst, *s = &c->src;
	bool contiguous = d->pitch == c->width && s->pitch == c->width;
	size_t height = contiguous ? 1 : c->height, width = contiguous ? c->width * c->height : c->width;
	CUresult r = CUDA_SUCCESS;

	range_touch_begin();
	if ((c->check || d->check) && !side_accessible(d, c, true))
		r = CUDA_ERROR_ILLEGAL_ADDRESS;
	if ((c->check || s->check) && !side_accessible(s, c, false))
		r = CUDA_ERROR_ILLEGAL_ADDRESS;
	if (r) {
		range_touch_end();
		return r;
	}
	if (c->check || d->check)
		side_check_touched(d, c, "the target of a block copy");
	if (c->check || s->check)
		side_check_touched(s, c, "the source of a block copy");
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < height; y++) {
			memmove(to_pointer(d->addr + z * d->slice + y * d->pitch),
				to_pointer(s->addr + z * s->slice + y * s->pitch), width);
			check_written(d->addr + z * d->slice + y * d->pitch, width);
		}
	range_touch_end();
	return CUDA_SUCCESS;
}

void copy3d_finish(struct copy3d *c)
{
	object_put(c->dst.array);
	object_put(c->src.array);
	c->dst.array = c->src.array = NULL;
}

static void release_copy3d(struct command *c)
{
	copy3d_finish(c->data);
}

const struct command_ops command_copy3d = {COMMAND_COPY, run_copy3d, release_copy3d, false};

bool copy3d_params(const struct command *c, CUDA_MEMCPY3D *m)
{
	if (c->ops != &command_copy3d)
		return false;
	*m = ((const struct copy3d *)c->data)->params;
	return true;
}

/* ---- checking ---- */

/* One side of a CUDA_MEMCPY3D. */
struct operand {
	size_t x, y, z, pitch, height;
	CUmemorytype type;
	uint64_t host, device;
	CUarray array;
	bool write;
};

static CUresult side_init_linear(struct copy_side *side, const struct operand *o, const struct copy3d *c)
{
	uint64_t base = o->type == CU_MEMORYTYPE_HOST ? o->host : o->device, bytes, offset, row, skip;
	struct range r;

	if (!base || (o->pitch && (o->pitch < c->width || o->x > o->pitch - c->width)) ||
		(o->height && (o->height < c->height || o->y > o->height - c->height)))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_add_overflow(o->x, c->width, &side->pitch) || __builtin_add_overflow(o->y, c->height, &row))
		return CUDA_ERROR_INVALID_VALUE;
	if (o->pitch)
		side->pitch = o->pitch;
	if (o->height)
		row = o->height;
	if (__builtin_mul_overflow(row, side->pitch, &side->slice) ||
		__builtin_mul_overflow(o->z, side->slice, &offset) ||
		__builtin_mul_overflow(o->y, side->pitch, &skip) || __builtin_add_overflow(offset, skip, &offset) ||
		__builtin_add_overflow(offset, o->x, &offset) || __builtin_add_overflow(base, offset, &side->addr) ||
		!side_extent(side, c, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (o->write ? range_writable(side->addr, bytes) : range_accessible(side->addr, bytes)) {
		side->check = range_may_be_freed(side->addr);
		return CUDA_SUCCESS;
	}
	/* Not fully accessible to the device: pageable host memory, or an error. */
	bool known = range_find(side->addr, 1, &r);
	if (o->type == CU_MEMORYTYPE_DEVICE || (known && r.kind != RANGE_REGISTERED && r.kind != RANGE_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	side->pageable = true;
	return CUDA_SUCCESS;
}

static CUresult side_init_array(struct copy_side *side, const struct operand *o, const struct copy3d *c)
{
	struct array *a = object_find(o->array, KIND_ARRAY);

	if (!a)
		return CUDA_ERROR_INVALID_VALUE;
	size_t width = a->desc.Width * a->element, height = a->desc.Height ? a->desc.Height : 1;
	size_t depth = a->desc.Depth ? a->desc.Depth : 1;
	if (c->width > width || o->x > width - c->width || c->height > height || o->y > height - c->height ||
		c->depth > depth || o->z > depth - c->depth) {
		object_put(a);
		return CUDA_ERROR_INVALID_VALUE;
	}
	side->array = a;
	side->pitch = a->pitch;
	side->slice = a->slice;
	side->addr = a->addr + o->z * a->slice + o->y * a->pitch + o->x;
	return CUDA_SUCCESS;
}

static CUresult side_init(struct copy_side *side, const struct operand *o, const struct copy3d *c)
{
	switch (o->type) {
	case CU_MEMORYTYPE_HOST:
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		return side_init_linear(side, o, c);
	case CU_MEMORYTYPE_ARRAY:
		return side_init_array(side, o, c);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult copy3d_init(struct copy3d *c, const CUDA_MEMCPY3D *p)
{
	struct operand src = {p->srcXInBytes, p->srcY, p->srcZ, p->srcPitch, p->srcHeight, p->srcMemoryType,
		(uintptr_t)p->srcHost, p->srcDevice, p->srcArray, false};
	struct operand dst = {p->dstXInBytes, p->dstY, p->dstZ, p->dstPitch, p->dstHeight, p->dstMemoryType,
		(uintptr_t)p->dstHost, p->dstDevice, p->dstArray, true};

	*c = (struct copy3d){.params = *p};
	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return CUDA_SUCCESS;
	c->width = p->WidthInBytes;
	c->height = p->Height;
	c->depth = p->Depth;
	CUresult r = side_init(&c->src, &src, c);
	if (!r)
		r = side_init(&c->dst, &dst, c);
	if (r)
		copy3d_finish(c);
	return r;
}

CUresult copy3d_submit(struct copy3d *c, struct stream *s, bool async)
{
	bool captured = atomic_load(&s->capture), pageable = c->src.pageable || c->dst.pageable;
	struct command *command = c->width ? command_create(&command_copy3d, sizeof *c) : NULL;

	if (!command) {
		CUresult r = c->width ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;

		copy3d_finish(c);
		return r;
	}
	c->check = captured;
	*(struct copy3d *)command->data = *c;
	if ((!async || pageable) && !captured)
		return stream_run(s, command);
	return c->width * c->height * c->depth <= COPY_QUICK ? stream_submit_quick(s, command)
							     : stream_submit(s, command, NULL);
}
