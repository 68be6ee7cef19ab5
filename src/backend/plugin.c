#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/plugin.h"
#include "util/build_note.h"

#define FILE_NAME "libgangway-soft.so"

/* Our own folder, whatever link or bundled name we were loaded by; from bin/gangway: its library folder. */
static bool beside_us(char *path, size_t size)
{
	Dl_info us;
	char real[PATH_MAX];

	/* For a program's own code the name is what it was called by, perhaps found in PATH. */
	if (!dladdr((void *)beside_us, &us) ||
		!realpath(strchr(us.dli_fname, '/') ? us.dli_fname : "/proc/self/exe", real))
		return false;
	char *slash = strrchr(real, '/');
	*slash = 0;
	if (snprintf(path, size, "%s/" FILE_NAME, real) >= (int)size)
		return false;
	return !access(path, R_OK) || snprintf(path, size, "%s/../lib/gangway/" FILE_NAME, real) < (int)size;
}

static const struct plugin *load(char *why, size_t size)
{
	static const struct plugin *loaded;
	char path[PATH_MAX];

	if (loaded)
		return loaded;
	if (!beside_us(path, sizeof path)) {
		snprintf(why, size, "cannot tell where libcuda.so.1 is, so not where " FILE_NAME " is");
		return NULL;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct plugin *p = library ? dlsym(library, "gangway_plugin") : NULL;
	if (!p)
		snprintf(why, size, "%s", dlerror());
	else if (strcmp(p->build, note_build))
		snprintf(why, size, "%s is of another build (%s) than libcuda.so.1 (%s)", path, p->build, note_build);
	else
		loaded = p;
	return loaded;
}

const struct backend *plugin_backend(const char *name, char *why, size_t size)
{
	const struct plugin *p = load(why, size);

	for (int i = 0; p && p->backends[i]; i++)
		if (!strcmp(p->backends[i]->name, name))
			return p->backends[i];
	if (p)
		snprintf(why, size, "this build has no %s device", name);
	return NULL;
}
