/*
 * What an application can ask about a pointer.  A single question about an unknown pointer is an error; in a
 * list of questions it has an answer, the one that says "unknown".
 */
#include "backend/soft/memory/range.h"

#include <string.h>

#include "backend/soft/memory/vmm.h"

#define MAPPING 0x200000u /* the vendor's driver maps in pieces of 2 MiB; so, to the eye, do we */

static bool on_host(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED ||
	       (r->kind == RANGE_POOL && r->flags & RANGE_ON_HOST);
}

static bool in_pool(const struct range *r)
{
	return r->kind == RANGE_POOL;
}

static bool is_mapping(const struct range *r)
{
	return r->kind == RANGE_MAPPED || r->kind == RANGE_RESERVED;
}

static unsigned access_flags(const struct range *r)
{
	if (r->kind == RANGE_RESERVED)
		return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
	return r->read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

/* Where the memory is mapped: the range, or the larger thing it is a part of. */
static void mapping(const struct range *r, uint64_t *base, uint64_t *size)
{
	*base = range_addr(r);
	*size = r->size;
	if (in_pool(r) && r->enclosing) {
		*base = r->enclosing;
		*size = r->enclosing_size;
	} else if (r->kind == RANGE_DEVICE || r->kind == RANGE_VARIABLE) {
		*base &= -(uint64_t)MAPPING;
		*size = (range_addr(r) + r->size - *base + MAPPING - 1) & -(uint64_t)MAPPING;
	}
}

static void put32(void *data, uint32_t value)
{
	memcpy(data, &value, sizeof value);
}

static void put64(void *data, uint64_t value)
{
	memcpy(data, &value, sizeof value);
}

/* 0, or 1: the attribute exists, but this pointer has none.  Then, too, something is written. */
static CUresult known(void *data, CUpointer_attribute attribute, uint64_t ptr, const struct range *r)
{
	bool whole = is_mapping(r) && r->enclosing;
	CUresult result = CUDA_SUCCESS;
	uint64_t base, size;

	mapping(r, &base, &size);
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put64(data, in_pool(r) || is_mapping(r) ? 0 : r->ctx_handle);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put32(data, on_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if (r->kind == RANGE_RESERVED)
			result = CUDA_ERROR_INVALID_VALUE;
		put64(data, result ? 0 : ptr);
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!on_host(r) && r->kind != RANGE_MANAGED)
			result = CUDA_ERROR_INVALID_VALUE;
		put64(data, result ? 0 : ptr);
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		memset(data, 0, sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS));
		return on_host(r) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		put32(data, r->sync_memops);
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		put64(data, r->id);
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		put32(data, r->kind == RANGE_MANAGED);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put32(data, r->device->ordinal);
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		put32(data, r->kind == RANGE_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		put64(data, whole ? r->enclosing : range_addr(r));
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		put64(data, whole ? r->enclosing_size : r->size);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		put32(data, 1);
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		put64(data, r->shareable);
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		put32(data, 0);
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		put32(data, access_flags(r));
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		put64(data, in_pool(r) ? r->handle : 0);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		put64(data, size);
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		put64(data, base);
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return result;
}

/* For a list of questions: what an unknown pointer has. */
static void unknown(void *data, CUpointer_attribute attribute, uint64_t ptr)
{
	uint64_t base, size;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		put64(data, ptr);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		put32(data, CU_DEVICE_INVALID);
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		if (vmm_reservation(ptr, &base, &size))
			put64(data, attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE ? size : base);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		put32(data, 0);
		break;
	default:
		put64(data, 0);
	}
}

static bool attribute_ok(CUpointer_attribute attribute)
{
	return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

static bool find(uint64_t ptr, struct range *r)
{
	return range_find(ptr, 1, r) && r->kind != RANGE_ARRAY;
}

CUresult soft_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!data || !attribute_ok(attribute) || !find(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return known(data, attribute, ptr, &r);
}

CUresult soft_cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!n || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (!attribute_ok(attributes[i]) || attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS || !data[i])
			return CUDA_ERROR_INVALID_VALUE;
	bool found = find(ptr, &r);
	for (unsigned i = 0; i < n; i++) {
		if (found)
			known(data[i], attributes[i], ptr, &r);
		else
			unknown(data[i], attributes[i], ptr);
	}
	return CUDA_SUCCESS;
}

static void set_sync(struct range *r, void *arg)
{
	r->sync_memops = *(const bool *)arg;
}

CUresult soft_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	uint32_t word;
	memcpy(&word, value, sizeof word);
	bool on = word;
	return range_change(ptr, set_sync, &on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A dma-buf is for other devices' drivers; the memory of this one is no device's. */
CUresult soft_cuMemGetHandleForAddressRange(
	void *handle, CUdeviceptr ptr, size_t size, CUmemRangeHandleType type, unsigned long long flags)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~1ull || !find(ptr, &r) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}
