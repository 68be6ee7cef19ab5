/* Finds and loads libgangway-soft.so. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "backend/plugin.h"
#include "util/build_note.h"
#include "util/own_folder.h"

#define PLUGIN_FILE "libgangway-soft.so"

static const struct plugin *plugin_load(char *why, size_t size)
{
	static const struct plugin *loaded;
	char path[PATH_MAX];

	if (loaded)
		return loaded;
	if (!own_folder_file(PLUGIN_FILE, path, sizeof path)) {
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
