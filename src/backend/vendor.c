#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "backend/vendor.h"
#include "util/note.h"

#define NAME  "libcuda.so.1"
#define CACHE "/etc/ld.so.cache"

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

/* ldconfig's cache: a header, entries, and strings that entries point to by offset in the file. */
struct cache_head {
	char magic[20];
	uint32_t count, strings;
	uint32_t unused[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t key, value, os;
	uint64_t hwcap;
};

static const char *cache_string(const char *base, size_t size, uint32_t at)
{
	return at < size && memchr(base + at, 0, size - at) ? base + at : NULL;
}

static bool take_cached(const char *base, size_t size, char *path, size_t path_size)
{
	struct cache_head h;
	struct cache_entry e;

	if (size < sizeof h)
		return false;
	memcpy(&h, base, sizeof h);
	if (memcmp(h.magic, "glibc-ld.so.cache1.1", 20) || h.count > (size - sizeof h) / sizeof e)
		return false;
	for (uint32_t i = 0; i < h.count; i++) {
		memcpy(&e, base + sizeof h + i * sizeof e, sizeof e);
		const char *key = cache_string(base, size, e.key), *value = cache_string(base, size, e.value);
		if (!key || !value || strcmp(key, NAME) || !is_vendor(value))
			continue;
		return snprintf(path, path_size, "%s", value) < (int)path_size;
	}
	return false;
}

static bool take_from_cache(char *path, size_t size)
{
	int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
	struct stat st;
	bool found = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0) {
		void *p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			found = take_cached(p, st.st_size, path, size);
			munmap(p, st.st_size);
		}
	}
	close(fd);
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
		"no vendor's " NAME " on this machine (looked in LD_LIBRARY_PATH, " CACHE " and the usual folders); "
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
