/*
 * A vendor's driver that takes its time to give up a context, as on a GPU; the rest is that of the library that it is
 * linked with, a copy of our own (vendor.sh).
 */
#include <unistd.h>
#include "abi/cuda.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

extern CUresult cuDevicePrimaryCtxReset_v2(CUdevice d);

/* All that hold it are this one. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	sleep(3);
	return cuDevicePrimaryCtxReset_v2(d);
}
