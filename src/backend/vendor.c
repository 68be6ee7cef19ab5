#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend/vendor.h"
#include "loader/ldcache.h"
#include "util/build_note.h"

#define CUDA_VARIABLE "GANGWAY_NVIDIA_LIBRARY"
#define NVML_VARIABLE "GANGWAY_NVIDIA_ML_LIBRARY"
#define NVML_NAME     "libnvidia-ml.so.1"

static const char *const places[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib/nvidia",
	"/usr/lib/x86_64-linux-gnu/nvidia/current",
	"/usr/local/nvidia/lib64",
	"/usr/local/nvidia/lib",
	"/run/opengl-driver/lib",
	"/usr/lib/wsl/lib",
	"/usr/lib",
};

static bool is_vendor(const char *path)
{
	char text[128];
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !note_read(path, text, sizeof text);
}

static bool take(const char *dir, size_t n, const char *name, char *path, size_t size)
{
	int len = snprintf(path, size, "%.*s/%s", (int)n, dir, name);

	return n && len > 0 && (size_t)len < size && is_vendor(path);
}

/* A list of directories with colons between. */
static bool take_list(const char *list, const char *name, char *path, size_t size)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		if (take(list, n, name, path, size))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static bool take_from_cache(const char *name, char *path, size_t size)
{
	struct ldcache cache;
	struct ldcache_entry e;
	bool found = false;

	if (ldcache_open(&cache, LDCACHE_FILE))
		return false;
	for (uint32_t at = 0; !found && ldcache_next(&cache, &at, &e);)
		found = !strcmp(e.name, name) && ldcache_native(&e) && is_vendor(e.path) &&
			snprintf(path, size, "%s", e.path) < (int)size;
	ldcache_close(&cache);
	return found;
}

/* A path that the user has given; false: `why` says what is wrong with it. */
static bool take_given(const char *variable, const char *given, char *path, size_t size, char *why, size_t why_size)
{
	snprintf(path, size, "%s", given);
	if (is_vendor(path))
		return true;
	snprintf(why, why_size, "%s=%s is not a vendor's library", variable, given);
	path[0] = 0;
	return false;
}

static bool search(const char *name, const char *variable, char *path, size_t size, char *why, size_t why_size)
{
	if (take_list(getenv("LD_LIBRARY_PATH"), name, path, size) || take_from_cache(name, path, size))
		return true;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (take(places[i], strlen(places[i]), name, path, size))
			return true;
	path[0] = 0;
	snprintf(why, why_size,
		"no vendor's %s on this machine (looked in LD_LIBRARY_PATH, " LDCACHE_FILE " and the usual folders); "
		"set %s to its path if it is elsewhere",
		name, variable);
	return false;
}

bool vendor_find(char *path, size_t size, char *why, size_t why_size)
{
	const char *given = getenv(CUDA_VARIABLE);

	if (given && *given)
		return take_given(CUDA_VARIABLE, given, path, size, why, why_size);
	return search("libcuda.so.1", CUDA_VARIABLE, path, size, why, why_size);
}

/* Beside a libcuda.so.1 that was given, for the two are of one release. */
bool vendor_find_nvml(char *path, size_t size, char *why, size_t why_size)
{
	const char *given = getenv(NVML_VARIABLE), *cuda = getenv(CUDA_VARIABLE), *slash;

	if (given && *given)
		return take_given(NVML_VARIABLE, given, path, size, why, why_size);
	if (cuda && (slash = strrchr(cuda, '/')) && take(cuda, slash - cuda, NVML_NAME, path, size))
		return true;
	return search(NVML_NAME, NVML_VARIABLE, path, size, why, why_size);
}

bool vendor_has_device(void)
{
	static const char *const nodes[] = {
		"/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvgpu", "/dev/nvhost-gpu"};

	for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
		if (!access(nodes[i], F_OK))
			return true;
	return false;
}
