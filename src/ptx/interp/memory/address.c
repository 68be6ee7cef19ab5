/*
 * Translates the addresses of lanes to host addresses, and checks them.
 *
 *	global, const, generic	host addresses, which must lie in memory that host->accessible grants
 *	shared			offsets in the block's shared memory; its host address is the generic address
 *	shared::cluster		see cluster.c
 *	local			offsets in the lane's local memory; its host address is the generic address
 *	param			host addresses, in the kernel's arguments or in a frame
 */
#include "ptx/interp/core.h"

#include <stdio.h>
#include <string.h>

static bool range_contains(uint64_t base, uint64_t size, uint64_t lo, uint64_t n)
{
	return lo >= base && lo - base <= size && n <= size - (lo - base);
}

/* Searches the grid thread's cache, then asks the host; the range found moves to the front. */
static bool range_granted(struct warp *w, uint64_t lo, uint64_t n)
{
	struct grid_thread *k = w->block->thread;
	const struct interp_host *h = w->launch->host;
	struct range r;
	uint64_t size;

	for (unsigned i = 1; i < CACHED_RANGES; i++) {
		r = k->ranges[i];
		if (range_contains(r.base, r.end - r.base, lo, n)) {
			memmove(k->ranges + 1, k->ranges, i * sizeof(r));
			k->ranges[0] = r;
			return true;
		}
	}
	if (!h->accessible(h->arg, lo, &r.base, &size) || !range_contains(r.base, size, lo, n))
		return false;
	r.end = r.base + size;
	memmove(k->ranges + 1, k->ranges, (CACHED_RANGES - 1) * sizeof(r));
	k->ranges[0] = r;
	return true;
}

static bool in_frames(const struct warp *w, uint64_t lo, uint64_t n)
{
	for (const struct frame *f = w->frame; f; f = f->parent)
		if (f->params &&
			range_contains((uint64_t)(uintptr_t)f->params, (uint64_t)f->fn->param_stride * LANES, lo, n))
			return true;
	return false;
}

bool mem_accessible(struct warp *w, uint64_t lo, uint64_t n)
{
	struct block *b = w->block;
	const struct grid *g = b->grid;
	struct range *hot = &b->thread->ranges[0];

	if (range_contains(hot->base, hot->end - hot->base, lo, n))
		return true;
	if (range_contains((uint64_t)(uintptr_t)b->shared, g->shared_size, lo, n) ||
		range_contains((uint64_t)(uintptr_t)w->local, g->local_size * LANES, lo, n))
		return true;
	return range_granted(w, lo, n) || range_contains((uint64_t)(uintptr_t)g->params, g->params_size, lo, n) ||
	       in_frames(w, lo, n) || range_contains((uint64_t)(uintptr_t)g->workspace, sizeof(g->workspace), lo, n) ||
	       cluster_accessible(b, lo, n);
}

bool mem_string(struct warp *w, uint64_t addr, char *buf, size_t size)
{
	size_t n = 0;

	for (; n + 1 < size; n++) {
		if (!mem_accessible(w, addr + n, 1)) {
			warp_fault(w, INTERP_ILLEGAL_ADDRESS, "a string at 0x%llx cannot be read",
				(unsigned long long)addr);
			buf[n] = 0;
			return false;
		}
		buf[n] = *(const char *)(uintptr_t)(addr + n);
		if (!buf[n])
			return true;
	}
	buf[n] = 0;
	return true;
}

/* ---- accesses of a warp ----------------------------------------------------------------------------- */

/* Where an inaccessible global address lies: which allocation it misses, and by how much. */
static void describe_address(struct warp *w, uint64_t a, uint64_t size, char *text, size_t n)
{
	const struct interp_host *h = w->launch->host;
	unsigned long long base = 0, bytes = 0;
	uint64_t from, length;

	if (!h->nearest || !h->nearest(h->arg, a, &from, &length)) {
		snprintf(text, n, "in no allocation");
		return;
	}
	base = from;
	bytes = length;
	if (a < from)
		snprintf(text, n, "%llu bytes before an allocation of %llu bytes at 0x%llx",
			(unsigned long long)(from - a), bytes, base);
	else if (a - from < length)
		snprintf(text, n, "the last %llu bytes are past an allocation of %llu bytes at 0x%llx",
			(unsigned long long)(size - (length - (a - from))), bytes, base);
	else
		snprintf(text, n, "%llu bytes past the end of an allocation of %llu bytes at 0x%llx",
			(unsigned long long)(a - from - length), bytes, base);
}

/* The line of the PTX and, if the compiler noted it (-lineinfo), the line of the source. */
static void describe_place(const struct warp *w, const struct xinst *x, char *text, size_t n)
{
	const char *file = ptx_module_file(w->frame->fn->fn->module, x->in->loc_file);

	if (x->in->loc_line && file)
		snprintf(text, n, "%s:%u (line %u of the PTX)", file, x->in->loc_line, x->in->line);
	else
		snprintf(text, n, "line %u", x->in->line);
}

static enum address_shape access_fault(
	struct warp *w, const struct xinst *x, enum interp_fault fault, unsigned lane, uint64_t a, uint64_t size)
{
	const struct grid *g = w->block->grid;
	const uint32_t *c = w->block->ctaid;
	char place[160], where[160];

	describe_place(w, x, place, sizeof(place));
	if (fault == INTERP_MISALIGNED_ADDRESS)
		snprintf(where, sizeof(where), "misaligned");
	else if (x->target == PTX_SHARED || x->target == PTX_SHARED_CLUSTER)
		snprintf(where, sizeof(where), "the block has %llu bytes of shared memory",
			(unsigned long long)(g->shared_size - RESERVED_SHARED));
	else if (x->target == PTX_LOCAL)
		snprintf(where, sizeof(where), "the thread has %llu bytes of local memory",
			(unsigned long long)g->local_size);
	else
		describe_address(w, a, size, where, sizeof(where));
	warp_fault(w, fault, "%s: %s of %llu bytes at 0x%llx (%s), block (%u,%u,%u), thread (%u,%u,%u)", place,
		ptx_op_name(x->in->op), (unsigned long long)size, (unsigned long long)a, where, c[0], c[1], c[2],
		w->tid[0][lane], w->tid[1][lane], w->tid[2][lane]);
	return ADDRESSES_FAULT;
}

void mem_addresses(struct warp *w, const struct xinst *x, unsigned src, uint64_t a[LANES])
{
	uint64_t imm = (uint64_t)x->imm, local;

	if (x->src[src] == NO_SLOT) {
		local = w->frame->local_base + imm;
		for (int i = 0; i < LANES; i++)
			a[i] = local;
	} else if (x->src_width[src] == W64) {
		const uint64_t *b = SRC(w, x, src, uint64_t);

		for (int i = 0; i < LANES; i++)
			a[i] = b[i] + imm;
	} else {
		const uint32_t *b = SRC(w, x, src, uint32_t);

		for (int i = 0; i < LANES; i++)
			a[i] = (uint32_t)(b[i] + (uint32_t)imm);
	}
}

/* Gives inactive lanes the address of the first active one, so that they pass the checks. */
static void cover_inactive(struct warp *w, uint64_t a[LANES])
{
	uint64_t first = a[__builtin_ctz(w->active)];
	uint32_t on = w->active;

	for (int i = 0; i < LANES; i++)
		a[i] = on & lane_bit32[i] ? a[i] : first;
}

/* Checks offsets in a memory of `limit` bytes. */
static enum address_shape check_offsets(
	struct warp *w, const struct xinst *x, uint64_t size, uint64_t limit, const uint64_t a[LANES])
{
	uint64_t high = 0, low_bits = 0;
	uint64_t last = size <= limit ? limit - size : 0;

	for (int i = 0; i < LANES; i++) {
		high |= (uint64_t)(a[i] > last);
		low_bits |= a[i];
	}
	if (high || size > limit) {
		FOR_ACTIVE(w, i)
		if (size > limit || a[i] > last)
			return access_fault(w, x, INTERP_ILLEGAL_ADDRESS, i, a[i], size);
	}
	if (low_bits & (size - 1)) {
		FOR_ACTIVE(w, i)
		if (a[i] & (size - 1))
			return access_fault(w, x, INTERP_MISALIGNED_ADDRESS, i, a[i], size);
	}
	return ADDRESSES_LOOSE;
}

static bool is_dense(const uint64_t a[LANES], uint64_t size)
{
	uint64_t first = a[0], off = 0;

	for (unsigned i = 0; i < LANES; i++)
		off |= a[i] ^ (first + i * size);
	return !off;
}

static enum address_shape check_generic(struct warp *w, const struct xinst *x, uint64_t size, const uint64_t a[LANES])
{
	uint64_t lo = a[0], hi = a[0], low_bits = 0;

	for (int i = 0; i < LANES; i++) {
		low_bits |= a[i];
		lo = a[i] < lo ? a[i] : lo;
		hi = a[i] > hi ? a[i] : hi;
	}
	if (low_bits & (size - 1)) {
		FOR_ACTIVE(w, i)
		if (a[i] & (size - 1))
			return access_fault(w, x, INTERP_MISALIGNED_ADDRESS, i, a[i], size);
	}
	if (hi - lo <= UINT64_MAX - size && mem_accessible(w, lo, hi - lo + size))
		return ADDRESSES_LOOSE;
	FOR_ACTIVE(w, i)
	if (!mem_accessible(w, a[i], size))
		return access_fault(w, x, INTERP_ILLEGAL_ADDRESS, i, a[i], size);
	return ADDRESSES_LOOSE;
}

/* .param memory by name: the decoder has checked the offset. */
static enum address_shape resolve_param(struct warp *w, const struct xinst *x, uint64_t a[LANES])
{
	for (unsigned i = 0; i < LANES; i++)
		a[i] = (uint64_t)(uintptr_t)frame_param(w, w->frame, i, (uint64_t)x->imm);
	return ADDRESSES_LOOSE;
}

static enum address_shape resolve_cluster(struct warp *w, const struct xinst *x, uint64_t size, uint64_t a[LANES])
{
	FOR_ACTIVE(w, i)
	{
		uint8_t *p = cluster_shared(w->block, a[i], size);

		if (!p || (a[i] & (size - 1)))
			return access_fault(
				w, x, p ? INTERP_MISALIGNED_ADDRESS : INTERP_ILLEGAL_ADDRESS, i, a[i], size);
		a[i] = (uint64_t)(uintptr_t)p;
	}
	cover_inactive(w, a);
	return ADDRESSES_LOOSE;
}

enum address_shape mem_resolve(
	struct warp *w, const struct xinst *x, unsigned src, unsigned space, uint64_t size, uint64_t a[LANES])
{
	uint64_t base;
	bool dense;

	if (space == PTX_PARAM && x->src[src] == NO_SLOT)
		return resolve_param(w, x, a);
	mem_addresses(w, x, src, a);
	if (w->active != ALL_LANES)
		cover_inactive(w, a);
	dense = w->active == ALL_LANES && is_dense(a, size);
	switch (space) {
	case PTX_SHARED_CLUSTER:
		return resolve_cluster(w, x, size, a);
	case PTX_SHARED:
		if (check_offsets(w, x, size, w->block->grid->shared_size, a) == ADDRESSES_FAULT)
			return ADDRESSES_FAULT;
		base = (uint64_t)(uintptr_t)w->block->shared;
		for (int i = 0; i < LANES; i++)
			a[i] += base;
		return dense ? ADDRESSES_DENSE : ADDRESSES_LOOSE;
	case PTX_LOCAL:
		if (check_offsets(w, x, size, w->block->grid->local_size, a) == ADDRESSES_FAULT)
			return ADDRESSES_FAULT;
		for (unsigned i = 0; i < LANES; i++)
			a[i] += lane_local(w, i);
		return ADDRESSES_LOOSE;
	default:
		if (dense && !(a[0] & (size - 1)) && a[0] < UINT64_MAX - LANES * size &&
			mem_accessible(w, a[0], LANES * size))
			return ADDRESSES_DENSE;
		return check_generic(w, x, size, a);
	}
}

uint8_t *mem_bytes(struct warp *w, const struct xinst *x, unsigned lane, uint64_t offset, uint64_t n)
{
	uint64_t a[LANES], at;
	uint8_t *shared;

	mem_addresses(w, x, 0, a);
	at = a[lane] + offset;
	if (x->target == PTX_SHARED || x->target == PTX_SHARED_CLUSTER) {
		shared = cluster_shared(w->block, at, n);
		if (shared)
			return shared;
	} else if (mem_accessible(w, at, n)) {
		return (uint8_t *)(uintptr_t)at;
	}
	access_fault(w, x, INTERP_ILLEGAL_ADDRESS, lane, at, n);
	return NULL;
}
