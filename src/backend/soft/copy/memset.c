/* Fills: cuMemset*. */
#include "backend/soft/copy/copy.h"

#include <string.h>

#include "backend/soft/memory/range.h"

static void fill_row(unsigned char *dst, const struct fill *s)
{
	uint16_t *d16 = (uint16_t *)dst;
	uint32_t *d32 = (uint32_t *)dst;

	if (s->element == 1)
		memset(dst, (int)s->value, s->width);
	for (size_t i = 0; s->element == 2 && i < s->width; i++)
		d16[i] = (uint16_t)s->value;
	for (size_t i = 0; s->element == 4 && i < s->width; i++)
		d32[i] = s->value;
}

static CUresult run_fill(struct command *c)
{
	struct fill *s = c->data;
	uint64_t bytes;

	range_touch_begin();
	if (s->check && (!fill_extent(s, &bytes) || !range_writable(s->dst, bytes))) {
		range_touch_end();
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	}
#ifdef GANGWAY_CHECK_RANGES
	if (s->check)
		range_check_touched(s->dst, fill_extent(s, &bytes) ? bytes : UINT64_MAX, "a fill");
#endif
	for (size_t y = 0; y < s->height; y++)
		fill_row((unsigned char *)(uintptr_t)s->dst + y * s->pitch, s);
	for (size_t y = 0; y < s->height; y++)
		check_written(s->dst + y * s->pitch, s->width * s->element);
	range_touch_end();
	return CUDA_SUCCESS;
}

const struct command_ops command_fill = {COMMAND_FILL, run_fill, NULL, false};

bool fill_extent(const struct fill *s, uint64_t *bytes)
{
	uint64_t row, rows;

	if (__builtin_mul_overflow(s->width, (uint64_t)s->element, &row))
		return false;
	if (s->height > 1 && s->pitch < row)
		return false;
	if (__builtin_mul_overflow(s->height - 1, s->pitch, &rows))
		return false;
	return !__builtin_add_overflow(rows, row, bytes);
}

static CUresult fill_check(const struct fill *s, uint64_t *bytes)
{
	if (!s->dst || s->dst % s->element || (s->height > 1 && s->pitch % s->element))
		return CUDA_ERROR_INVALID_VALUE;
	if (!fill_extent(s, bytes) || s->dst + *bytes < s->dst || !range_writable(s->dst, *bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult fill_submit(const struct fill *fill, uint64_t bytes, struct stream *s)
{
	struct command *c = command_create(&command_fill, sizeof *fill);

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*(struct fill *)c->data = *fill;
	((struct fill *)c->data)->check = atomic_load(&s->capture) || range_may_be_freed(fill->dst);
	return bytes <= COPY_QUICK ? stream_submit_quick(s, c) : stream_submit(s, c, NULL);
}

/* The synchronous forms need not wait either: later work in the stream does. */
static CUresult fill_memory(struct fill fill, CUstream stream)
{
	struct stream *s;
	uint64_t bytes = 0;
	CUresult r = stream_enter(stream, &s);

	if (r)
		return r;
	if (fill.width && fill.height) {
		r = fill_check(&fill, &bytes);
		if (!r)
			r = fill_submit(&fill, bytes, s);
	}
	object_put(s);
	return r;
}

static CUresult fill_linear(CUdeviceptr dst, uint32_t value, unsigned element, size_t n, CUstream stream)
{
	return fill_memory((struct fill){dst, 0, n, 1, element, value}, stream);
}

/* ---- entry points ---- */

#define MEMSET(bits, type) \
	CUresult soft_cuMemsetD##bits##_v2(CUdeviceptr dst, type value, size_t n) \
	{ \
		return fill_linear(dst, value, bits / 8, n, NULL); \
	} \
	CUresult soft_cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t n, CUstream stream) \
	{ \
		return fill_linear(dst, value, bits / 8, n, stream); \
	} \
	CUresult soft_cuMemsetD2D##bits##_v2(CUdeviceptr dst, size_t pitch, type value, size_t w, size_t h) \
	{ \
		return fill_memory((struct fill){dst, pitch, w, h, bits / 8, value}, NULL); \
	} \
	CUresult soft_cuMemsetD2D##bits##Async( \
		CUdeviceptr dst, size_t pitch, type value, size_t w, size_t h, CUstream stream) \
	{ \
		return fill_memory((struct fill){dst, pitch, w, h, bits / 8, value}, stream); \
	}

MEMSET(8, unsigned char)
MEMSET(16, unsigned short)
MEMSET(32, unsigned int)
