/* Devices, properties, versions, limits, flags, error texts. */
#include "test/cudart/parity.h"

static void show_properties(int device)
{
	static cudaDeviceProp p;
	const unsigned char *bytes = (const unsigned char *)&p;

	memset(&p, 0xee, sizeof p);
#if CUDART_MAJOR == 12
	TRY(cudaGetDeviceProperties_v2, &p, device);
#else
	TRY(cudaGetDeviceProperties, &p, device);
#endif
	printf("    name %.255s\n", p.name);
	memset(p.name, 0, sizeof p.name);
	for (size_t i = 0; i < offsetof(cudaDeviceProp, reserved); i += 4)
		if (*(const unsigned *)(bytes + i))
			printf("    +%zu: %u\n", i, *(const unsigned *)(bytes + i));
}

static void show_texts(void)
{
	for (int i = -1; i < 1002; i++) {
		const char *name = RT(cudaGetErrorName)(i), *text = RT(cudaGetErrorString)(i);
		if (i < 10 || strcmp(name, "unrecognized error code"))
			printf("    %d %s: %s\n", i, name, text);
	}
}

static void show_limits(void)
{
	size_t size = 0;
	int config = -1;

	for (int i = -1; i < 12; i++) {
		size = 0;
		TRY(cudaDeviceGetLimit, &size, i);
		SHOW(size);
	}
	TRY(cudaDeviceGetLimit, NULL, 0);
	TRY(cudaDeviceSetLimit, CU_LIMIT_STACK_SIZE, 4096);
	TRY(cudaDeviceSetLimit, 99, 1);
	TRY(cudaDeviceGetCacheConfig, (cudaFuncCache *)&config);
	SHOW(config);
	TRY(cudaDeviceGetCacheConfig, NULL);
	TRY(cudaDeviceSetCacheConfig, 1);
	TRY(cudaDeviceSetCacheConfig, 9);
	TRY(cudaDeviceGetSharedMemConfig, (cudaSharedMemConfig *)&config);
	SHOW(config);
	TRY(cudaDeviceSetSharedMemConfig, 1);
}

void parity_device(void)
{
	int n = -1, m = -1, least = 9, greatest = 9;
	unsigned flags = 99;
	char bus[32] = "";
	cudaDeviceProp want = {0};
	size_t width = 0;
	cudaChannelFormatDesc desc = {32, 0, 0, 0, cudaChannelFormatKindFloat};

	TRY(cudaGetDevice, &n);
	SHOW(n);
	TRY(cudaGetDevice, NULL);
	TRY(cudaGetDeviceCount, &n);
	SHOW(n);
	TRY(cudaGetDeviceCount, NULL);
	TRY(cudaDriverGetVersion, &n);
	SHOW(n);
	TRY(cudaDriverGetVersion, NULL);
	TRY(cudaRuntimeGetVersion, &n);
	TRY(cudaRuntimeGetVersion, NULL);
	TRY(cudaGetDeviceFlags, &flags);
	SHOW(flags);
	TRY(cudaGetDeviceFlags, NULL);
	TRY(cudaSetDeviceFlags, CU_CTX_SCHED_BLOCKING_SYNC);
	TRY(cudaSetDeviceFlags, 0x7f000);
	TRY(cudaInitDevice, 0, 0, 0);
	TRY(cudaInitDevice, 0, CU_CTX_SCHED_SPIN, 1);
	TRY(cudaInitDevice, 0, 0, 2);
	TRY(cudaInitDevice, 7, 0, 0);
	TRY(cudaSetDevice, 7);
	TRY(cudaSetDevice, -1);
	TRY(cudaSetDevice, 0);
	TRY(cudaGetDeviceFlags, &flags);
	SHOW(flags);
	TRY(cudaSetValidDevices, &m, 1);
	m = 0;
	TRY(cudaSetValidDevices, &m, 1);
	TRY(cudaSetValidDevices, NULL, 0);
	TRY(cudaSetValidDevices, &m, 99);
	show_properties(0);
	show_properties(3);
	for (int i = 0; i < 150; i++) {
		n = -7;
		TRY(cudaDeviceGetAttribute, &n, i, 0);
		SHOW(n);
	}
	TRY(cudaDeviceGetAttribute, NULL, 1, 0);
	TRY(cudaDeviceGetAttribute, &n, 1, 5);
	TRY(cudaDeviceGetAttribute, &n, 9999, 0);
	TRY(cudaChooseDevice, &n, &want);
	SHOW(n);
	TRY(cudaChooseDevice, NULL, &want);
	TRY(cudaChooseDevice, &n, NULL);
	TRY(cudaDeviceGetPCIBusId, bus, 32, 0);
	SHOW(strlen(bus));
	TRY(cudaDeviceGetPCIBusId, bus, 3, 0);
	TRY(cudaDeviceGetPCIBusId, NULL, 32, 0);
	TRY(cudaDeviceGetPCIBusId, bus, 32, 4);
	TRY(cudaDeviceGetByPCIBusId, &n, bus);
	TRY(cudaDeviceGetByPCIBusId, &n, "0000:77:00.0");
	TRY(cudaDeviceGetByPCIBusId, &n, "nonsense");
	TRY(cudaDeviceGetByPCIBusId, NULL, bus);
	TRY(cudaDeviceCanAccessPeer, &n, 0, 0);
	SHOW(n);
	TRY(cudaDeviceCanAccessPeer, &n, 0, 1);
	TRY(cudaDeviceEnablePeerAccess, 0, 0);
	TRY(cudaDeviceEnablePeerAccess, 5, 0);
	TRY(cudaDeviceDisablePeerAccess, 0);
	TRY(cudaDeviceGetP2PAttribute, &n, 2, 0, 0);
	TRY(cudaDeviceGetP2PAttribute, &n, 2, 0, 1);
	TRY(cudaDeviceGetStreamPriorityRange, &least, &greatest);
	SHOW(least);
	SHOW(greatest);
	TRY(cudaDeviceGetStreamPriorityRange, NULL, NULL);
	TRY(cudaDeviceGetTexture1DLinearMaxWidth, &width, &desc, 0);
	SHOW(width);
	TRY(cudaDeviceGetTexture1DLinearMaxWidth, NULL, &desc, 0);
	TRY(cudaDeviceFlushGPUDirectRDMAWrites, 0, 100);
	TRY(cudaCtxResetPersistingL2Cache);
	show_limits();
	show_texts();
	TRY(cudaProfilerStart);
	TRY(cudaProfilerStop);
	TRY(cudaDeviceSynchronize);
	TRY(cudaDeviceReset);
	TRY(cudaDeviceReset);
	TRY(cudaDeviceSynchronize);
}
