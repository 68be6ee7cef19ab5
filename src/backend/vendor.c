/* Searches for the vendor libraries: LD_LIBRARY_PATH, the cache of ldconfig, the usual folders. */
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

static const char *const usual_folders[] = {
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

static bool is_vendor_library(const char *path)
{
	char text[128];
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !build_note_read(path, text, sizeof text);
}

static bool find_in_folder(const char *dir, size_t n, const char *name, char *path, size_t size)
{
	int len = snprintf(path, size, "%.*s/%s", (int)n, dir, name);

	return n && len > 0 && (size_t)len < size && is_vendor_library(path);
}

/* `list`: folders with colons between them. */
static bool find_in_list(const char *list, const char *name, char *path, size_t size)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		if (find_in_folder(list, n, name, path, size))
			return true;
		list += n + (list[n] == ':');
	}
	return false;
}

static bool find_in_cache(const char *name, char *path, size_t size)
{
	struct ldcache cache;
	struct ldcache_entry e;
	bool found = false;

	if (ldcache_open(&cache, LDCACHE_FILE))
		return false;
	for (uint32_t at = 0; !found && ldcache_next(&cache, &at, &e);)
		found = !strcmp(e.name, name) && ldcache_native(&e) && is_vendor_library(e.path) &&
			snprintf(path, size, "%s", e.path) < (int)size;
	ldcache_close(&cache);
	return found;
}

/* The user gave a path in an environment variable. */
static bool use_given_path(const char *variable, const char *given, char *path, size_t size, char *why, size_t why_size)
{
	snprintf(path, size, "%s", given);
	if (is_vendor_library(path))
		return true;
	snprintf(why, why_size, "%s=%s is not a vendor library", variable, given);
	path[0] = 0;
	return false;
}

static bool find_library(const char *name, const char *variable, char *path, size_t size, char *why, size_t why_size)
{
	if (find_in_list(secure_getenv("LD_LIBRARY_PATH"), name, path, size) || find_in_cache(name, path, size))
		return true;
	for (size_t i = 0; i < sizeof usual_folders / sizeof *usual_folders; i++)
		if (find_in_folder(usual_folders[i], strlen(usual_folders[i]), name, path, size))
			return true;
	path[0] = 0;
	snprintf(why, why_size,
		"no vendor %s found in LD_LIBRARY_PATH, " LDCACHE_FILE " or the usual folders; "
		"set %s to its path if it is elsewhere",
		name, variable);
	return false;
}

bool vendor_find(char *path, size_t size, char *why, size_t why_size)
{
	const char *given = secure_getenv(CUDA_VARIABLE);

	if (given && *given)
		return use_given_path(CUDA_VARIABLE, given, path, size, why, why_size);
	return find_library("libcuda.so.1", CUDA_VARIABLE, path, size, why, why_size);
}

/* Prefers the folder of a given libcuda.so.1, because both libraries must be of one release. */
bool vendor_find_nvml(char *path, size_t size, char *why, size_t why_size)
{
	const char *given = secure_getenv(NVML_VARIABLE), *cuda = secure_getenv(CUDA_VARIABLE), *slash;

	if (given && *given)
		return use_given_path(NVML_VARIABLE, given, path, size, why, why_size);
	if (cuda && (slash = strrchr(cuda, '/')) && find_in_folder(cuda, slash - cuda, NVML_NAME, path, size))
		return true;
	return find_library(NVML_NAME, NVML_VARIABLE, path, size, why, why_size);
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
