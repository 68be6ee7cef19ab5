/* Variables of the program's code: addresses, sizes and copies. */
#include "cudart/runtime.h"

cudaError_t rt_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	CUdeviceptr address;
	cudaError_t e;

	if (!devPtr)
		return cudaErrorInvalidValue;
	e = symbol_variable(symbol, &address, NULL);
	if (!e)
		*devPtr = (void *)address;
	return e;
}

cudaError_t rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr address;

	return size ? symbol_variable(symbol, &address, size) : cudaErrorInvalidValue;
}

/* The address of `count` bytes at `offset` in the variable. */
static cudaError_t symbol_range(const void *symbol, size_t count, size_t offset, void **range)
{
	CUdeviceptr address;
	size_t size;
	cudaError_t e = symbol_variable(symbol, &address, &size);

	if (e)
		return e;
	if (offset > size || count > size - offset)
		return cudaErrorInvalidValue;
	*range = (void *)(address + offset);
	return cudaSuccess;
}

static bool kind_reaches_symbol(cudaMemcpyKind kind)
{
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

static bool kind_leaves_symbol(cudaMemcpyKind kind)
{
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

cudaError_t symbol_target(const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, void **dst)
{
	if (!kind_reaches_symbol(kind))
		return cudaErrorInvalidMemcpyDirection;
	return symbol_range(symbol, count, offset, dst);
}

cudaError_t symbol_source(const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, void **src)
{
	if (!kind_leaves_symbol(kind))
		return cudaErrorInvalidMemcpyDirection;
	return symbol_range(symbol, count, offset, src);
}

cudaError_t rt_cudaMemcpyToSymbol(
	const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind, bool per_thread)
{
	void *dst;
	cudaError_t e = symbol_target(symbol, count, offset, kind, &dst);

	return e ? e : rt_cudaMemcpy(dst, src, count, kind, per_thread);
}

cudaError_t rt_cudaMemcpyToSymbolAsync(
	const void *symbol, const void *src, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
	void *dst;
	cudaError_t e = symbol_target(symbol, count, offset, kind, &dst);

	return e ? e : rt_cudaMemcpyAsync(dst, src, count, kind, stream);
}

cudaError_t rt_cudaMemcpyFromSymbol(
	void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, bool per_thread)
{
	void *src;
	cudaError_t e = symbol_source(symbol, count, offset, kind, &src);

	return e ? e : rt_cudaMemcpy(dst, src, count, kind, per_thread);
}

cudaError_t rt_cudaMemcpyFromSymbolAsync(
	void *dst, const void *symbol, size_t count, size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
	void *src;
	cudaError_t e = symbol_source(symbol, count, offset, kind, &src);

	return e ? e : rt_cudaMemcpyAsync(dst, src, count, kind, stream);
}
