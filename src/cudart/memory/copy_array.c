/* Copies between memory and arrays: of rows, and of runs that continue in the next row of the array. */
#include "cudart/runtime.h"

/* A copy that waits has no stream of its own, one that is queued has. */
struct order {
	bool wait, per_thread;
	cudaStream_t stream;
};

static cudaError_t copy_run(const struct copy_place *from, const struct copy_place *to, size_t width, size_t height,
	cudaMemcpyKind kind, struct order order)
{
	CUDA_MEMCPY3D c;
	cudaError_t e;

	if (!copy_kind_is_valid(kind))
		return cudaErrorInvalidMemcpyDirection;
	if ((!from->array && width > from->pitch) || (!to->array && width > to->pitch))
		return cudaErrorInvalidPitchValue;
	e = copy_shape(&c, from, to, width, height, 1, kind);
	if (e)
		return e;
	return order.wait ? copy_wait(&c, order.per_thread) : copy_queue(&c, order.stream);
}

#define WAIT                 ((struct order){.wait = true, .per_thread = per_thread})
#define QUEUE                ((struct order){.stream = stream})
#define IN_ARRAY(a, x_, y_)  (&(struct copy_place){.array = (a), .pos = {x_, y_, 0}})
#define IN_MEMORY(p, pitch_) (&(struct copy_place){.memory = (p), .pitch = (pitch_)})

cudaError_t rt_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
	size_t width, size_t height, cudaMemcpyKind kind, bool per_thread)
{
	if (!dst)
		return cudaErrorInvalidResourceHandle;
	return copy_run(IN_MEMORY(src, spitch), IN_ARRAY(dst, wOffset, hOffset), width, height, kind, WAIT);
}

cudaError_t rt_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t spitch,
	size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
	if (!dst)
		return cudaErrorInvalidResourceHandle;
	return copy_run(IN_MEMORY(src, spitch), IN_ARRAY(dst, wOffset, hOffset), width, height, kind, QUEUE);
}

cudaError_t rt_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset,
	size_t width, size_t height, cudaMemcpyKind kind, bool per_thread)
{
	if (!src)
		return cudaErrorInvalidResourceHandle;
	return copy_run(IN_ARRAY(src, wOffset, hOffset), IN_MEMORY(dst, dpitch), width, height, kind, WAIT);
}

cudaError_t rt_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
	size_t hOffset, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
	if (!src)
		return cudaErrorInvalidResourceHandle;
	return copy_run(IN_ARRAY(src, wOffset, hOffset), IN_MEMORY(dst, dpitch), width, height, kind, QUEUE);
}

cudaError_t rt_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
	size_t wOffsetSrc, size_t hOffsetSrc, size_t width, size_t height, cudaMemcpyKind kind, bool per_thread)
{
	if (!dst || !src)
		return cudaErrorInvalidResourceHandle;
	return copy_run(IN_ARRAY(src, wOffsetSrc, hOffsetSrc), IN_ARRAY(dst, wOffsetDst, hOffsetDst), width, height,
		kind, WAIT);
}

/* ---- runs of bytes ---- */

static cudaError_t array_row(cudaArray_t array, size_t *bytes)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	size_t element;
	CUresult r = cuArray3DGetDescriptor_v2(&d, array);
	cudaError_t e = r ? from_driver(r) : format_element_size(d.Format, d.NumChannels, &element);

	if (!e)
		*bytes = d.Width * element;
	return e;
}

/* The bytes until the end of a row, or whole rows: what one copy can move. */
static size_t run_part(size_t x, size_t row, size_t count, size_t *height)
{
	*height = 1;
	if (x || count < row)
		return count < row - x ? count : row - x;
	*height = count / row;
	return row;
}

/* A run of `count` bytes between memory and an array, whose rows follow each other. */
static cudaError_t copy_bytes(cudaArray_t array, size_t x, size_t y, const void *memory, size_t count, bool to_array,
	cudaMemcpyKind kind, struct order order)
{
	size_t row, width, height;
	cudaError_t e = array_row(array, &row);

	if (!e && x >= row)
		e = cudaErrorInvalidValue;
	for (const char *p = memory; count && !e; p += width * height, count -= width * height) {
		width = run_part(x, row, count, &height);
		if (to_array)
			e = copy_run(IN_MEMORY(p, width), IN_ARRAY(array, x, y), width, height, kind, order);
		else
			e = copy_run(IN_ARRAY(array, x, y), IN_MEMORY(p, width), width, height, kind, order);
		y += height;
		x = 0;
	}
	return e;
}

cudaError_t rt_cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
	cudaMemcpyKind kind, bool per_thread)
{
	return copy_bytes(dst, wOffset, hOffset, src, count, true, kind, WAIT);
}

cudaError_t rt_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src, size_t count,
	cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_bytes(dst, wOffset, hOffset, src, count, true, kind, QUEUE);
}

cudaError_t rt_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
	cudaMemcpyKind kind, bool per_thread)
{
	return copy_bytes(src, wOffset, hOffset, dst, count, false, kind, WAIT);
}

cudaError_t rt_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count,
	cudaMemcpyKind kind, cudaStream_t stream)
{
	return copy_bytes(src, wOffset, hOffset, dst, count, false, kind, QUEUE);
}

/* The two arrays may break their rows at different places. */
cudaError_t rt_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src,
	size_t wOffsetSrc, size_t hOffsetSrc, size_t count, cudaMemcpyKind kind, bool per_thread)
{
	size_t row_dst, row_src, width, height;
	cudaError_t e = array_row(dst, &row_dst);

	if (!e)
		e = array_row(src, &row_src);
	if (!e && (wOffsetDst >= row_dst || wOffsetSrc >= row_src))
		e = cudaErrorInvalidValue;
	for (; count && !e; count -= width) {
		width = run_part(wOffsetDst, row_dst, count, &height);
		if (width > row_src - wOffsetSrc)
			width = row_src - wOffsetSrc;
		e = copy_run(IN_ARRAY(src, wOffsetSrc, hOffsetSrc), IN_ARRAY(dst, wOffsetDst, hOffsetDst), width, 1,
			kind, WAIT);
		wOffsetDst += width;
		hOffsetDst += wOffsetDst / row_dst;
		wOffsetDst %= row_dst;
		wOffsetSrc += width;
		hOffsetSrc += wOffsetSrc / row_src;
		wOffsetSrc %= row_src;
	}
	return e;
}
