/* Finds NVIDIA's nvJitLink and compiles LTO-IR with it. */
#include "jitlink/vendor.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/build_note.h"

#define STRING(x)  STRING_(x)
#define STRING_(x) #x
#define FILE_NAME  "libnvJitLink.so." STRING(JITLINK_MAJOR)

struct vendor_link {
	void *handle; /* the vendor's */
	nvJitLinkResult (*create)(void **handle, uint32_t n, const char **options);
	nvJitLinkResult (*destroy)(void **handle);
	nvJitLinkResult (*add)(void *handle, int type, const void *data, size_t size, const char *name);
	nvJitLinkResult (*complete)(void *handle);
	nvJitLinkResult (*ptx_size)(void *handle, size_t *size);
	nvJitLinkResult (*ptx)(void *handle, char *to);
	nvJitLinkResult (*log_size)(void *handle, size_t *size);
	nvJitLinkResult (*log)(void *handle, char *to);
};

/* ---- the library ------------------------------------------------------------------------------------ */

struct vendor_search {
	char path[PATH_MAX];
};

static bool is_vendors(const char *path)
{
	char note[256];

	return !access(path, R_OK) && !build_note_read(path, note, sizeof note);
}

/*
 * Looks where wheels put the library, seen from the folder of another library of theirs. The "." keeps the path apart from
 * the one that the application requested: ld.so remembers that this one led to our library.
 */
static bool search_beside(struct vendor_search *s, const char *folder, size_t n)
{
	static const char *const places[] = {"", "/../../nvjitlink/lib", "/../lib"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (snprintf(s->path, sizeof s->path, "%.*s%s/./" FILE_NAME, (int)n, folder, places[i]) <
				(int)sizeof s->path &&
			is_vendors(s->path))
			return true;
	return false;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	return slash && search_beside(arg, info->dlpi_name, (size_t)(slash - info->dlpi_name));
}

static bool search_list(struct vendor_search *s, const char *list)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");

		if (n && search_beside(s, list, n))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static bool vendor_bind(struct vendor_link *v, void *library)
{
	const struct {
		const char *name;
		void *slot;
	} functions[] = {
		{"nvJitLinkCreate", &v->create},
		{"nvJitLinkDestroy", &v->destroy},
		{"nvJitLinkAddData", &v->add},
		{"nvJitLinkComplete", &v->complete},
		{"nvJitLinkGetLinkedPtxSize", &v->ptx_size},
		{"nvJitLinkGetLinkedPtx", &v->ptx},
		{"nvJitLinkGetErrorLogSize", &v->log_size},
		{"nvJitLinkGetErrorLog", &v->log},
	};

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		char versioned[64]; /* older releases export names with a suffix only */
		void *f = dlsym(library, functions[i].name);

		snprintf(versioned, sizeof versioned, "__%s_" STRING(JITLINK_MAJOR) "_0", functions[i].name);
		if (!f)
			f = dlsym(library, versioned);
		if (!f)
			return false;
		memcpy(functions[i].slot, &f, sizeof f);
	}
	return true;
}

/* Loads the library, which then stays loaded. It prefers its own functions to ours, which have the same names. */
static bool vendor_load(struct vendor_link *v)
{
	struct vendor_search s;

	if (!dl_iterate_phdr(search_object, &s) && !search_list(&s, secure_getenv("LD_LIBRARY_PATH")) &&
		!search_list(&s, "/usr/local/cuda/lib64:/usr/lib/x86_64-linux-gnu"))
		return false;
	void *library = dlopen(s.path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	return library && vendor_bind(v, library);
}

/* ---- compiling -------------------------------------------------------------------------------------- */

static void vendor_copy_log(struct vendor_link *v, struct jitlink *l)
{
	size_t size = 0;

	if (v->log_size(v->handle, &size) || !size)
		return;
	char *text = calloc(1, size + 1);
	if (text && !v->log(v->handle, text))
		jitlink_log(l, "%s\n", text);
	free(text);
}

struct vendor_link *vendor_open(struct jitlink *l, uint32_t n, const char *const *options)
{
	struct vendor_link *v = calloc(1, sizeof *v);
	const char **list = calloc((size_t)n + 1, sizeof *list);
	bool good = v && list && vendor_load(v);

	if (v && list && !good)
		jitlink_log(l, "error   : LTO-IR needs NVIDIA's " FILE_NAME ", which was not found\n");
	if (good) {
		memcpy(list, options, n * sizeof *list);
		list[n] = "-ptx";
		good = !v->create(&v->handle, n + 1, list);
		if (!good)
			jitlink_log(l, "error   : NVIDIA's " FILE_NAME " refuses the options\n");
	}
	free(list);
	if (good)
		return v;
	free(v);
	return NULL;
}

nvJitLinkResult vendor_add(struct vendor_link *v, struct jitlink *l, const void *data, size_t size, const char *name)
{
	nvJitLinkResult r = v->add(v->handle, NVJITLINK_INPUT_LTOIR, data, size, name);

	if (r)
		vendor_copy_log(v, l);
	return r;
}

nvJitLinkResult vendor_complete(struct vendor_link *v, struct jitlink *l, char **ptx, size_t *size)
{
	nvJitLinkResult r = v->complete(v->handle);

	*ptx = NULL;
	if (!r)
		r = v->ptx_size(v->handle, size);
	if (!r) {
		*ptx = calloc(1, *size + 1);
		r = *ptx ? v->ptx(v->handle, *ptx) : NVJITLINK_ERROR_INTERNAL;
	}
	if (r) {
		vendor_copy_log(v, l);
		free(*ptx);
		*ptx = NULL;
	}
	return r;
}

void vendor_close(struct vendor_link *v)
{
	if (!v)
		return;
	v->destroy(&v->handle);
	free(v);
}
