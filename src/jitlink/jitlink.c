/* The entry points of nvJitLink, each under its plain name and with the suffix of every release (__nvJitLinkCreate_12_4). */
#include "jitlink/jitlink.h"
#include "jitlink/vendor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define RELEASE(name, minor) \
	EXPORT __typeof__(nvJitLink##name) RELEASE_NAME(name, JITLINK_MAJOR, minor) \
		__attribute__((alias("nvJitLink" #name)));
#define RELEASE_NAME(name, major, minor)  RELEASE_NAME_(name, major, minor)
#define RELEASE_NAME_(name, major, minor) __nvJitLink##name##_##major##_##minor

/* Programs are linked with the suffix of the release whose header they saw. */
#define RELEASES(name) \
	RELEASE(name, 0) \
	RELEASE(name, 1) \
	RELEASE(name, 2) \
	RELEASE(name, 3) \
	RELEASE(name, 4) \
	RELEASE(name, 5) \
	RELEASE(name, 6) \
	RELEASE(name, 7) \
	RELEASE(name, 8) \
	RELEASE(name, 9)

#define JITLINK_MINOR 9 /* the release that nvJitLinkVersion states: the last suffix */

EXPORT nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle)
{
	struct jitlink *l = handle ? *handle : NULL;

	if (!l)
		return NVJITLINK_ERROR_NULL_INPUT;
	for (unsigned i = 0; i < l->nparts; i++)
		free((void *)l->parts[i].data);
	for (uint32_t i = 0; i < l->noptions; i++)
		free(l->options[i]);
	vendor_close(l->vendor);
	free(l->options);
	free(l->parts);
	free(l->image);
	free(l);
	*handle = NULL;
	return NVJITLINK_SUCCESS;
}

static bool options_copy(struct jitlink *l, uint32_t n, const char **options)
{
	l->options = calloc((size_t)n + 1, sizeof *l->options);
	for (uint32_t i = 0; l->options && i < n; i++) {
		l->options[l->noptions] = strdup(options[i] ? options[i] : "");
		if (!l->options[l->noptions])
			return false;
		l->noptions++;
	}
	return l->options;
}

/* Options other than the architecture tune machine code. */
EXPORT nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t n, const char **options)
{
	bool arch = false;

	if (!handle || (n && !options))
		return NVJITLINK_ERROR_NULL_INPUT;
	for (uint32_t i = 0; i < n; i++)
		arch |= options[i] && !strncmp(options[i], "-arch=", 6);
	if (!arch)
		return NVJITLINK_ERROR_MISSING_ARCH;
	struct jitlink *l = calloc(1, sizeof *l);
	if (l && options_copy(l, n, options)) {
		*handle = l;
		return NVJITLINK_SUCCESS;
	}
	nvJitLinkDestroy(&l);
	return NVJITLINK_ERROR_INTERNAL;
}

EXPORT nvJitLinkResult nvJitLinkAddData(
	nvJitLinkHandle l, nvJitLinkInputType type, const void *data, size_t size, const char *name)
{
	if (!l || !data)
		return NVJITLINK_ERROR_NULL_INPUT;
	return size ? jitlink_add(l, type, data, size, name ? name : "input") : NVJITLINK_ERROR_INVALID_INPUT;
}

static void *file_read(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data = NULL;
	ssize_t n = 1;

	*size = 0;
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		data = malloc((size_t)st.st_size);
	while (data && *size < (size_t)st.st_size && (n = read(fd, data + *size, (size_t)st.st_size - *size)) > 0)
		*size += (size_t)n;
	close(fd);
	return data;
}

EXPORT nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle l, nvJitLinkInputType type, const char *path)
{
	nvJitLinkResult r;
	size_t size;

	if (!l || !path)
		return NVJITLINK_ERROR_NULL_INPUT;
	void *data = file_read(path, &size);
	if (!data)
		jitlink_log(l, "error   : cannot read %s\n", path);
	r = data ? nvJitLinkAddData(l, type, data, size, path) : NVJITLINK_ERROR_INVALID_INPUT;
	free(data);
	return r;
}

EXPORT nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle l)
{
	bool single;
	int r;

	if (!l)
		return NVJITLINK_ERROR_NULL_INPUT;
	if (l->image)
		return NVJITLINK_SUCCESS;
	nvJitLinkResult lto = jitlink_compile_lto(l);
	if (lto)
		return lto;
	if (!l->nparts) {
		jitlink_log(l, "error   : there is no input\n");
		return NVJITLINK_ERROR_INVALID_INPUT;
	}
	single = l->nparts == 1 && image_sniff(l->parts[0].data, l->parts[0].size) == IMAGE_PTX;
	r = single ? image_fatbin_write(l->parts, &l->image, &l->size)
		   : image_set_write(l->parts, l->nparts, &l->image, &l->size);
	if (r)
		l->image = NULL;
	return r ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}

EXPORT nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle l, size_t *size)
{
	if (!l || !size)
		return NVJITLINK_ERROR_NULL_INPUT;
	*size = l->size;
	return l->image ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

EXPORT nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle l, void *to)
{
	if (!l || !to)
		return NVJITLINK_ERROR_NULL_INPUT;
	if (!l->image)
		return NVJITLINK_ERROR_INTERNAL;
	memcpy(to, l->image, l->size);
	return NVJITLINK_SUCCESS;
}

/* PTX and LTO-IR as results exist only for LTO. */
EXPORT nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle l, size_t *size)
{
	return l && size ? NVJITLINK_ERROR_LTO_NOT_ENABLED : NVJITLINK_ERROR_NULL_INPUT;
}

EXPORT nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle l, char *to)
{
	return l && to ? NVJITLINK_ERROR_LTO_NOT_ENABLED : NVJITLINK_ERROR_NULL_INPUT;
}

EXPORT nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle l, size_t *size)
{
	return l && size ? NVJITLINK_ERROR_LTO_NOT_ENABLED : NVJITLINK_ERROR_NULL_INPUT;
}

EXPORT nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle l, void *to)
{
	return l && to ? NVJITLINK_ERROR_LTO_NOT_ENABLED : NVJITLINK_ERROR_NULL_INPUT;
}

/* Sizes of logs include the NUL; 0: no log. */
EXPORT nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle l, size_t *size)
{
	if (!l || !size)
		return NVJITLINK_ERROR_NULL_INPUT;
	*size = *l->log ? strlen(l->log) + 1 : 0;
	return NVJITLINK_SUCCESS;
}

EXPORT nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle l, char *to)
{
	if (!l || !to)
		return NVJITLINK_ERROR_NULL_INPUT;
	if (*l->log)
		strcpy(to, l->log);
	return NVJITLINK_SUCCESS;
}

EXPORT nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle l, size_t *size)
{
	if (!l || !size)
		return NVJITLINK_ERROR_NULL_INPUT;
	*size = 0;
	return NVJITLINK_SUCCESS;
}

EXPORT nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle l, char *to)
{
	return l && to ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_NULL_INPUT;
}

EXPORT nvJitLinkResult nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	if (!major || !minor)
		return NVJITLINK_ERROR_NULL_INPUT;
	*major = JITLINK_MAJOR;
	*minor = JITLINK_MINOR;
	return NVJITLINK_SUCCESS;
}

RELEASES(Create)
RELEASES(Destroy)
RELEASES(AddData)
RELEASES(AddFile)
RELEASES(Complete)
RELEASES(GetLinkedCubinSize)
RELEASES(GetLinkedCubin)
RELEASES(GetLinkedPtxSize)
RELEASES(GetLinkedPtx)
RELEASES(GetLinkedLTOIRSize)
RELEASES(GetLinkedLTOIR)
RELEASES(GetErrorLogSize)
RELEASES(GetErrorLog)
RELEASES(GetInfoLogSize)
RELEASES(GetInfoLog)
