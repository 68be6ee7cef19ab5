/* The map of all ranges, behind one reader-writer lock. */
#include "backend/soft/memory/range.h"

#include <errno.h>
#ifdef GANGWAY_CHECK_RANGES
#include <stdio.h>
#include <stdlib.h>
#endif

static struct range *range_of(struct map_node *n)
{
	return n ? container_of(n, struct range, node) : NULL;
}

/* The range that contains addr, or NULL; lock held. */
static struct range *range_holding(uint64_t addr)
{
	return map_holding(&soft.memory.ranges.map, addr, struct range, node, size);
}

/* Bytes that work in streams may access: those of the present owner, or of one whose free is pending. */
static uint64_t range_extent(const struct range *r)
{
	return r->old_size > r->size ? r->old_size : r->size;
}

/* The range whose extent contains addr, or NULL; lock held. */
static struct range *range_reaching(uint64_t addr)
{
	struct range *r = range_of(map_below(&soft.memory.ranges.map, addr));

	return r && addr - range_addr(r) < range_extent(r) ? r : NULL;
}

int range_insert(struct range *r)
{
	uint64_t addr = range_addr(r);
	int err = 0;

	pthread_rwlock_wrlock(&soft.memory.ranges.lock);
	struct range *after = range_of(map_above(&soft.memory.ranges.map, addr));
	if (range_holding(addr) || (after && range_addr(after) - addr < r->size)) {
		err = -EEXIST;
	} else if (r->ctx && atomic_load(&r->ctx->closed)) {
		err = -ECANCELED; /* the context would never free it */
	} else {
		r->id = soft_next_id();
		r->ctx_handle = r->ctx ? r->ctx->object.handle : 0;
		map_insert(&soft.memory.ranges.map, &r->node);
	}
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return err;
}

void range_touch_begin(void)
{
	pthread_rwlock_rdlock(&soft.memory.ranges.touch);
}

void range_touch_end(void)
{
	pthread_rwlock_unlock(&soft.memory.ranges.touch);
}

/* A range has been removed: waits for the commands that may have found it before. */
static void range_removed(const struct range *r)
{
	pthread_rwlock_wrlock(&soft.memory.ranges.touch);
	pthread_rwlock_unlock(&soft.memory.ranges.touch);
	check_forget(range_addr(r), r->size);
}

bool range_may_be_freed(uint64_t addr)
{
	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	struct range *r = range_holding(addr);
	bool may = r && r->kind != RANGE_REGISTERED && r->kind != RANGE_POOL;
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return may;
}

struct range *range_remove(uint64_t addr, unsigned mask)
{
	pthread_rwlock_wrlock(&soft.memory.ranges.lock);
	struct range *r = range_of(map_find(&soft.memory.ranges.map, addr));
	if (r && !(mask & 1u << r->kind))
		r = NULL;
	if (r)
		map_remove(&soft.memory.ranges.map, &r->node);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	if (r)
		range_removed(r);
	return r;
}

struct range *range_remove_id(uint64_t addr, unsigned long long id)
{
	pthread_rwlock_wrlock(&soft.memory.ranges.lock);
	struct range *r = range_of(map_find(&soft.memory.ranges.map, addr));
	if (r && r->id != id)
		r = NULL;
	if (r)
		map_remove(&soft.memory.ranges.map, &r->node);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	if (r)
		range_removed(r);
	return r;
}

bool range_find(uint64_t addr, uint64_t size, struct range *copy)
{
	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	struct range *r = range_holding(addr);
	bool found = r && size <= r->size - (addr - range_addr(r));
	if (found)
		*copy = *r;
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return found;
}

static bool is_accessible(const struct range *r)
{
	return r->kind != RANGE_RESERVED && r->kind != RANGE_ARRAY;
}

/* Whether accessible ranges cover the interval.  Only mapped memory may continue in the next range. */
static bool ranges_cover(uint64_t addr, uint64_t size, bool write)
{
	bool ok = true;

	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	while (size && ok) {
		struct range *r = range_reaching(addr);

		ok = r && is_accessible(r) && !(write && r->read_only);
		if (!ok)
			break;
		uint64_t here = range_extent(r) - (addr - range_addr(r));
		if (here >= size)
			break;
		addr += here;
		size -= here;
		ok = r->kind == RANGE_MAPPED;
	}
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return ok;
}

bool range_accessible(uint64_t addr, uint64_t size)
{
	return ranges_cover(addr, size, false);
}

bool range_writable(uint64_t addr, uint64_t size)
{
	return ranges_cover(addr, size, true);
}

#ifdef GANGWAY_CHECK_RANGES
void range_check_touched(uint64_t addr, uint64_t size, const char *what)
{
	if (ranges_cover(addr, size, false))
		return;
	fprintf(stderr, "ERROR: gangway: %s of %llu bytes at %#llx touches memory that was freed\n", what,
		(unsigned long long)size, (unsigned long long)addr);
	abort();
}
#endif

bool range_change(uint64_t addr, void (*f)(struct range *r, void *arg), void *arg)
{
	pthread_rwlock_wrlock(&soft.memory.ranges.lock);
	struct range *r = range_holding(addr);
	if (r)
		f(r, arg);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return r;
}

bool soft_accessible(uint64_t addr, uint64_t *base, uint64_t *size)
{
	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	const struct range *r = range_reaching(addr);
	bool ok = r && is_accessible(r);
	if (ok && base)
		*base = range_addr(r);
	if (ok && size)
		*size = range_extent(r);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return ok;
}

bool soft_nearest(uint64_t addr, uint64_t *base, uint64_t *size)
{
	const uint64_t far = 1ull << 30;

	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	const struct range *below = range_of(map_below(&soft.memory.ranges.map, addr));
	const struct range *above = range_of(map_above(&soft.memory.ranges.map, addr));
	uint64_t up = above && is_accessible(above) ? range_addr(above) - addr : far, down = far;
	if (below && is_accessible(below)) {
		uint64_t offset = addr - range_addr(below);

		down = offset < range_extent(below) ? 0 : offset - range_extent(below);
	}
	const struct range *r = down < far && down <= up ? below : up < far ? above : NULL;
	if (r) {
		*base = range_addr(r);
		*size = range_extent(r);
	}
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	return r;
}

/* Remove the first range of ctx at or above an address. */
static struct range *range_remove_of_context(struct context *ctx, uint64_t from)
{
	struct range *r;

	pthread_rwlock_wrlock(&soft.memory.ranges.lock);
	for (r = range_of(map_above(&soft.memory.ranges.map, from)); r;
		r = range_of(map_above(&soft.memory.ranges.map, range_addr(r) + 1)))
		if (r->ctx == ctx)
			break;
	if (r)
		map_remove(&soft.memory.ranges.map, &r->node);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
	if (r)
		range_removed(r);
	return r;
}

void range_end_context(struct context *ctx)
{
	struct range *r;

	for (uint64_t from = 0; (r = range_remove_of_context(ctx, from));) {
		from = range_addr(r);
		r->release(r);
	}
}

void range_each(void (*f)(const struct range *r, void *arg), void *arg)
{
	pthread_rwlock_rdlock(&soft.memory.ranges.lock);
	for (struct range *r = range_of(map_above(&soft.memory.ranges.map, 0)); r;
		r = range_of(map_above(&soft.memory.ranges.map, range_addr(r) + 1)))
		f(r, arg);
	pthread_rwlock_unlock(&soft.memory.ranges.lock);
}
