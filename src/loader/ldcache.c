/* Read /etc/ld.so.cache. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "loader/ldcache.h"

#define OLD_MAGIC "ld.so-1.7.0"
#define NEW_MAGIC "glibc-ld.so.cache1.1"
#define EXT_MAGIC 0xeaa42174u

/* Entry flags for glibc libraries of this processor, which ldconfig -p prints as "libc6,x86-64". */
#if defined __x86_64__
#define NATIVE_FLAGS 0x0303u
#elif defined __aarch64__
#define NATIVE_FLAGS 0x0a03u
#else
#define NATIVE_FLAGS 0x0003u
#endif

struct old_cache_head {
	char magic[12]; /* the last byte is padding */
	uint32_t count;
};
#define OLD_ENTRY_BYTES 12

struct cache_head {
	char magic[20];
	uint32_t count, strings;
	uint8_t order, zero[3];
	uint32_t extensions;
	uint32_t unused[3];
};
struct cache_entry {
	uint32_t flags, key, value, os;
	uint64_t hwcap;
};
_Static_assert(sizeof(struct cache_head) == 48 && sizeof(struct cache_entry) == 24, "layout of ld.so.cache");

#define HWCAP_IS_INDEX (1ull << 62)

struct ext_head {
	uint32_t magic, count;
};
struct ext {
	uint32_t tag, flags, offset, size;
};
#define EXT_HWCAPS 1

static bool cache_has_bytes(const struct ldcache *c, uint64_t at, uint64_t n)
{
	return at <= c->file_size && n <= c->file_size - at;
}

static const char *cache_string(const struct ldcache *c, const char *base, uint32_t at)
{
	return at < c->strings - (size_t)(base - c->file) ? base + at : NULL;
}

static void read_hwcaps_extension(struct ldcache *c, uint32_t at)
{
	struct ext_head h;
	struct ext e;

	if (!at || !cache_has_bytes(c, at, sizeof h))
		return;
	memcpy(&h, c->file + at, sizeof h);
	if (h.magic != EXT_MAGIC || !cache_has_bytes(c, at + sizeof h, (uint64_t)h.count * sizeof e))
		return;
	for (uint32_t i = 0; i < h.count; i++) {
		memcpy(&e, c->file + at + sizeof h + i * sizeof e, sizeof e);
		if (e.tag == EXT_HWCAPS && cache_has_bytes(c, e.offset, e.size))
			c->hwcaps = e.offset, c->nhwcaps = e.size / 4;
	}
}

/* The present format begins behind the entries of the old one, aligned to 8 bytes. Returns 0 without an old format. */
static size_t old_format_size(const char *data, size_t size)
{
	struct old_cache_head h;

	if (size < sizeof h)
		return 0;
	memcpy(&h, data, sizeof h);
	if (memcmp(h.magic, OLD_MAGIC, sizeof OLD_MAGIC - 1) || h.count > (size - sizeof h) / OLD_ENTRY_BYTES)
		return 0;
	size_t end = (sizeof h + (size_t)h.count * OLD_ENTRY_BYTES + 7) & ~(size_t)7;
	return end < size ? end : 0;
}

int ldcache_init(struct ldcache *c, const void *data, size_t size)
{
	size_t skip = old_format_size(data, size);
	struct cache_head h;

	*c = (struct ldcache){.data = (const char *)data + skip, .size = size - skip, .file = data, .file_size = size};
	if (c->size < sizeof h)
		return -EINVAL;
	memcpy(&h, c->data, sizeof h);
	if (memcmp(h.magic, NEW_MAGIC, sizeof h.magic) || h.count > (c->size - sizeof h) / sizeof(struct cache_entry))
		return -EINVAL;
	const char *last = memrchr(c->data, 0, c->size);
	c->strings = last ? (size_t)(last - c->file) + 1 : skip;
	c->count = h.count;
	read_hwcaps_extension(c, h.extensions);
	return 0;
}

int ldcache_open(struct ldcache *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	struct stat st;

	*c = (struct ldcache){0};
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size <= 0)
		err = -EINVAL;
	void *map = err ? MAP_FAILED : mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!err && map == MAP_FAILED)
		err = -errno;
	close(fd);
	if (err)
		return err;
	err = ldcache_init(c, map, st.st_size);
	c->map = map;
	c->map_size = st.st_size;
	if (err)
		ldcache_close(c);
	return err;
}

void ldcache_close(struct ldcache *c)
{
	if (c->map)
		munmap(c->map, c->map_size);
	*c = (struct ldcache){0};
}

static const char *entry_hwcaps(const struct ldcache *c, uint64_t hwcap)
{
	uint32_t index = (uint32_t)hwcap, at;
	const char *name;

	if (!hwcap)
		return NULL;
	if (!(hwcap & HWCAP_IS_INDEX) || index >= c->nhwcaps)
		return "";
	memcpy(&at, c->file + c->hwcaps + index * 4ul, sizeof at);
	name = cache_string(c, c->file, at);
	return name ? name : "";
}

bool ldcache_next(const struct ldcache *c, uint32_t *at, struct ldcache_entry *entry)
{
	struct cache_entry e;

	while (*at < c->count) {
		memcpy(&e, c->data + sizeof(struct cache_head) + (size_t)(*at)++ * sizeof e, sizeof e);
		*entry = (struct ldcache_entry){cache_string(c, c->data, e.key), cache_string(c, c->data, e.value),
			e.flags, entry_hwcaps(c, e.hwcap)};
		if (entry->name && entry->path)
			return true;
	}
	return false;
}

bool ldcache_native(const struct ldcache_entry *entry)
{
	return entry->flags == NATIVE_FLAGS;
}
