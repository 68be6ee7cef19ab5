/*
 * Copies.  Up from pageable memory: through bulk memory, and done with the application's buffer when the
 * call returns, as CUDA has it.  Down to pageable memory: done when the call returns.
 */
#include "backend/remote/remote.h"

#define CHUNK (4u << 20)

/* Shared host memory: the device reads or writes it itself, whenever it gets there. */
static CUresult post_shared(unsigned op, CUdeviceptr device, const void *host, size_t size, struct stream *s)
{
	struct lane *lane = call_lane();
	struct wire_copy *a = call_reserve(lane, sizeof *a);

	if (!a)
		return call_lost();
	*a = (struct wire_copy){.device = device, .host = (uintptr_t)host, .size = size, .stream = s->id};
	stream_posted(s);
	return call_send(lane, op, sizeof *a, NULL, 0);
}

static CUresult post_up(CUdeviceptr dst, const void *src, uint32_t size, struct stream *s)
{
	struct lane *lane = call_lane();
	struct piece piece;
	struct wire_copy *a;
	size_t room;
	CUresult r = stream_bulk(s, size, &piece);

	if (r)
		return r;
	memcpy((char *)bulk_base(call_link(), BULK_UP, &room) + piece.offset, src, size);
	a = call_reserve(lane, sizeof *a);
	if (!a)
		return call_lost();
	*a = (struct wire_copy){.device = dst, .size = size, .stream = s->id};
	r = call_send(lane, WIRE_COPY_UP, sizeof *a, &piece, 1);
	stream_posted(s);
	return r ? r : stream_hold(s, piece);
}

CUresult copy_up(CUdeviceptr dst, const void *src, size_t size, struct stream *s)
{
	CUresult r = CUDA_SUCCESS;

	if (hostmem_shared(src, size))
		return post_shared(WIRE_COPY_UP, dst, src, size, s);
	for (size_t done = 0; done < size && !r; done += CHUNK)
		r = post_up(dst + done, (const char *)src + done, size - done < CHUNK ? size - done : CHUNK, s);
	return r;
}

static CUresult fetch(void *dst, CUdeviceptr src, uint32_t size, struct stream *s)
{
	struct lane *lane = call_lane();
	struct piece piece;
	struct wire_copy *a;
	uint32_t value;
	size_t room;
	CUresult r;

	if (bulk_alloc(call_link(), BULK_DOWN, size, &piece))
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream_word_begin(s, &value);
	a = call_reserve(lane, sizeof *a);
	if (a) {
		*a = (struct wire_copy){.device = src, .size = size, .stream = s->id, .offset = piece.offset,
			.word = s->word, .value = value};
		r = call_send(lane, WIRE_COPY_DOWN, sizeof *a, NULL, 0);
	} else {
		r = call_lost();
	}
	stream_word_end(s);
	if (!r)
		r = stream_word_wait(s, value);
	if (!r)
		r = call_late();
	if (!r)
		memcpy(dst, (char *)bulk_base(call_link(), BULK_DOWN, &room) + piece.offset, size);
	bulk_free(call_link(), BULK_DOWN, piece);
	return r;
}

CUresult copy_down(void *dst, CUdeviceptr src, size_t size, struct stream *s)
{
	CUresult r = CUDA_SUCCESS;

	if (hostmem_shared(dst, size))
		return post_shared(WIRE_COPY_DOWN, src, dst, size, s);
	for (size_t done = 0; done < size && !r; done += CHUNK)
		r = fetch((char *)dst + done, src + done, size - done < CHUNK ? size - done : CHUNK, s);
	return r;
}

CUresult remote_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (!size)
		return CUDA_SUCCESS;
	return src && dst ? copy_up(dst, src, size, s) : CUDA_ERROR_INVALID_VALUE;
}

CUresult remote_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream handle)
{
	CUresult r;
	struct stream *s = stream_find(handle, &r);

	if (!s)
		return r;
	if (!size)
		return CUDA_SUCCESS;
	return src && dst ? copy_down(dst, src, size, s) : CUDA_ERROR_INVALID_VALUE;
}

/* The synchronous ones are the same on the default stream; what the device still does they wait for. */
CUresult remote_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
	CUresult r = remote_cuMemcpyHtoDAsync_v2(dst, src, size, NULL);

	if (!r && hostmem_shared(src, size))
		return remote_cuStreamSynchronize(NULL);
	return r ? r : call_late();
}

CUresult remote_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
	CUresult r = remote_cuMemcpyDtoHAsync_v2(dst, src, size, NULL);

	if (!r && hostmem_shared(dst, size))
		return remote_cuStreamSynchronize(NULL);
	return r;
}

/* Device to device returns before it is done, in CUDA too. */
CUresult remote_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return call_cuMemcpyDtoDAsync_v2(dst, src, size, NULL);
}

/* Unified addresses: each side is ours or the device's. */
CUresult remote_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream handle)
{
	bool to = memory_place(dst) == PLACE_DEVICE, from = memory_place(src) == PLACE_DEVICE;

	if (to && from)
		return call_cuMemcpyDtoDAsync_v2(dst, src, size, handle);
	if (to)
		return remote_cuMemcpyHtoDAsync_v2(dst, (void *)(uintptr_t)src, size, handle);
	if (from)
		return remote_cuMemcpyDtoHAsync_v2((void *)(uintptr_t)dst, src, size, handle);
	CUresult r = remote_cuStreamSynchronize(handle);
	if (!r)
		memmove((void *)(uintptr_t)dst, (void *)(uintptr_t)src, size);
	return r;
}

CUresult remote_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
	return remote_cuMemcpyAsync(dst, src, size, NULL);
}

/* Memsets of device memory return before they are done, in CUDA too. */
CUresult remote_cuMemsetD8_v2(CUdeviceptr dst, unsigned char v, size_t n)
{
	return call_cuMemsetD8Async(dst, v, n, NULL);
}

CUresult remote_cuMemsetD16_v2(CUdeviceptr dst, unsigned short v, size_t n)
{
	return call_cuMemsetD16Async(dst, v, n, NULL);
}

CUresult remote_cuMemsetD32_v2(CUdeviceptr dst, unsigned int v, size_t n)
{
	return call_cuMemsetD32Async(dst, v, n, NULL);
}
