/* Finds and loads libgangway-soft.so. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "backend/plugin.h"
#include "util/build_note.h"

#define PLUGIN_FILE "libgangway-soft.so"

/* The plug-in in the folder of this library, links resolved; for bin/gangway, in its library folder. */
static bool plugin_path(char *path, size_t size)
{
	Dl_info self;
	char real[PATH_MAX];

	/* In a program, dladdr returns argv[0], which may be a bare name found in PATH. */
	if (!dladdr((void *)plugin_path, &self) ||
		!realpath(strchr(self.dli_fname, '/') ? self.dli_fname : "/proc/self/exe", real))
		return false;
	char *slash = strrchr(real, '/');
	*slash = 0;
	if (snprintf(path, size, "%s/" PLUGIN_FILE, real) >= (int)size)
		return false;
	return !access(path, R_OK) || snprintf(path, size, "%s/../lib/gangway/" PLUGIN_FILE, real) < (int)size;
}

static const struct plugin *plugin_load(char *why, size_t size)
{
	static const struct plugin *loaded;
	char path[PATH_MAX];

	if (loaded)
		return loaded;
	if (!plugin_path(path, sizeof path)) {
		snprintf(why, size, "cannot find the folder of libcuda.so.1, which should contain " PLUGIN_FILE);
		return NULL;
	}
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct plugin *p = library ? dlsym(library, "gangway_plugin") : NULL;
	if (!p)
		snprintf(why, size, "%s", dlerror());
	else if (strcmp(p->build, build_note_text))
		snprintf(why, size, "%s is of build %s but libcuda.so.1 of build %s; install both from one package",
			path, p->build, build_note_text);
	else
		loaded = p;
	return loaded;
}

const struct backend *plugin_backend(const char *name, char *why, size_t size)
{
	const struct plugin *p = plugin_load(why, size);

	for (int i = 0; p && p->backends[i]; i++)
		if (!strcmp(p->backends[i]->name, name))
			return p->backends[i];
	if (p)
		snprintf(why, size, "this build has no %s device", name);
	return NULL;
}
