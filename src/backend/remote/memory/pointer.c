/*
 * Pointer attributes.  The client knows those of host memory and asks the server for those of device memory.  Asking for
 * one attribute of an unknown pointer is an error; in a list of attributes each one has a value that says "unknown".
 */
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/memory/memory.h"
#include "backend/remote/hostmem/mirror.h"

static void attribute_store(void *data, CUpointer_attribute attribute, uint64_t value)
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

static CUresult host_attribute(const struct host_info *h, CUpointer_attribute attribute, uint64_t ptr, uint64_t *value)
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

static uint64_t unknown_attribute(CUpointer_attribute attribute, uint64_t ptr)
{
	if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
		return ptr;
	return attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)CU_DEVICE_INVALID : 0;
}

static bool attribute_valid(CUpointer_attribute attribute)
{
	return attribute >= CU_POINTER_ATTRIBUTE_CONTEXT && attribute <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

/*
 * The client does not trust the server to say what the host may touch: memory with a device address is device memory, and
 * the host may touch it only where the client mirrors that address.
 */
static void pointer_attributes_correct(uint64_t ptr, struct wire_pointer *p)
{
	bool mirrored = mirror_holds(ptr);

	p->value[CU_POINTER_ATTRIBUTE_MEMORY_TYPE] = CU_MEMORYTYPE_DEVICE;
	p->value[CU_POINTER_ATTRIBUTE_IS_MANAGED] = mirrored;
	p->value[CU_POINTER_ATTRIBUTE_HOST_POINTER] = mirrored ? ptr : 0;
	if (!mirrored)
		p->result[CU_POINTER_ATTRIBUTE_HOST_POINTER] = CUDA_ERROR_INVALID_VALUE;
	if (p->value[CU_POINTER_ATTRIBUTE_DEVICE_POINTER])
		p->value[CU_POINTER_ATTRIBUTE_DEVICE_POINTER] = ptr;
}

/* All attributes in one call, and for an allocation in one call as long as it lives: PyTorch asks before many launches. */
static CUresult pointer_attributes_ask(uint64_t ptr, struct wire_pointer *out)
{
	struct wire_pointer_ask a = {.address = ptr};
	CUresult r = CUDA_SUCCESS;
	uint64_t number;

	if (!memory_attributes(ptr, out, &number)) {
		r = call_sync(WIRE_POINTER, &a, sizeof a, NULL, 0, &(struct wire_piece){out, sizeof *out}, 1);
		if (!r && number)
			memory_keep_attributes(ptr, number, out);
	}
	if (!r)
		pointer_attributes_correct(ptr, out);
	return r;
}

CUresult remote_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct host_info info;
	struct wire_pointer all;
	uint64_t value;
	CUresult r;

	if (!data || !attribute_valid(attribute))
		return CUDA_ERROR_INVALID_VALUE;
	if (hostmem_find(ptr, &info)) {
		r = host_attribute(&info, attribute, ptr, &value);
	} else if (memory_place(ptr) != PLACE_DEVICE) {
		return CUDA_ERROR_INVALID_VALUE;
	} else {
		if (attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
			return CUDA_ERROR_NOT_SUPPORTED;
		r = pointer_attributes_ask(ptr, &all);
		if (r)
			return r;
		r = (CUresult)all.result[attribute];
		value = all.value[attribute];
	}
	attribute_store(data, attribute, value);
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
		if (!attribute_valid(attributes[i]) || attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS || !data[i])
			return CUDA_ERROR_INVALID_VALUE;
	host = hostmem_find(ptr, &info);
	device = !host && memory_place(ptr) == PLACE_DEVICE;
	if (device) {
		CUresult r = pointer_attributes_ask(ptr, &all);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < n; i++) {
		if (host)
			host_attribute(&info, attributes[i], ptr, &value);
		else
			value = device ? all.value[attributes[i]] : unknown_attribute(attributes[i], ptr);
		attribute_store(data[i], attributes[i], value);
	}
	return CUDA_SUCCESS;
}

CUresult remote_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct wire_pointer_ask a = {.address = ptr, .set = 1};
	struct wire_pointer all;
	struct host_info info;
	CUresult r;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&a.value, value, sizeof a.value);
	if (hostmem_find(ptr, &info))
		return hostmem_set_sync(ptr, a.value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (memory_place(ptr) != PLACE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	r = call_sync(WIRE_POINTER, &a, sizeof a, NULL, 0, &(struct wire_piece){&all, sizeof all}, 1);
	memory_keep_attributes(ptr, 0, NULL);
	return r;
}

/* A dma-buf is of use only to other drivers of the machine that has the device. */
CUresult remote_cuMemGetHandleForAddressRange(
	void *handle, CUdeviceptr ptr, size_t size, CUmemRangeHandleType type, unsigned long long flags)
{
	if (!handle || !size || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || flags & ~1ull ||
		memory_place(ptr) == PLACE_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_NOT_SUPPORTED;
}
