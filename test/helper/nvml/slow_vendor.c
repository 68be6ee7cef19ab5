/*
 * A fake driver of a vendor that gives up a context slowly, as on a GPU: when the file GO exists, or after minutes.
 * Functions that are not defined here come from the library that this one is linked with, a copy of our own
 * (vendor.sh).
 */
#include <stdlib.h>
#include <unistd.h>
#include "abi/cuda.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

extern CUresult cuDevicePrimaryCtxReset_v2(CUdevice d);

/* One release is enough: this worker is the only holder. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	const char *go = getenv("GO");

	for (int i = 0; i < 20000 && (!go || access(go, F_OK)); i++)
		usleep(10000);
	return cuDevicePrimaryCtxReset_v2(d);
}
