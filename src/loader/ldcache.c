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

/* ELF for this C library, and the machine: what ldconfig -p prints as "libc6,x86-64". */
#if defined __x86_64__
#define NATIVE 0x0303u
#elif defined __aarch64__
#define NATIVE 0x0a03u
#else
#define NATIVE 0x0003u
#endif

struct old_head {
	char magic[12]; /* the last byte is padding */
	uint32_t count;
};
#define OLD_ENTRY 12

struct head {
	char magic[20];
	uint32_t count, strings;
	uint8_t order, zero[3];
	uint32_t extensions;
	uint32_t unused[3];
};
struct entry {
	uint32_t flags, key, value, os;
	uint64_t hwcap;
};
_Static_assert(sizeof(struct head) == 48 && sizeof(struct entry) == 24, "the cache's layout");

#define HWCAP_IS_INDEX (1ull << 62)

struct ext_head {
	uint32_t magic, count;
};
struct ext {
	uint32_t tag, flags, offset, size;
};
#define EXT_HWCAPS 1

static bool fits(const struct ldcache *c, uint64_t at, uint64_t n)
{
	return at <= c->file_size && n <= c->file_size - at;
}

static const char *string(const struct ldcache *c, const char *base, uint32_t at)
{
	return at < c->strings - (size_t)(base - c->file) ? base + at : NULL;
}

static void find_hwcaps(struct ldcache *c, uint32_t at)
{
	struct ext_head h;
	struct ext e;

	if (!at || !fits(c, at, sizeof h))
		return;
	memcpy(&h, c->file + at, sizeof h);
	if (h.magic != EXT_MAGIC || !fits(c, at + sizeof h, (uint64_t)h.count * sizeof e))
		return;
	for (uint32_t i = 0; i < h.count; i++) {
		memcpy(&e, c->file + at + sizeof h + i * sizeof e, sizeof e);
		if (e.tag == EXT_HWCAPS && fits(c, e.offset, e.size))
			c->hwcaps = e.offset, c->nhwcaps = e.size / 4;
	}
}

/* The new format begins where the old one's entries end, aligned to 8. */
static size_t skip_old(const char *data, size_t size)
{
	struct old_head h;

	if (size < sizeof h)
		return 0;
	memcpy(&h, data, sizeof h);
	if (memcmp(h.magic, OLD_MAGIC, sizeof OLD_MAGIC - 1) || h.count > (size - sizeof h) / OLD_ENTRY)
		return 0;
	size_t end = (sizeof h + (size_t)h.count * OLD_ENTRY + 7) & ~(size_t)7;
	return end < size ? end : 0;
}

int ldcache_init(struct ldcache *c, const void *data, size_t size)
{
	size_t skip = skip_old(data, size);
	struct head h;

	*c = (struct ldcache){.data = (const char *)data + skip, .size = size - skip, .file = data, .file_size = size};
	if (c->size < sizeof h)
		return -EINVAL;
	memcpy(&h, c->data, sizeof h);
	if (memcmp(h.magic, NEW_MAGIC, sizeof h.magic) || h.count > (c->size - sizeof h) / sizeof(struct entry))
		return -EINVAL;
	const char *last = memrchr(c->data, 0, c->size);
	c->strings = last ? (size_t)(last - c->file) + 1 : skip;
	c->count = h.count;
	find_hwcaps(c, h.extensions);
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

static const char *hwcaps_of(const struct ldcache *c, uint64_t hwcap)
{
	uint32_t index = (uint32_t)hwcap, at;
	const char *name;

	if (!hwcap)
		return NULL;
	if (!(hwcap & HWCAP_IS_INDEX) || index >= c->nhwcaps)
		return "";
	memcpy(&at, c->file + c->hwcaps + index * 4ul, sizeof at);
	name = string(c, c->file, at);
	return name ? name : "";
}

bool ldcache_next(const struct ldcache *c, uint32_t *at, struct ldcache_entry *entry)
{
	struct entry e;

	while (*at < c->count) {
		memcpy(&e, c->data + sizeof(struct head) + (size_t)(*at)++ * sizeof e, sizeof e);
		*entry = (struct ldcache_entry){
			string(c, c->data, e.key), string(c, c->data, e.value), e.flags, hwcaps_of(c, e.hwcap)};
		if (entry->name && entry->path)
			return true;
	}
	return false;
}

bool ldcache_native(const struct ldcache_entry *entry)
{
	return entry->flags == NATIVE;
}
