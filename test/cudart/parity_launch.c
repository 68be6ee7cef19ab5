/* Launches, kernels as functions, occupancy, entry points of the driver, libraries; errors of kernels. */
#include "test/cudart/parity.h"

static const dim3 one = {1, 1, 1}, block = {32, 1, 1};

static void try_shapes(int *out)
{
	int value = 1000, result[32] = {0};
	void *args[] = {&out, &value};
	cudaLaunchConfig_t c = {one, block, 0, NULL, NULL, 0};
	cudaKernel_t k = NULL;
	dim3 g, b;
	size_t shared = 1;
	cudaStream_t s = NULL;

	TRY(cudaLaunchKernel, &parity_plus, one, block, args, 0, NULL);
	TRY(cudaMemcpy, result, out, sizeof result, cudaMemcpyDeviceToHost);
	SHOW(result[31]);
	TRY(cudaLaunchKernel_ptsz, &parity_plus, one, block, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, (dim3){0, 1, 1}, block, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, one, (dim3){0, 1, 1}, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, one, (dim3){1025, 1, 1}, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, (dim3){1, 70000, 1}, block, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, one, block, args, 1 << 20, NULL);
	TRY(cudaLaunchKernel, &parity_plus, one, block, args, 0, BAD(cudaStream_t));
	TRY(cudaLaunchKernel, &parity_missing, one, block, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_offset, one, block, args, 0, NULL);
	TRY(cudaLaunchKernel, &value, one, block, args, 0, NULL);
	TRY(cudaLaunchKernel, NULL, one, block, args, 0, NULL);
	TRY(cudaLaunchCooperativeKernel, &parity_plus, one, block, args, 0, NULL);
	TRY(cudaLaunchCooperativeKernel, &parity_plus, (dim3){1 << 20, 1, 1}, block, args, 0, NULL);
	TRY(cudaLaunchKernelExC, &c, &parity_plus, args);
	TRY(cudaLaunchKernelExC_ptsz, &c, &parity_plus, args);
	TRY(cudaLaunchKernelExC, &c, NULL, args);
	c.gridDim.x = 0;
	TRY(cudaLaunchKernelExC, &c, &parity_plus, args);
	TRY(cudaLaunchCooperativeKernel, &parity_plus, one, (dim3){1025, 1, 1}, args, 0, NULL);
	TRY(cudaLaunchKernel, &parity_plus, one, (dim3){32, 32, 2}, args, 0, NULL);
	TRY(__cudaPushCallConfiguration, one, block, 5, NULL);
	TRY(__cudaPopCallConfiguration, &g, &b, &shared, &s);
	SHOW(b.x);
	SHOW(shared);
	TRY(cudaGetKernel, &k, &parity_plus);
	SHOW(!!k);
	TRY(__cudaLaunchKernel, k, one, block, args, 0, NULL);
	TRY(cudaLaunchKernel, k, one, block, args, 0, NULL);
	TRY(cudaGetKernel, &k, &parity_missing);
	TRY(cudaGetKernel, &k, &value);
	TRY(cudaGetKernel, NULL, &parity_plus);
	TRY(cudaDeviceSynchronize);
}

static void try_functions(void)
{
	static cudaFuncAttributes a;
	const char *name = NULL;
	cudaFunction_t f = NULL;
	size_t offset = 0, size = 0;
	int local;

	TRY(cudaFuncGetAttributes, &a, &parity_plus);
	for (size_t i = 0; i < sizeof a / 4; i++)
		if (((int *)&a)[i])
			printf("    +%zu: %d\n", i * 4, ((int *)&a)[i]);
	TRY(cudaFuncGetAttributes, NULL, &parity_plus);
	TRY(cudaFuncGetAttributes, &a, &parity_missing);
	TRY(cudaFuncGetAttributes, &a, &local);
	TRY(cudaFuncGetAttributes, &a, NULL);
	TRY(cudaFuncSetAttribute, &parity_plus, 8, 65536);
	TRY(cudaFuncSetAttribute, &parity_plus, 8, 1 << 24);
	TRY(cudaFuncSetAttribute, &parity_plus, 9, 50);
	TRY(cudaFuncSetAttribute, &parity_plus, 0, 50);
	TRY(cudaFuncSetAttribute, &parity_plus, 99, 50);
	TRY(cudaFuncSetAttribute, &local, 8, 50);
	TRY(cudaFuncSetCacheConfig, &parity_plus, 1);
	TRY(cudaFuncSetCacheConfig, &parity_plus, 77);
	TRY(cudaFuncSetCacheConfig, &local, 1);
	TRY(cudaFuncSetSharedMemConfig, &parity_plus, 1);
	TRY(cudaFuncGetName, &name, &parity_plus);
	printf("    %s\n", name ? name : "-");
	TRY(cudaFuncGetName, NULL, &parity_plus);
	TRY(cudaFuncGetName, &name, &local);
	TRY(cudaFuncGetName, &name, NULL);
	for (int i = 0; i < 3; i++) {
		TRY(cudaFuncGetParamInfo, &parity_plus, i, &offset, &size);
		SHOW(offset);
		SHOW(size);
	}
	TRY(cudaGetFuncBySymbol, &f, &parity_plus);
	SHOW(!!f);
	TRY(cudaGetFuncBySymbol, &f, &parity_missing);
	TRY(cudaGetFuncBySymbol, &f, &local);
}

static void try_occupancy(void)
{
	cudaLaunchConfig_t c = {one, block, 0, NULL, NULL, 0};
	size_t size = 0;
	int n = 0, local;

	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &parity_plus, 64, 0);
	SHOW(n);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &n, &parity_plus, 64, 0, 1);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &n, &parity_plus, 64, 0, 8);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &parity_plus, 0, 0);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &parity_plus, 5000, 0);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &parity_plus, 64, 1 << 24);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, NULL, &parity_plus, 64, 0);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &local, 64, 0);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &n, &parity_missing, 64, 0);
	TRY(cudaOccupancyAvailableDynamicSMemPerBlock, &size, &parity_plus, 2, 64);
	SHOW(size);
	TRY(cudaOccupancyAvailableDynamicSMemPerBlock, NULL, &parity_plus, 2, 64);
	TRY(cudaOccupancyMaxActiveClusters, &n, &parity_plus, &c);
	TRY(cudaOccupancyMaxPotentialClusterSize, &n, &parity_plus, &c);
}

static void try_entries(void)
{
	cudaDriverEntryPointQueryResult status = 9;
	void *p = NULL;

	TRY(cudaGetDriverEntryPointByVersion, "cuMemAlloc", &p, 12000, 0, &status);
	SHOW(!!p);
	SHOW(status);
	TRY(cudaGetDriverEntryPointByVersion, "cuNoSuch", &p, 12000, 0, &status);
	SHOW(!!p);
	SHOW(status);
	TRY(cudaGetDriverEntryPointByVersion, "cuLaunchKernelEx", &p, 11000, 0, &status);
	SHOW(!!p);
	SHOW(status);
	TRY(cudaGetDriverEntryPointByVersion, "cuMemAlloc", &p, 12000, 0, NULL);
	TRY(cudaGetDriverEntryPointByVersion, "cuNoSuch", &p, 12000, 0, NULL);
	TRY(cudaGetDriverEntryPointByVersion, "cuMemAlloc", &p, 12000, 9, &status);
	TRY(cudaGetDriverEntryPointByVersion, "cuMemAlloc", &p, 99000, 0, &status);
	TRY(cudaGetDriverEntryPointByVersion, "", &p, 12000, 0, &status);
	TRY(cudaGetDriverEntryPointByVersion, "cuMemAlloc", NULL, 12000, 0, &status);
#if CUDART_MAJOR == 12
	TRY(cudaGetDriverEntryPoint, "cuMemAlloc", &p, 0, &status);
	SHOW(status);
	TRY(cudaGetDriverEntryPoint, "cuNoSuch", &p, 0, &status);
	TRY(cudaGetDriverEntryPoint, NULL, &p, 0, &status);
#endif
}

static void try_libraries(void)
{
	static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .global .u32 v;\n"
				   ".visible .entry k()\n{\n	ret;\n}\n";
	cudaLibrary_t l = NULL;
	cudaKernel_t k = NULL;
	unsigned n = 0;
	void *p = NULL;
	size_t size = 0;

	TRY(cudaLibraryLoadData, &l, text, NULL, NULL, 0, NULL, NULL, 0);
	TRY(cudaLibraryGetKernel, &k, l, "k");
	TRY(cudaLibraryGetKernel, &k, l, "none");
	TRY(cudaLibraryGetKernelCount, &n, l);
	SHOW(n);
	TRY(cudaLibraryEnumerateKernels, &k, 1, l);
	TRY(cudaLibraryGetGlobal, &p, &size, l, "v");
	SHOW(size);
	TRY(cudaLibraryGetGlobal, &p, &size, l, "none");
	TRY(cudaLibraryGetManaged, &p, &size, l, "v");
	TRY(cudaLaunchKernel, k, one, block, NULL, 0, NULL);
	TRY(cudaKernelSetAttributeForDevice, k, 8, 1024, 0);
	TRY(cudaKernelSetAttributeForDevice, k, 8, 1024, 7);
	TRY(cudaLibraryUnload, l);
	TRY(cudaLibraryUnload, NULL);
	TRY(cudaLibraryLoadData, &l, "nonsense", NULL, NULL, 0, NULL, NULL, 0);
	TRY(cudaLibraryLoadData, NULL, text, NULL, NULL, 0, NULL, NULL, 0);
	TRY(cudaLibraryLoadFromFile, &l, "/nowhere", NULL, NULL, 0, NULL, NULL, 0);
}

void parity_launch(void)
{
	int *out = NULL;

	TRY(cudaMalloc, (void **)&out, 4096);
	try_shapes(out);
	try_functions();
	try_occupancy();
	try_entries();
	try_libraries();
	TRY(cudaFree, out);
}

void parity_error(void)
{
	void *p = NULL;

	TRY(cudaMalloc, &p, 64);
	RT(cudaMalloc)(NULL, 4);
	printf("    peek %d, peek %d\n", RT(cudaPeekAtLastError)(), RT(cudaPeekAtLastError)());
	TRY(cudaFree, NULL);
	printf("    get %d\n", RT(cudaGetLastError)());
	TRY(cudaLaunchKernel, &parity_crash, one, block, NULL, 0, NULL);
	TRY(cudaDeviceSynchronize);
	TRY(cudaDeviceSynchronize);
	TRY(cudaMalloc, &p, 64);
	TRY(cudaFree, p);
	TRY(cudaGetDevice, &(int){0});
	TRY(cudaStreamCreate, &(cudaStream_t){0});
	printf("    get %d, get %d\n", RT(cudaGetLastError)(), RT(cudaGetLastError)());
	TRY(cudaDeviceReset);
	TRY(cudaMalloc, &p, 64);
	TRY(cudaFree, p);
}
