/* Maps and unmaps the worker's pages of registered memory. */
#include "backend/remote/memory/extent.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend/remote/hostmem/hostmem.h"
#include "backend/remote/memory/state.h"

struct extent {
	struct map_node node; /* key: the address of the first page */
	uint64_t size;
	unsigned users;
	bool used_before; /* by more than one registration */
	uint8_t *shadow;  /* the client's second mapping of the memfd; NULL over TCP */
	int fd;           /* the memfd, until the first registration is complete; then -1 */
};

static struct map *extent_map(void)
{
	return &client->memory->hosts.extents;
}

static struct extent *extent_holding(uint64_t address)
{
	return map_holding(extent_map(), address, struct extent, node, size);
}

static void extent_close_fd(struct extent *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
}

static void extent_free(struct extent *e)
{
	extent_close_fd(e);
	if (e->shadow)
		munmap(e->shadow, e->size);
	free(e);
}

static CUresult extent_share(struct extent *e)
{
	void *shadow;

	e->fd = hostmem_create_fd(e->size);
	if (e->fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	shadow = mmap(NULL, e->size, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	if (shadow == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->shadow = shadow;
	return hostmem_share(e->fd, e->node.key, e->size);
}

static CUresult extent_create(uint64_t from, uint64_t to)
{
	struct extent *e = calloc(1, sizeof *e);
	struct wire_host a = {.address = from, .size = to - from};
	CUresult r;

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*e = (struct extent){.node.key = from, .size = to - from, .users = 1, .fd = -1};
	r = client->local ? extent_share(e) : call_sync(WIRE_HOST_MAP, &a, sizeof a, NULL, 0, NULL, 0);
	if (r)
		extent_free(e);
	else
		map_insert(extent_map(), &e->node);
	return r;
}

static CUresult extents_release_range(uint64_t at, uint64_t to)
{
	CUresult r = CUDA_SUCCESS;

	while (at < to) {
		struct extent *e = extent_holding(at);
		at = e->node.key + e->size;
		if (--e->users)
			continue;
		r = hostmem_unshare(e->node.key);
		map_remove(extent_map(), &e->node);
		extent_free(e);
	}
	return r;
}

CUresult extents_take(struct host_pages *p)
{
	uint64_t at = p->from, next;
	unsigned splits = 0;
	CUresult r = CUDA_SUCCESS;

	for (; at < p->to && !r; at = r ? at : next) {
		struct extent *e = extent_holding(at);
		struct map_node *above = map_above(extent_map(), at);
		next = e ? e->node.key + e->size : above && above->key < p->to ? above->key : p->to;
		if (e)
			e->users++, e->used_before = true;
		else
			r = extent_create(at, next);
		if (!r && next < p->to)
			p->split[splits++] = next; /* another registration has the first page, or the last, or both */
	}
	if (r)
		extents_release_range(p->from, at);
	return r;
}

CUresult extents_release(const struct host_pages *p)
{
	return extents_release_range(p->from, p->to);
}

void extents_settle(const struct host_pages *p)
{
	for (uint64_t at = p->from; at < p->to; at = extent_end(at))
		extent_close_fd(extent_holding(at));
}

uint64_t extent_end(uint64_t address)
{
	struct extent *e = extent_holding(address);

	return e->node.key + e->size;
}

uint8_t *extent_shadow(uint64_t address)
{
	struct extent *e = extent_holding(address);

	return e->shadow ? e->shadow + (address - e->node.key) : NULL;
}

bool extent_used_before(uint64_t address)
{
	return extent_holding(address)->used_before;
}

bool extent_replace_pages(uint64_t from, uint64_t to)
{
	struct extent *e = extent_holding(from);
	uint8_t *shadow = extent_shadow(from);
	void *at = (void *)(uintptr_t)from;

	if (e->fd < 0 || !shadow || to > e->node.key + e->size)
		return false;
	memcpy(shadow, at, to - from);
	if (mmap(at, to - from, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, e->fd, from - e->node.key) ==
		MAP_FAILED)
		return false;
	madvise(shadow, to - from, MADV_DONTNEED); /* drops page table entries, not contents: the memory is shared */
	return true;
}
