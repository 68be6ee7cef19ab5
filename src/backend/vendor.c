#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend/vendor.h"
#include "util/ldcache.h"
#include "util/note.h"

#define NAME "libcuda.so.1"

static const char *const places[] = {
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",      "/usr/lib/nvidia",
	"/usr/lib/x86_64-linux-gnu/nvidia/current",		   "/usr/local/nvidia/lib64",
	"/usr/local/nvidia/lib",     "/run/opengl-driver/lib",	   "/usr/lib/wsl/lib", "/usr/lib",
};

static bool is_vendor(const char *path)
{
	char text[128];
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !note_read(path, text, sizeof text);
}

static bool take(const char *dir, size_t n, char *path, size_t size)
{
	int len = snprintf(path, size, "%.*s/%s", (int)n, dir, NAME);

	return n && len > 0 && (size_t)len < size && is_vendor(path);
}

/* A list of directories with colons between. */
static bool take_list(const char *list, char *path, size_t size)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		if (take(list, n, path, size))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static bool take_from_cache(char *path, size_t size)
{
	struct ldcache cache;
	struct ldcache_entry e;
	bool found = false;

	if (ldcache_open(&cache, LDCACHE_FILE))
		return false;
	for (uint32_t at = 0; !found && ldcache_next(&cache, &at, &e);)
		found = !strcmp(e.name, NAME) && ldcache_native(&e) && is_vendor(e.path) &&
			snprintf(path, size, "%s", e.path) < (int)size;
	ldcache_close(&cache);
	return found;
}

bool vendor_find(char *path, size_t size, char *why, size_t why_size)
{
	const char *given = getenv("GANGWAY_NVIDIA_LIBRARY");

	if (given && *given) {
		snprintf(path, size, "%s", given);
		if (is_vendor(path))
			return true;
		snprintf(why, why_size, "GANGWAY_NVIDIA_LIBRARY=%s is not a vendor's library", given);
		path[0] = 0;
		return false;
	}
	if (take_list(getenv("LD_LIBRARY_PATH"), path, size) || take_from_cache(path, size))
		return true;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (take(places[i], strlen(places[i]), path, size))
			return true;
	path[0] = 0;
	snprintf(why, why_size,
		"no vendor's " NAME " on this machine (looked in LD_LIBRARY_PATH, " LDCACHE_FILE " and the usual folders); "
		"set GANGWAY_NVIDIA_LIBRARY to its path if it is elsewhere");
	return false;
}

bool vendor_has_device(void)
{
	static const char *const nodes[] = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvgpu", "/dev/nvhost-gpu"};

	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (!access(nodes[i], F_OK))
			return true;
	return false;
}
