/*
 * A vendor's driver that takes its time to give up a context, as on a GPU: until there is the file GO, or for minutes.  The
 * rest is that of the library that it is linked with, a copy of our own (vendor.sh).
 */
#include <stdlib.h>
#include <unistd.h>
#include "abi/cuda.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

extern CUresult cuDevicePrimaryCtxReset_v2(CUdevice d);

/* All that hold it are this one. */
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	const char *go = getenv("GO");

	for (int i = 0; i < 20000 && (!go || access(go, F_OK)); i++)
		usleep(10000);
	return cuDevicePrimaryCtxReset_v2(d);
}
