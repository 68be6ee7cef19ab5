/* A library between a program and the driver, with the driver calls of llama.cpp: the linker must resolve all of them. */
int part(void);

int cuInit(unsigned flags);
void cuMemCreate(void), cuMemMap(void), cuMemUnmap(void), cuMemRelease(void), cuMemAddressReserve(void),
	cuMemAddressFree(void), cuMemSetAccess(void), cuMemGetAllocationGranularity(void), cuDeviceGet(void),
	cuDeviceGetAttribute(void), cuGetErrorString(void);

void (*const used[])(void) = {
	cuMemCreate,
	cuMemMap,
	cuMemUnmap,
	cuMemRelease,
	cuMemAddressReserve,
	cuMemAddressFree,
	cuMemSetAccess,
	cuMemGetAllocationGranularity,
	cuDeviceGet,
	cuDeviceGetAttribute,
	cuGetErrorString,
};

int part(void)
{
	return cuInit(0);
}
