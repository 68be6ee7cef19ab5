/*
 * What an application can ask about a pointer.  Host memory we know ourselves; of the device's the server is
 * asked.  A single question about an unknown pointer is an error; in a list of questions it has an
 * answer, the one that says "unknown".
 */
#include "backend/remote/memory/hostmem.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/memory/mirror.h"

static void put(void *data, CUpointer_attribute attribute, uint64_t value)
{
	uint32_t half = value;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		memcpy(data, &half, sizeof half);
		break;
	default:
		memcpy(data, &value, sizeof value);
	}
}

static CUresult of_host(const struct host_info *h, CUpointer_attribute attribute, uint64_t ptr, uint64_t *value)
{
	bool managed = h->kind == HOST_MANAGED;

	*value = 0;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*value = h->context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*value = managed ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*value = h->shared ? ptr : 0;
		return h->shared ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*value = ptr;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*value = h->sync_memops;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*value = h->id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*value = managed;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*value = h->device;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*value = h->base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*value = h->size;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*value = h->shared;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*value = h->shared ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
		break;
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		return CUDA_ERROR_INVALID_VALUE;
	default:
		break;
	}
	return CUDA_SUCCESS;
}

static uint64_t unknown(CUpointer_attribute attribute, uint64_t ptr)
{
	if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
		return ptr;
	return attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)CU_DEVICE_INVALID : 0;
}

static bool attribute_ok(CUpointer_attribute attribute)
{
	return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

/*
 * Where it may be touched is not the server's to say: it is the device's, and the host's too only if we have a copy of
 * it at this very address.
 */
static void correct(uint64_t ptr, struct wire_pointer *p)
{
	bool here = mirror_holds(ptr);

	p->value[CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = CU_MEMORYTYPE_DEVICE;
	p->value[CU_POINTER_ATTRIBUTE_IS_MANAGED] = here;
	p->value[CU_POINTER_ATTRIBUTE_HOST_POINTER] = here ? ptr : 0;
	if (!here)
		p->result[CU_POINTER_ATTRIBUTE_HOST_POINTER] = CUDA_ERROR_INVALID_VALUE;
	if (p->value[CU_POINTER_ATTRIBUTE_DEVICE_POINTER])
		p->value[CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = ptr;
}

/* Everything about it at once: who asks for one thing soon asks for another. */
static CUresult ask(uint64_t ptr, struct wire_pointer *out)
{
	struct wire_pointer_ask a = {.address = ptr};
	CUresult r = call_sync(WIRE_POINTER, &a, sizeof a, NULL, 0, &(struct wire_piece){out, sizeof *out}, 1);

	if (!r)
		correct(ptr, out);
	return r;
}

CUresult remote_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct host_info info;
	struct wire_pointer all;
	uint64_t value;
	CUresult r;

	if (!data || !attribute_ok(attribute))
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_find(ptr, &info)) {
		r = of_host(&info, attribute, ptr, &value);
	} else if (memory_place(ptr) != PLACE_DEVICE) {
		return CUDA_ERROR_INVALID_VALUE;
	} else {
		if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
			return CUDA_ERROR_NOT_SUPPORTED;
		r = ask(ptr, &all);
		if (r)
			return r;
		r = (CUresult)all.result[attribute];
		value = all.value[attribute];
	}
	put(data, attribute, value);
	return r;
}

CUresult remote_cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
	struct host_info info;
	struct wire_pointer all;
	bool host, device;
	uint64_t value;

	if (!n || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (!attribute_ok(attributes[i]) || attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS || !data[i])
			return CUDA_ERROR_INVALID_VALUE;
	host = hostmem_find(ptr, &info);
	device = !host && memory_place(ptr) == PLACE_DEVICE;
	if (device) {
		CUresult r = ask(ptr, &all);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < n; i++) {
		if (host)
			of_host(&info, attributes[i], ptr, &value);
		else
			value = device ? all.value[attributes[i]] : unknown(attributes[i], ptr);
		put(data[i], attributes[i], value);
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct wire_pointer_ask a = {.address = ptr, .set = 1};
	struct wire_pointer all;
	struct host_info info;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&a.value, value, sizeof a.value);
	if (hostmem_find(ptr, &info))
		return hostmem_set_sync(ptr, a.value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (memory_place(ptr) != PLACE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return call_sync(WIRE_POINTER, &a, sizeof a, NULL, 0, &(struct wire_piece){&all, sizeof all}, 1);
}

/* A dma-buf is for other drivers of the machine that the device is in. */
CUresult remote_cuMemGetHandleForAddressRange(
	void *handle, CUdeviceptr ptr, size_t size, CUmemRangeHandleType type, unsigned long long flags)
{
	if (!handle || !size || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~1ull ||
		memory_place(ptr) == PLACE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}
