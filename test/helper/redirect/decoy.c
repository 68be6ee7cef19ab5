/*
 * The decoy stands in for the vendor driver: a libcuda.so.1 that is not ours and reports an impossible driver version.
 */
#include <stddef.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuInit(unsigned flags)
{
	return flags ? 1 : 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
	*version = 4711;
	return 0;
}

EXPORT int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long flags, int *status)
{
	(void)version, (void)flags;
	*function = strcmp(name, "cuDriverGetVersion") ? NULL : (void *)cuDriverGetVersion;
	if (status)
		*status = *function ? 0 : 1;
	return *function ? 0 : 500;
}

EXPORT int cuGetExportTable(const void **table, const void *id)
{
	(void)id;
	*table = NULL;
	return 500;
}
