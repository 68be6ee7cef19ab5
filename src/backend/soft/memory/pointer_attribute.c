/*
 * Pointer attributes.  Querying one attribute of an unknown pointer is an error; querying a list of attributes gives
 * the values that mean "unknown".
 */
#include "backend/soft/memory/range.h"

#include <string.h>

#include "backend/soft/memory/vmm.h"

#define MAPPING_UNIT 0x200000u /* the vendor driver maps multiples of 2 MiB, and so these attributes say */

static bool range_on_host(const struct range *r)
{
	return r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED ||
	       (r->kind == RANGE_POOL && r->flags & RANGE_ON_HOST);
}

static bool range_in_pool(const struct range *r)
{
	return r->kind == RANGE_POOL;
}

static bool range_is_mapping(const struct range *r)
{
	return r->kind == RANGE_MAPPED || r->kind == RANGE_RESERVED;
}

static unsigned access_flags(const struct range *r)
{
	if (r->kind == RANGE_RESERVED)
		return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
	return r->read_only ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

/* The mapping that the range is in: the range itself, or the larger block it is part of. */
static void mapping_bounds(const struct range *r, uint64_t *base, uint64_t *size)
{
	*base = range_addr(r);
	*size = r->size;
	if (range_in_pool(r) && r->enclosing) {
		*base = r->enclosing;
		*size = r->enclosing_size;
	} else if (r->kind == RANGE_DEVICE || r->kind == RANGE_VARIABLE) {
		*base &= -(uint64_t)MAPPING_UNIT;
		*size = (range_addr(r) + r->size - *base + MAPPING_UNIT - 1) & -(uint64_t)MAPPING_UNIT;
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

/* CUDA_ERROR_INVALID_VALUE: this pointer lacks the attribute; a value is written all the same. */
static CUresult range_attribute(void *data, CUpointer_attribute attribute, uint64_t ptr, const struct range *r)
{
	bool reserved = range_is_mapping(r) && r->enclosing;
	CUresult result = CUDA_SUCCESS;
	uint64_t base, size;

	mapping_bounds(r, &base, &size);
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		put64(data, range_in_pool(r) || range_is_mapping(r) ? 0 : r->ctx_handle);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		put32(data, range_on_host(r) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if (r->kind == RANGE_RESERVED)
			result = CUDA_ERROR_INVALID_VALUE;
		put64(data, result ? 0 : ptr);
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!range_on_host(r) && r->kind != RANGE_MANAGED)
			result = CUDA_ERROR_INVALID_VALUE;
		put64(data, result ? 0 : ptr);
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		memset(data, 0, sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS));
		return range_on_host(r) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
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
		put64(data, reserved ? r->enclosing : range_addr(r));
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		put64(data, reserved ? r->enclosing_size : r->size);
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
		put64(data, range_in_pool(r) ? r->handle : 0);
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

/* The value of an attribute in a list, for an unknown pointer. */
static void unknown_pointer_attribute(void *data, CUpointer_attribute attribute, uint64_t ptr)
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

static bool pointer_find(uint64_t ptr, struct range *r)
{
	return range_find(ptr, 1, r) && r->kind != RANGE_ARRAY;
}

CUresult soft_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!data || !attribute_ok(attribute) || !pointer_find(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	return range_attribute(data, attribute, ptr, &r);
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
	bool found = pointer_find(ptr, &r);
	for (unsigned i = 0; i < n; i++) {
		if (found)
			range_attribute(data[i], attributes[i], ptr, &r);
		else
			unknown_pointer_attribute(data[i], attributes[i], ptr);
	}
	return CUDA_SUCCESS;
}

static void range_set_sync_memops(struct range *r, void *arg)
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
	return range_change(ptr, range_set_sync_memops, &on) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* A dma-buf is for drivers of other devices; host memory cannot be exported as one. */
CUresult soft_cuMemGetHandleForAddressRange(
	void *handle, CUdeviceptr ptr, size_t size, CUmemRangeHandleType type, unsigned long long flags)
{
	struct range r;

	if (!atomic_load(&soft.ready))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~1ull || !pointer_find(ptr, &r) || !size)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}
