/*
 * Where device memory comes from.  Small blocks are runs of 512-byte units in 2 MiB chunks; large ones are
 * mappings of their own.  Pages nobody has touched cost nothing, so the count against the device's total is
 * what keeps an application from being promised more than there is.
 *
 * Other processes can be shown memory only if it lies in the store.  Chunks do from the start: moving one
 * would disturb the neighbours.  A large block moves there when somebody asks; until then it is plain memory,
 * for which the system has huge pages.
 */
#include "backend/soft/memory/mempool.h"
#include "backend/soft/memory/range.h"
#include "backend/soft/memory/store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define UNIT        512u
#define CHUNK       (2u << 20)
#define UNITS       (CHUNK / UNIT)
#define SMALL       (CHUNK / 4) /* the largest block that shares a chunk */
#define LARGE_ALIGN (2u << 20)

struct chunk {
	struct map_node node; /* key: the address */
	unsigned free;        /* units */
	unsigned longest;     /* no free run is longer: an upper bound that a failed search lowers */
	uint64_t used[UNITS / 64];
	uint64_t offset; /* in the store; NOWHERE: plain memory */
};

#define NOWHERE (~0ull)

/* A large block that was moved into the store to be shared. */
struct shared_block {
	struct map_node node; /* key: the address */
	uint64_t offset, size;
};

/*
 * Far from where programs and libraries are loaded, if the system agrees: a client of a server sees the managed
 * variables of its modules at the addresses that they have here.
 */
#define SOMEWHERE_ELSE 0x500000000000ull
#define SO_MUCH        (1ull << 42) /* of it, and then from the start again */

static void *map_pages(size_t size)
{
	uintptr_t at = atomic_fetch_add(
		&soft.memory.device.hint_offset, (size + LARGE_ALIGN - 1) & ~(uintptr_t)(LARGE_ALIGN - 1));
	void *hint = (void *)(uintptr_t)(SOMEWHERE_ELSE + at % SO_MUCH);
	void *p = mmap(hint, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Pages at a multiple of 2 MiB, as the vendor's driver gives them, and huge ones if the system likes. */
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

#define STRIDE 65536u

/* Copy what is not zero: what nobody wrote to stays a hole. */
static void copy_sparse(char *to, const char *from, size_t size)
{
	static const char zeros[STRIDE];

	for (size_t i = 0; i < size; i += STRIDE) {
		size_t n = size - i < STRIDE ? size - i : STRIDE;

		if (memcmp(from + i, zeros, n) != 0)
			memcpy(to + i, from + i, n);
	}
}

/* Put the store's memory in place of the plain memory at p.  Where in the store; NOWHERE: it stays as it is.
 */
static uint64_t back_by_store(void *p, size_t size, bool keep)
{
	uint64_t offset;
	void *q;

	if (store_alloc(size, &offset))
		return NOWHERE;
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, store_fd(), (off_t)offset);
	if (q != MAP_FAILED && keep)
		copy_sparse(q, p, size);
	if (q != MAP_FAILED && mremap(q, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, p) == p)
		return offset;
	if (q != MAP_FAILED)
		munmap(q, size);
	store_free(offset, size);
	return NOWHERE;
}

static bool unit_used(const struct chunk *c, unsigned i)
{
	return c->used[i / 64] >> (i % 64) & 1;
}

static void mark(struct chunk *c, unsigned first, unsigned n, bool used)
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

/* First run of n free units, or UNITS. */
static unsigned search(struct chunk *c, unsigned n)
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
		run = unit_used(c, i) ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
		longest = run > longest ? run : longest;
	}
	c->longest = longest;
	return UNITS;
}

static struct chunk *new_chunk(void)
{
	struct chunk *c = calloc(1, sizeof *c);
	void *p = c ? map_aligned(CHUNK) : NULL;

	if (!p) {
		free(c);
		return NULL;
	}
	c->node.key = (uintptr_t)p;
	c->free = c->longest = UNITS;
	c->offset = back_by_store(p, CHUNK, false);
	map_insert(&soft.memory.device.chunks, &c->node);
	return c;
}

static struct chunk *next_chunk(const struct chunk *c)
{
	struct map_node *n = map_above(&soft.memory.device.chunks, c ? c->node.key + 1 : 0);

	return n ? container_of(n, struct chunk, node) : NULL;
}

/* Called with the lock held; 0: no memory. */
static uint64_t take_units(unsigned n)
{
	struct chunk *c = soft.memory.device.current;
	unsigned at = c ? search(c, n) : UNITS;

	for (c = at < UNITS ? c : next_chunk(NULL); c && at == UNITS; c = at < UNITS ? c : next_chunk(c))
		at = search(c, n);
	if (!c) {
		c = new_chunk();
		at = 0;
	}
	if (!c)
		return 0;
	mark(c, at, n, true);
	soft.memory.device.current = c;
	return c->node.key + (uint64_t)at * UNIT;
}

static void give_units(uint64_t addr, unsigned n)
{
	struct chunk *c = container_of(map_below(&soft.memory.device.chunks, addr), struct chunk, node);

	mark(c, (addr - c->node.key) / UNIT, n, false);
	if (c->free < UNITS || c == soft.memory.device.current)
		return;
	map_remove(&soft.memory.device.chunks, &c->node);
	munmap((void *)(uintptr_t)c->node.key, CHUNK);
	if (c->offset != NOWHERE)
		store_free(c->offset, CHUNK);
	free(c);
}

static uint64_t rounded(uint64_t size)
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
	uint64_t n = rounded(size);
	if (!memory_charge(d, n) && !(pools_reclaim(d) && memory_charge(d, n)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (size <= SMALL) {
		pthread_mutex_lock(&soft.memory.device.lock);
		*addr = take_units(n / UNIT);
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

static int share_large(uint64_t addr, uint64_t size, uint64_t *offset)
{
	struct shared_block *m = shared_block_find(addr);

	if (!m) {
		m = calloc(1, sizeof *m);
		if (!m)
			return -ENOMEM;
		m->node.key = addr;
		m->size = size;
		m->offset = back_by_store((void *)(uintptr_t)addr, size, true);
		if (m->offset == NOWHERE) {
			free(m);
			return -ENOMEM;
		}
		map_insert(&soft.memory.device.shared_blocks, &m->node);
	}
	*offset = m->offset;
	return 0;
}

int device_memory_share(uint64_t addr, uint64_t size, uint64_t *offset)
{
	int err = 0;

	pthread_mutex_lock(&soft.memory.device.lock);
	if (size <= SMALL) {
		struct chunk *c = container_of(map_below(&soft.memory.device.chunks, addr), struct chunk, node);

		*offset = c->offset + (addr - c->node.key);
		err = c->offset == NOWHERE ? -ENOTSUP : 0;
	} else {
		err = share_large(addr, rounded(size), offset);
	}
	pthread_mutex_unlock(&soft.memory.device.lock);
	return err;
}

static void give_large(uint64_t addr, uint64_t n)
{
	pthread_mutex_lock(&soft.memory.device.lock);
	struct shared_block *m = shared_block_find(addr);
	if (m)
		map_remove(&soft.memory.device.shared_blocks, &m->node); /* before somebody else gets the address */
	pthread_mutex_unlock(&soft.memory.device.lock);
	munmap((void *)(uintptr_t)addr, n);
	if (m)
		store_free(m->offset, m->size);
	free(m);
}

void device_memory_free(struct device *d, uint64_t addr, uint64_t size)
{
	uint64_t n = rounded(size);

	if (size <= SMALL) {
		pthread_mutex_lock(&soft.memory.device.lock);
		give_units(addr, n / UNIT);
		pthread_mutex_unlock(&soft.memory.device.lock);
	} else {
		give_large(addr, n);
	}
	memory_uncharge(d, n);
}

static void release_range(struct range *r)
{
	device_memory_free(r->device, range_addr(r), r->size);
	free(r);
}

static CUresult alloc(struct device *d, struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	struct range *r = calloc(1, sizeof *r);

	if (!r)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult e = device_memory_alloc(d, size, addr);
	if (e) {
		free(r);
		return e;
	}
	r->node.key = *addr;
	r->size = size;
	r->kind = kind;
	r->device = d;
	r->ctx = ctx;
	r->release = release_range;
	if (range_insert(r)) {
		release_range(r);
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	}
	return CUDA_SUCCESS;
}

CUresult memory_alloc(struct context *ctx, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	return alloc(ctx->device, ctx, kind, size, addr);
}

CUresult memory_alloc_without_context(struct device *d, enum range_kind kind, uint64_t size, uint64_t *addr)
{
	return alloc(d, NULL, kind, size, addr);
}
