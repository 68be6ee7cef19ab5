/* Device attributes of features that do not work through a server: reported as absent, whatever the device says. */
#include "backend/remote/session/remote.h"

/* No served device reaches pageable memory of the application, or other devices of its machine. */
static const CUdevice_attribute unsupported[] = {
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
	CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
	CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED,
};

/* Between machines, memory is not shared and descriptors cannot be sent. */
static const CUdevice_attribute tcp_unsupported[] = {
	CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
	CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
	CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
	CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
	CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES,
};

static void attributes_clear(struct wire_device *d, const CUdevice_attribute *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] < WIRE_ATTRIBUTES)
			d->attribute[list[i]] = 0;
}

void device_mask_attributes(struct wire_device *d, bool local)
{
	attributes_clear(d, unsupported, sizeof unsupported / sizeof *unsupported);
	if (!local)
		attributes_clear(d, tcp_unsupported, sizeof tcp_unsupported / sizeof *tcp_unsupported);
	else /* only descriptors are passed on */
		d->attribute[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] &=
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}
