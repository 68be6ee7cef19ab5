/*
 * The allocator of device memory.  Small blocks are runs of pages in 2 MiB chunks; a large block is a mapping of its
 * own.  Untouched pages cost nothing, so it is the count against the device's total (memory_charge) that limits
 * what an application gets.
 *
 * Only memory in the store can be shared with other processes.  A block moves to the store when it is shared; until then
 * it is anonymous memory, for which the kernel has huge pages.  Because blocks are whole pages, another process that maps
 * a block sees no other one.  When the block is freed, its pages leave the store for good and anonymous ones take their
 * place: a process that keeps its mapping does not see the next allocation.
 */
#include "backend/soft/memory/ipc.h"
#include "backend/soft/memory/mempool.h"
#include "backend/soft/memory/range.h"
#include "backend/soft/memory/store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT        4096u /* a page */
#define CHUNK       (2u << 20)
#define UNITS       (CHUNK / UNIT)
#define SMALL       (CHUNK / 4) /* the largest block that comes from a chunk */
#define LARGE_ALIGN (2u << 20)

struct chunk {
	struct map_node node; /* key: the address */
	unsigned free;        /* units */
	unsigned longest;     /* upper bound of the longest free run; a failed search lowers it */
	uint64_t used[UNITS / 64];
};

#define NOT_IN_STORE (~0ull)

/* A block that was moved into the store to be shared. */
struct shared_block {
	struct map_node node; /* key: the address */
	uint64_t offset, size;
};

/*
 * Ask for addresses far from those of programs and libraries: if this driver runs in a worker, the client maps the
 * managed variables of its modules at the addresses that they have here.
 */
#define HINT_BASE 0x500000000000ull
#define HINT_SPAN (1ull << 42) /* then the hints start again at HINT_BASE */

static void *map_pages(size_t size)
{
	uintptr_t at = atomic_fetch_add(
		&soft.memory.device.hint_offset, (size + LARGE_ALIGN - 1) & ~(uintptr_t)(LARGE_ALIGN - 1));
	void *hint = (void *)(uintptr_t)(HINT_BASE + at % HINT_SPAN);
	void *p = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Pages at a multiple of 2 MiB, as from the vendor driver; the kernel can use huge pages for them. */
static void *map_aligned(size_t size)
{
	char *p = map_pages(size + LARGE_ALIGN);

	if (!p)
		return NULL;
	size_t head = -(uintptr_t)p & (LARGE_ALIGN - 1);
	if (head)
		munmap(p, head);
	if (LARGE_ALIGN - head)
		munmap(p + head + size, LARGE_ALIGN - head);
	return p + head;
}

#define SPARSE_STRIDE 65536u

/* Copy all blocks that are not zero, so that untouched pages stay holes. */
static void copy_sparse(char *to, const char *from, size_t size)
{
	static const char zeros[SPARSE_STRIDE];

	for (size_t i = 0; i < size; i += SPARSE_STRIDE) {
		size_t n = size - i < SPARSE_STRIDE ? size - i : SPARSE_STRIDE;

		if (memcmp(from + i, zeros, n) != 0)
			memcpy(to + i, from + i, n);
	}
}

/*
 * Replace the anonymous memory at p by memory of the store, with the same contents.  Returns the offset in the store;
 * NOT_IN_STORE: failed, the memory is unchanged.
 */
static uint64_t back_by_store(void *p, size_t size)
{
	uint64_t offset;
	void *q;

	if (store_alloc(size, &offset))
		return NOT_IN_STORE;
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, store_fd(), (off_t)offset);
	if (q != MAP_FAILED)
		copy_sparse(q, p, size);
	if (q != MAP_FAILED && mremap(q, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p)
		return offset;
	if (q != MAP_FAILED)
		munmap(q, size);
	store_free(offset, size);
	return NOT_IN_STORE;
}

static bool chunk_unit_used(const struct chunk *c, unsigned i)
{
	return c->used[i / 64] >> (i % 64) & 1;
}

static void chunk_mark(struct chunk *c, unsigned first, unsigned n, bool used)
{
	for (unsigned i = first; i < first + n; i++) {
		if (used)
			c->used[i / 64] |= 1ull << (i % 64);
		else
			c->used[i / 64] &= ~(1ull << (i % 64));
	}
	c->free += used ? -n : n;
	if (!used)
		c->longest = UNITS;
}

/* The first unit of the first free run of n units; UNITS: there is none. */
static unsigned chunk_search(struct chunk *c, unsigned n)
{
	unsigned run = 0, longest = 0;

	if (c->free < n || c->longest < n)
		return UNITS;
	for (unsigned i = 0; i < UNITS; i++) {
		if (i % 64 == 0 && c->used[i / 64] == ~0ull) {
			run = 0;
			i += 63;
			continue;
		}
		run = chunk_unit_used(c, i) ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
		longest = run > longest ? run : longest;
	}
	c->longest = longest;
	return UNITS;
}

static struct chunk *chunk_create(void)
{
	struct chunk *c = calloc(1, sizeof *c);
	void *p = c ? map_aligned(CHUNK) : NULL;

	if (!p) {
		free(c);
		return NULL;
	}
	c->node.key = (uintptr_t)p;
	c->free = c->longest = UNITS;
	map_insert(&soft.memory.device.chunks, &c->node);
	return c;
}

/* The chunk after c in address order; c NULL: the first. */
static struct chunk *chunk_next(const struct chunk *c)
{
	struct map_node *n = map_above(&soft.memory.device.chunks, c ? c->node.key + 1 : 0);

	return n ? container_of(n, struct chunk, node) : NULL;
}

/* Lock held.  0: no memory. */
static uint64_t units_alloc(unsigned n)
{
	struct chunk *c = soft.memory.device.current;
	unsigned at = c ? chunk_search(c, n) : UNITS;

	for (c = at < UNITS ? c : chunk_next(NULL); c && at == UNITS; c = at < UNITS ? c : chunk_next(c))
		at = chunk_search(c, n);
	if (!c) {
		c = chunk_create();
		at = 0;
	}
	if (!c)
		return 0;
	chunk_mark(c, at, n, true);
	soft.memory.device.current = c;
	return c->node.key + (uint64_t)at * UNIT;
}

static void units_free(uint64_t addr, unsigned n)
{
	struct chunk *c = container_of(map_below(&soft.memory.device.chunks, addr), struct chunk, node);

	chunk_mark(c, (addr - c->node.key) / UNIT, n, false);
	if (c->free < UNITS || c == soft.memory.device.current)
		return;
	map_remove(&soft.memory.device.chunks, &c->node);
	munmap((void *)(uintptr_t)c->node.key, CHUNK);
	free(c);
}

/* The bytes that a block of this size occupies. */
static uint64_t rounded_size(uint64_t size)
{
	uint64_t to = size <= SMALL ? UNIT : 65536;

	return (size + to - 1) & -to;
}

bool memory_charge(struct device *d, uint64_t size)
{
	size_t used = atomic_load(&d->memory_used);

	do {
		if (size > d->memory || used > d->memory - size)
			return false;
	} while (!atomic_compare_exchange_weak(&d->memory_used, &used, used + size));
	usage_report_memory(d, (int64_t)size);
	return true;
}

void memory_uncharge(struct device *d, uint64_t size)
{
	atomic_fetch_sub(&d->memory_used, size);
	usage_report_memory(d, -(int64_t)size);
}

CUresult device_memory_alloc(struct device *d, uint64_t size, uint64_t *addr)
{
	if (size > d->memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t n = rounded_size(size);
	if (!memory_charge(d, n) && !(pools_reclaim(d) && memory_charge(d, n)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (size <= SMALL) {
		pthread_mutex_lock(&soft.memory.device.lock);
		*addr = units_alloc(n / UNIT);
		pthread_mutex_unlock(&soft.memory.device.lock);
	} else {
		*addr = (uintptr_t)map_aligned(n);
	}
	if (*addr)
		return CUDA_SUCCESS;
	memory_uncharge(d, n);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

static struct shared_block *shared_block_find(uint64_t addr)
{
	struct map_node *n = map_find(&soft.memory.device.shared_blocks, addr);

	return n ? container_of(n, struct shared_block, node) : NULL;
}

static int block_share(uint64_t addr, uint64_t size, uint64_t *offset)
{
	struct shared_block *b = shared_block_find(addr);

	if (!b) {
		b = calloc(1, sizeof *b);
		if (!b)
			return -ENOMEM;
		b->node.key = addr;
		b->size = size;
		b->offset = back_by_store((void *)(uintptr_t)addr, size);
		if (b->offset == NOT_IN_STORE) {
			free(b);
			return -ENOMEM;
		}
		map_insert(&soft.memory.device.shared_blocks, &b->node);
	}
	*offset = b->offset;
	return 0;
}

int device_memory_share(uint64_t addr, uint64_t size, uint64_t *offset)
{
	int err;

	pthread_mutex_lock(&soft.memory.device.lock);
	err = block_share(addr, rounded_size(size), offset);
	pthread_mutex_unlock(&soft.memory.device.lock);
	return err;
}

static void shared_block_free(struct shared_block *b)
{
	if (b)
		store_free(b->offset, b->size);
	free(b);
}

/*
 * Lock held.  If anonymous pages cannot take the place of a shared block, its pages are never used again: the address
 * space of the chunk stays.
 */
static void small_block_free(uint64_t addr, uint64_t n)
{
	struct shared_block *b = shared_block_find(addr);
	int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

	if (b) {
		map_remove(&soft.memory.device.shared_blocks, &b->node);
		void *p = mmap((void *)(uintptr_t)addr, n, PROT_READ | PROT_WRITE, how, -1, 0);
		shared_block_free(b);
		if (p == MAP_FAILED)
			return;
	}
	units_free(addr, n / UNIT);
}

static void large_block_free(uint64_t addr, uint64_t n)
{
	pthread_mutex_lock(&soft.memory.device.lock);
	struct shared_block *b = shared_block_find(addr);
	if (b) /* before munmap, after which another thread may get the address */
		map_remove(&soft.memory.device.shared_blocks, &b->node);
	pthread_mutex_unlock(&soft.memory.device.lock);
	munmap((void *)(uintptr_t)addr, n);
	shared_block_free(b);
}

void device_memory_free(struct device *d, uint64_t addr, uint64_t size)
{
	uint64_t n = rounded_size(size);

	if (size <= SMALL) {
		pthread_mutex_lock(&soft.memory.device.lock);
		small_block_free(addr, n);
		pthread_mutex_unlock(&soft.memory.device.lock);
	} else {
		large_block_free(addr, n);
	}
	memory_uncharge(d, n);
}

static void memory_release(struct range *r)
{
	ipc_export_destroy(r->exported);
	if (check_quarantine(r))
		return;
	device_memory_free(r->device, range_addr(r), r->size);
	free(r);
}

/* Allocate device memory and enter its range. */
static CUresult memory_alloc_on(
	struct device *d, struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	struct range *r = calloc(1, sizeof *r);

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult e = device_memory_alloc(d, size + check_padding(), addr);
	if (e == CUDA_ERROR_OUT_OF_MEMORY && check_quarantine_empty())
		e = device_memory_alloc(d, size + check_padding(), addr);
	if (e) {
		free(r);
		return e;
	}
	r->node.key = *addr;
	r->size = size;
	r->kind = kind;
	r->device = d;
	r->ctx = ctx;
	r->release = memory_release;
	if (kind == RANGE_DEVICE)
		check_allocated(r);
	if (range_insert(r)) {
		memory_release(r);
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	return CUDA_SUCCESS;
}

CUresult memory_alloc(struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	return memory_alloc_on(ctx->device, ctx, kind, size, addr);
}

CUresult memory_alloc_without_context(struct device *d, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	return memory_alloc_on(d, NULL, kind, size, addr);
}
