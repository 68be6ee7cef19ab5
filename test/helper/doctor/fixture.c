/*
 * Stand-ins for other vendors' libraries, which define names and do nothing. CMakeLists.txt builds several variants:
 *
 *	BULK		as large as a driver, because stubs are recognised by their size
 *	NOTE		the build note of another build of ours
 *	RUNTIME		the names of a CUDA runtime
 *	NEWER		a function that our driver does not have
 */
#define EXPORT __attribute__((visibility("default")))

#ifdef BULK
EXPORT const char fixture_bulk[512 << 10] = "as large as a driver";
#endif

#ifdef NOTE
static const struct {
	unsigned owner_size, text_size, type;
	char owner[8], text[(sizeof NOTE + 3) & ~3u];
} note __attribute__((section(".note.gangway"), aligned(4), used)) = {8, (sizeof NOTE + 3) & ~3u, 1, "Gangway", NOTE};
#endif

#ifdef RUNTIME
EXPORT int cudaMalloc(void **pointer, unsigned long size);
int cudaMalloc(void **pointer, unsigned long size)
{
	(void)pointer, (void)size;
	return 100;
}
#else
#ifdef NEWER
EXPORT int cuOfTomorrow(void);
int cuOfTomorrow(void)
{
	return 0;
}
#endif
EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
	(void)flags;
	return 100;
}

EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
	return 9;
}
#endif
