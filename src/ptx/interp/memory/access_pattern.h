/*
 * access_pattern.h - finds the addresses of a warp's ld or st.  Private to access.c, and compiled with it once for each
 * instruction set.
 *
 * Most accesses are dense (lane i's address is the first one + i * size) or have one address for all lanes.  Most
 * others stay in shared memory, in one allocation, or at one offset of every lane's local memory.  These patterns are
 * checked as a whole; mem_resolve handles all others, and faults.
 */
#pragma once

#include "ptx/interp/core.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

/* ---- shapes ----------------------------------------------------------------------------------------- */

/* True if every active lane's value is first + i * step. */
static inline bool affine32(const uint32_t *b, uint32_t on, uint32_t first, uint32_t step)
{
#ifdef __AVX512F__
	const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	__m512i at =
		_mm512_add_epi32(_mm512_set1_epi32((int)first), _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)step)));
	uint32_t off = _mm512_mask_cmpneq_epi32_mask((__mmask16)on, _mm512_load_si512(b), at);

	at = _mm512_add_epi32(at, _mm512_set1_epi32((int)(16 * step)));
	off |= _mm512_mask_cmpneq_epi32_mask((__mmask16)(on >> 16), _mm512_load_si512(b + 16), at);
	return !off;
#else
	uint32_t off = 0;

	for (unsigned i = 0; i < LANES; i++)
		off |= on & lane_bit32[i] ? b[i] ^ (first + i * step) : 0;
	return !off;
#endif
}

static inline bool affine64(const uint64_t *b, uint32_t on, uint64_t first, uint64_t step)
{
#ifdef __AVX512F__
	const __m512i lane = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
	__m512i at = _mm512_add_epi64(
		_mm512_set1_epi64((long long)first), _mm512_mullo_epi64(lane, _mm512_set1_epi64((long long)step)));
	uint32_t off = 0;

	for (unsigned i = 0; i < LANES; i += 8) {
		off |= _mm512_mask_cmpneq_epi64_mask((__mmask8)(on >> i), _mm512_load_si512(b + i), at);
		at = _mm512_add_epi64(at, _mm512_set1_epi64((long long)(8 * step)));
	}
	return !off;
#else
	uint64_t off = 0;

	for (unsigned i = 0; i < LANES; i++)
		off |= on & lane_bit64[i] ? b[i] ^ (first + i * step) : 0;
	return !off;
#endif
}

/* The first and the last active lane determine the only possible shape; one pass over all lanes confirms it. */
#define SHAPE_OF(name, affine, T) \
	static inline enum address_shape name(const T *b, uint32_t on, T size) \
	{ \
		T lo = (T)__builtin_ctz(on), hi = (T)(LANES - 1 - __builtin_clz(on)), span = b[hi] - b[lo]; \
\
		if (span == (T)((hi - lo) * size)) \
			return affine(b, on, b[lo] - lo * size, size) ? ADDRESSES_DENSE : ADDRESSES_LOOSE; \
		return !span && affine(b, on, b[lo], 0) ? ADDRESSES_UNIFORM : ADDRESSES_LOOSE; \
	}
SHAPE_OF(shape32, affine32, uint32_t)
SHAPE_OF(shape64, affine64, uint64_t)

/* ---- patterns --------------------------------------------------------------------------------------- */

enum pattern_kind {
	PATTERN_DENSE,    /* at + i * size */
	PATTERN_SAME,     /* at */
	PATTERN_STRIDE,   /* at + i * step */
	PATTERN_OFFSETS,  /* at + the lane's 32-bit offset + imm */
	PATTERN_POINTERS, /* the lane's 64-bit address + imm */
	PATTERN_TABLE,    /* a[i] */
	PATTERN_FAULT     /* a fault was raised */
};

struct access_pattern {
	enum pattern_kind how;
	uint64_t at, step;
	const void *lane;
	uint64_t a[LANES] __attribute__((aligned(64)));
};

/* Like mem_accessible, but tries the allocation first that this instruction used last. */
static inline bool range_reachable(struct warp *w, const struct xinst *x, uint64_t lo, uint64_t n)
{
	struct grid_thread *k = w->block->thread;
	struct range *hot = &k->hot[(uintptr_t)x / sizeof(*x) % HOT_RANGES];

	if (lo - hot->base <= hot->end - hot->base && n <= hot->end - lo)
		return true;
	if (!mem_accessible(w, lo, n))
		return false;
	if (lo >= k->ranges[0].base && lo < k->ranges[0].end)
		*hot = k->ranges[0];
	return true;
}

/* True if each active lane's offset is aligned and leaves `size` bytes in shared memory. */
static inline bool shared_offsets_valid(const struct warp *w, const uint32_t *b, uint32_t imm, uint32_t size)
{
	uint32_t on = w->active, limit = (uint32_t)w->block->grid->shared_size, bad = 0;

	if (size > limit)
		return false;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t v = b[i] + imm;

		bad |= on & lane_bit32[i] ? (uint32_t)(v > limit - size) | (v & (size - 1)) : 0;
	}
	return !bad;
}

/* True if all active lanes' addresses are aligned and lie in one accessible range. */
static inline bool in_one_allocation(struct warp *w, const struct xinst *x, const uint64_t *b, uint64_t size)
{
	uint32_t on = w->active;
	uint64_t imm = (uint64_t)x->imm, fill = b[__builtin_ctz(on)] + imm, lo = fill, hi = fill, bits = 0;

	for (unsigned i = 0; i < LANES; i++) {
		uint64_t v = on & lane_bit64[i] ? b[i] + imm : fill;

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
		bits |= v;
	}
	return !(bits & (size - 1)) && hi - lo <= UINT64_MAX - size && range_reachable(w, x, lo, hi - lo + size);
}

/*
 * The common patterns: dense, or one address for all lanes.  *at is lane 0's address (also if lane 0 is inactive), or
 * the common one.  PATTERN_TABLE: neither, or invalid.
 */
static inline enum pattern_kind quick_shared(const struct warp *w, const struct xinst *x, uint32_t size, uint64_t *at)
{
	const uint32_t *b = SRC(w, x, 0, uint32_t);
	uint32_t on = w->active, lane = (uint32_t)__builtin_ctz(on), first = b[lane] + (uint32_t)x->imm, n = size;
	uint64_t limit = w->block->grid->shared_size;
	enum address_shape s = shape32(b, on, size);

	if (s == ADDRESSES_LOOSE)
		return PATTERN_TABLE;
	if (s == ADDRESSES_DENSE)
		n *= LANES - (uint32_t)__builtin_clz(on) - lane;
	if (first > limit || n > limit - first || (first & (size - 1)))
		return PATTERN_TABLE;
	*at = (uint64_t)(uintptr_t)w->block->shared + first - (s == ADDRESSES_DENSE ? (uint64_t)lane * size : 0);
	return s == ADDRESSES_DENSE ? PATTERN_DENSE : PATTERN_SAME;
}

static inline enum pattern_kind quick_global(struct warp *w, const struct xinst *x, uint64_t size, uint64_t *at)
{
	const uint64_t *b = SRC(w, x, 0, uint64_t);
	uint32_t on = w->active, lane = (uint32_t)__builtin_ctz(on);
	uint64_t first = b[lane] + (uint64_t)x->imm, n = size;
	enum address_shape s = shape64(b, on, size);

	if (s == ADDRESSES_LOOSE)
		return PATTERN_TABLE;
	if (s == ADDRESSES_DENSE)
		n *= LANES - (uint32_t)__builtin_clz(on) - lane;
	if ((first & (size - 1)) || !range_reachable(w, x, first, n))
		return PATTERN_TABLE;
	*at = first - (s == ADDRESSES_DENSE ? lane * size : 0);
	return s == ADDRESSES_DENSE ? PATTERN_DENSE : PATTERN_SAME;
}

static inline enum pattern_kind pattern_in_shared(
	struct warp *w, const struct xinst *x, uint32_t size, struct access_pattern *p)
{
	enum pattern_kind how = quick_shared(w, x, size, &p->at);

	p->lane = SRC(w, x, 0, uint32_t);
	if (how != PATTERN_TABLE || !shared_offsets_valid(w, p->lane, (uint32_t)x->imm, size))
		return how;
	p->at = (uint64_t)(uintptr_t)w->block->shared;
	return PATTERN_OFFSETS;
}

static inline enum pattern_kind pattern_in_global(
	struct warp *w, const struct xinst *x, uint64_t size, struct access_pattern *p)
{
	enum pattern_kind how = quick_global(w, x, size, &p->at);

	p->lane = SRC(w, x, 0, uint64_t);
	return how == PATTERN_TABLE && in_one_allocation(w, x, p->lane, size) ? PATTERN_POINTERS : how;
}

/* Local memory: one offset (of a variable or in a pointer) for all lanes, each in its own memory. */
static inline enum pattern_kind pattern_in_local(
	struct warp *w, const struct xinst *x, uint64_t size, struct access_pattern *p)
{
	uint64_t offset = w->frame->local_base, limit = w->block->grid->local_size;
	uint32_t on = w->active, lane = (uint32_t)__builtin_ctz(on);

	if (x->src[0] != NO_SLOT && x->src_width[0] == W64) {
		offset = SRC(w, x, 0, uint64_t)[lane];
		if (!affine64(SRC(w, x, 0, uint64_t), on, offset, 0))
			return PATTERN_TABLE;
	} else if (x->src[0] != NO_SLOT) {
		return PATTERN_TABLE;
	}
	offset += (uint64_t)x->imm;
	if (offset > limit || size > limit - offset || (offset & (size - 1)))
		return PATTERN_TABLE;
	p->at = (uint64_t)(uintptr_t)w->local + offset;
	p->step = limit;
	return PATTERN_STRIDE;
}

/* The parameters of a kernel are common to all lanes; those of a call are per lane. */
static inline enum pattern_kind pattern_in_param(struct warp *w, const struct xinst *x, struct access_pattern *p)
{
	const struct frame *f = w->frame;

	if (!f->parent && (uint64_t)x->imm < f->fn->fn->param_size) {
		p->at = (uint64_t)(uintptr_t)w->block->grid->params + (uint64_t)x->imm;
		return PATTERN_SAME;
	}
	p->at = (uint64_t)(uintptr_t)f->params + (uint64_t)x->imm;
	p->step = f->fn->param_stride;
	return PATTERN_STRIDE;
}

/* The address of one lane. */
static uint64_t pattern_lane_address(const struct xinst *x, uint64_t size, const struct access_pattern *p, unsigned i)
{
	switch (p->how) {
	case PATTERN_DENSE:
		return p->at + i * size;
	case PATTERN_SAME:
		return p->at;
	case PATTERN_STRIDE:
		return p->at + i * p->step;
	case PATTERN_OFFSETS:
		return p->at + (uint32_t)(((const uint32_t *)p->lane)[i] + (uint32_t)x->imm);
	case PATTERN_POINTERS:
		return ((const uint64_t *)p->lane)[i] + (uint64_t)x->imm;
	default:
		return p->a[i];
	}
}

/* Copies the addresses: loading a part of a vector may overwrite the register that holds them. */
static void pattern_tabulate(struct warp *w, const struct xinst *x, struct access_pattern *p)
{
	FOR_ACTIVE(w, i)
	p->a[i] = pattern_lane_address(x, 0, p, i);
	p->how = PATTERN_TABLE;
}

/* Finds the pattern of the address operand, source 0, whose state space is x->target. */
static inline void pattern_find(struct warp *w, const struct xinst *x, uint64_t size, struct access_pattern *p)
{
	switch (x->access) {
	case ACCESS_SHARED:
		p->how = pattern_in_shared(w, x, (uint32_t)size, p);
		break;
	case ACCESS_GLOBAL:
		p->how = pattern_in_global(w, x, size, p);
		break;
	case ACCESS_LOCAL:
		p->how = pattern_in_local(w, x, size, p);
		break;
	case ACCESS_PARAM:
		p->how = pattern_in_param(w, x, p);
		break;
	default:
		p->how = PATTERN_TABLE;
	}
	if (p->how == PATTERN_TABLE && mem_resolve(w, x, 0, x->target, size, p->a) == ADDRESSES_FAULT)
		p->how = PATTERN_FAULT;
	if ((x->n > 1 && p->how == PATTERN_OFFSETS) || (x->n > 1 && size > 16 && p->how == PATTERN_POINTERS))
		pattern_tabulate(w, x, p);
}

#define LANE_AT(M, x, size, p, i) ((M *)(uintptr_t)pattern_lane_address(x, size, p, i))
