/*
 * Clusters: blocks that run together, access each other's shared memory and have a barrier of their own.
 *
 * One worker runs all blocks of a cluster, so that plain accesses suffice.  The blocks form a ring (block.peer),
 * which a block leaves when it ends; without clusters each block is a ring of one.  An address in the shared::cluster
 * space is
 *
 *	tag << 24 | offset in a block's shared memory	tag 0: the own block; else rank + 1
 */
#include "ptx/interp/core.h"

enum { TAG_SHIFT = 24, CLUSTER_BAR = MAX_BARS };

static uint64_t shared_offset(uint64_t a)
{
	return a & ((1u << TAG_SHIFT) - 1);
}

static struct block *block_by_rank(struct block *b, uint64_t rank)
{
	struct block *p = b;

	do {
		if (p->rank == rank)
			return p;
		p = p->peer;
	} while (p != b);
	return NULL;
}

static struct block *block_by_tag(struct block *b, uint64_t a)
{
	uint64_t tag = a >> TAG_SHIFT;

	return tag ? block_by_rank(b, tag - 1) : b;
}

void cluster_leave(struct block *b)
{
	struct block *p = b;

	while (p->peer != b)
		p = p->peer;
	p->peer = b->peer;
}

/* ---- addresses -------------------------------------------------------------------------------------- */

struct block *cluster_owner(struct block *b, uint64_t a)
{
	struct block *p = b;

	do {
		if (a - (uint64_t)(uintptr_t)p->shared < b->grid->shared_size)
			return p;
		p = p->peer;
	} while (p != b);
	return NULL;
}

bool cluster_accessible(struct block *b, uint64_t a, uint64_t n)
{
	const struct block *p = b->peer == b ? NULL : cluster_owner(b, a);

	return p && n <= b->grid->shared_size - (a - (uint64_t)(uintptr_t)p->shared);
}

uint8_t *cluster_shared(struct block *b, uint64_t a, uint64_t n)
{
	const struct block *p = block_by_tag(b, a);
	uint64_t size = b->grid->shared_size, offset = shared_offset(a);

	return p && offset <= size && n <= size - offset ? p->shared + offset : NULL;
}

uint64_t cluster_to_generic(struct block *b, uint64_t a)
{
	const struct block *p = block_by_tag(b, a);

	return (uint64_t)(uintptr_t)(p ? p : b)->shared + shared_offset(a);
}

uint64_t cluster_from_generic(struct block *b, uint64_t a)
{
	const struct block *p = cluster_owner(b, a);
	uint64_t offset = a - (uint64_t)(uintptr_t)(p ? p : b)->shared;

	return p && p != b ? (p->rank + 1ULL) << TAG_SHIFT | offset : offset;
}

/* mapa: the address of the same place in the shared memory of another block, generic or shared::cluster. */
void x_mapa(struct warp *w, const struct xinst *x)
{
	bool generic = x->in->m.space != PTX_SHARED_CLUSTER && x->in->m.space != PTX_SHARED;

	FOR_ACTIVE(w, i)
	{
		uint64_t a = src_read_lane(w, x, 0, i), rank = SRC(w, x, 1, uint32_t)[i], r;
		const struct block *to = block_by_rank(w->block, rank),
				   *from = generic ? cluster_owner(w->block, a) : w->block;

		if (!to || !from) {
			warp_fault(w, INTERP_ILLEGAL_ADDRESS, "line %u: mapa of 0x%llx to block %llu of the cluster",
				x->in->line, (unsigned long long)a, (unsigned long long)rank);
			return;
		}
		r = generic ? (uint64_t)(uintptr_t)to->shared + (a - (uint64_t)(uintptr_t)from->shared)
			    : (rank + 1) << TAG_SHIFT | shared_offset(a);
		dst_write_lane(w, x, i, r);
	}
}

void x_ctarank(struct warp *w, const struct xinst *x)
{
	bool generic = x->in->m.space != PTX_SHARED_CLUSTER && x->in->m.space != PTX_SHARED;

	FOR_ACTIVE(w, i)
	{
		uint64_t a = src_read_lane(w, x, 0, i);
		const struct block *p = generic ? cluster_owner(w->block, a) : block_by_tag(w->block, a);

		DST(w, x, uint32_t)[i] = p ? p->rank : w->block->rank;
	}
}

/* ---- the barrier ------------------------------------------------------------------------------------ */

/* The barrier is complete: waiting lanes continue, and lanes that have only arrived will not have to wait. */
static void cluster_bar_release(struct block *b)
{
	b->at_cluster_bar = false;
	checked_barrier(b);
	for (uint32_t i = 0; i < b->nwarps; i++) {
		struct warp *w = &b->warps[i];

		w->cluster_passed |= w->cluster_arrived;
		w->cluster_arrived = 0;
		for (uint32_t k = 0; k < w->nsplits; k++) {
			struct split *s = &w->splits[k];

			if (s->state != SPLIT_BAR || s->bar != CLUSTER_BAR)
				continue;
			w->cluster_passed &= ~s->mask;
			s->state = SPLIT_READY;
			s->pc++;
		}
	}
}

static bool block_arrived(const struct block *b)
{
	for (uint32_t i = 0; i < b->nwarps; i++)
		if (b->warps[i].live & ~b->warps[i].cluster_arrived)
			return false;
	return true;
}

void cluster_bar_update(struct block *b)
{
	struct block *p = b;

	if (!b->at_cluster_bar)
		return;
	do {
		if (!block_arrived(p))
			return;
		p = p->peer;
	} while (p != b);
	do {
		cluster_bar_release(p);
		p = p->peer;
	} while (p != b);
}

void x_cluster_arrive(struct warp *w, const struct xinst *x)
{
	struct block *p = w->block;

	(void)x;
	w->cluster_arrived |= w->active;
	do {
		p->at_cluster_bar = true;
		p = p->peer;
	} while (p != w->block);
	cluster_bar_update(p);
}

void x_cluster_wait(struct warp *w, const struct xinst *x)
{
	uint32_t passed = w->active & w->cluster_passed;

	w->cluster_passed &= ~passed;
	w->active &= ~passed;
	if (w->active)
		warp_suspend(w, x, SPLIT_BAR, CLUSTER_BAR);
}

bool cluster_bar_waits(const struct block *b)
{
	for (uint32_t i = 0; b->peer != b && i < b->nwarps; i++)
		for (uint32_t k = 0; k < b->warps[i].nsplits; k++)
			if (b->warps[i].splits[k].state == SPLIT_BAR && b->warps[i].splits[k].bar == CLUSTER_BAR)
				return true;
	return false;
}
