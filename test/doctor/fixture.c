/*
 * Stand-ins for libraries of others, made of names alone; what is built from this is set in CMakeLists.txt.
 *
 *	BULK		as large as a driver: stubs are told by their size
 *	NOTE		our build note, of another build
 *	RUNTIME		the names of a CUDA runtime
 *	NEWER		a name that our driver does not have
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
#endif
