/*
 * ld, st, ldu.  Compiled once for each instruction set, like arithmetic.
 *
 * Most accesses of a warp are dense (lane i's address is the first one + i * size) or the same in all lanes,
 * and most others stay in shared memory or in one allocation: these are checked as a whole, here.  What is
 * left, faults too, goes to mem_resolve.
 */
#include "ptx/interp/core.h"

#include <string.h>

#define CAT_(a, b)  a##_##b
#define CAT(a, b)   CAT_(a, b)
#define LEVEL(name) CAT(name, ALU_LEVEL)

/* The address is operand `src`, its space x->target (the variable's own where the text says nothing). */
static bool ordered(const struct xinst *x)
{
	return x->in->m.sem > PTX_WEAK;
}

static uint8_t *element(struct warp *w, const struct xinst *x, uint32_t where, bool vector, unsigned e)
{
	return w->regs + (vector ? x->list[where + e] : where);
}

static bool is_shared(const struct xinst *x)
{
	return x->target == PTX_SHARED || x->target == PTX_SHARED_CLUSTER;
}

/* Bytes at a generic address: first where this instruction was the last time. */
static inline bool reachable(struct warp *w, const struct xinst *x, uint64_t lo, uint64_t n)
{
	struct worker *k = w->block->worker;
	struct range *hot = &k->hot[(uintptr_t)x / sizeof(*x) % HOT];

	if (lo - hot->base <= hot->end - hot->base && n <= hot->end - lo)
		return true;
	if (!mem_ok(w, lo, n))
		return false;
	if (lo >= k->ranges[0].base && lo < k->ranges[0].end)
		*hot = k->ranges[0];
	return true;
}

/* Are all active lanes' values the same; does each exceed the last by size? */
#define SHAPE_OF(name, T)                                                                                    \
	static inline enum shape name(const T *b, uint32_t on, T size)                                       \
	{                                                                                                    \
		unsigned lane = (unsigned)__builtin_ctz(on);                                                 \
		T first = b[lane], base = (T)(first - (T)lane * size), same = 0, dense = 0;                  \
                                                                                                             \
		if (on == ALL_LANES) {                                                                       \
			for (unsigned i = 0; i < LANES; i++) {                                               \
				same |= b[i] ^ first;                                                        \
				dense |= b[i] ^ (T)(base + (T)i * size);                                     \
			}                                                                                    \
		} else {                                                                                     \
			for (unsigned i = 0; i < LANES; i++) {                                               \
				same |= on & LANE_BIT(i, T) ? b[i] ^ first : 0;                              \
				dense |= on & LANE_BIT(i, T) ? b[i] ^ (T)(base + (T)i * size) : 0;           \
			}                                                                                    \
		}                                                                                            \
		return !dense ? SHAPE_DENSE : !same ? SHAPE_UNIFORM : SHAPE_LOOSE;                           \
	}
SHAPE_OF(shape32, uint32_t)
SHAPE_OF(shape64, uint64_t)

static enum shape param_by_name(struct warp *w, const struct xinst *x, uint64_t *first)
{
	if (x->target == PTX_LOCAL || w->frame->parent ||
	    (uint64_t)x->imm >= w->frame->fn->fn->param_size)
		return SHAPE_LOOSE;
	*first = (uint64_t)(uintptr_t)w->block->grid->params + (uint64_t)x->imm;
	return SHAPE_UNIFORM;
}

/* first: lane 0's host address (if it is not active, of a dense access: what it would be), or everybody's. */
static inline enum shape quick(struct warp *w, const struct xinst *x, uint64_t size, uint64_t *first)
{
	const struct block *b = w->block;
	uint32_t on = w->active;
	unsigned lane = (unsigned)__builtin_ctz(on);
	uint64_t a, n = size;
	enum shape s;

	if (x->src[0] == NO_SLOT)
		return param_by_name(w, x, first);
	if (x->target == PTX_LOCAL)
		return SHAPE_LOOSE;
	if (x->src_width[0] == W64) {
		s = shape64(SRC(w, x, 0, uint64_t), on, size);
		a = SRC(w, x, 0, uint64_t)[lane] + (uint64_t)x->imm;
	} else {
		s = shape32(SRC(w, x, 0, uint32_t), on, (uint32_t)size);
		a = (uint32_t)(SRC(w, x, 0, uint32_t)[lane] + (uint32_t)x->imm);
	}
	if (s == SHAPE_LOOSE || (a & (size - 1)))
		return SHAPE_LOOSE;
	if (s == SHAPE_DENSE)
		n *= LANES - (unsigned)__builtin_clz(on) - lane;
	if (is_shared(x)) {
		if (a > b->grid->shared_size || n > b->grid->shared_size - a)
			return SHAPE_LOOSE;
		a += (uint64_t)(uintptr_t)b->shared;
	} else if (!reachable(w, x, a, n)) {
		return SHAPE_LOOSE;
	}
	*first = s == SHAPE_DENSE ? a - lane * size : a;
	return s;
}

/* Offsets in shared memory that all are good. */
static inline bool offsets_in_shared(struct warp *w, const struct xinst *x, uint64_t size, uint64_t a[LANES])
{
	const uint32_t *b = SRC(w, x, 0, uint32_t);
	uint32_t on = w->active, imm = (uint32_t)x->imm, fill = b[__builtin_ctz(on)] + imm, bad = 0;
	uint32_t limit = (uint32_t)w->block->grid->shared_size, last = limit - (uint32_t)size;
	uint64_t base = (uint64_t)(uintptr_t)w->block->shared;

	if (size > limit)
		return false;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t v = on & lane_bit32[i] ? b[i] + imm : fill;

		bad |= (v > last) | (v & ((uint32_t)size - 1));
		a[i] = base + v;
	}
	return !bad;
}

/* Addresses that all lie in one allocation. */
static inline bool within_one(struct warp *w, const struct xinst *x, uint64_t size, uint64_t a[LANES])
{
	const uint64_t *b = SRC(w, x, 0, uint64_t);
	uint32_t on = w->active;
	uint64_t imm = (uint64_t)x->imm, fill = b[__builtin_ctz(on)] + imm, lo = fill, hi = fill, bits = 0;

	for (unsigned i = 0; i < LANES; i++) {
		uint64_t v = on & lane_bit64[i] ? b[i] + imm : fill;

		lo = v < lo ? v : lo;
		hi = v > hi ? v : hi;
		bits |= v;
		a[i] = v;
	}
	return !(bits & (size - 1)) && hi - lo <= UINT64_MAX - size && reachable(w, x, lo, hi - lo + size);
}

/* Host addresses of the active lanes; false: a fault was raised. */
static inline bool loose(struct warp *w, const struct xinst *x, uint64_t size, uint64_t a[LANES])
{
	if (x->src[0] != NO_SLOT && x->target != PTX_LOCAL) {
		if (is_shared(x) ? x->src_width[0] == W32 && offsets_in_shared(w, x, size, a)
				 : x->src_width[0] == W64 && within_one(w, x, size, a))
			return true;
	}
	return mem_resolve(w, x, 0, x->target, size, a) != SHAPE_FAULT;
}

/*
 * M: the type in memory, D: the slot's element.  An ordered load is an acquire: on our hosts it costs
 * nothing, and it is what a spinning kernel waits with.
 */
#define LOAD(name, M, D)                                                                                     \
	static void name##_loose(struct warp *w, const struct xinst *x, bool vector, unsigned n)             \
	{                                                                                                    \
		uint64_t a[LANES] __attribute__((aligned(64)));                                              \
                                                                                                             \
		if (!loose(w, x, n * sizeof(M), a))                                                          \
			return;                                                                              \
		for (unsigned e = 0; e < n; e++) {                                                           \
			D *d = (D *)element(w, x, x->dst, vector, e);                                        \
			if (ordered(x))                                                                      \
				FOR_ACTIVE(w, i)                                                             \
			d[i] = (D)__atomic_load_n((const M *)(uintptr_t)a[i] + e, __ATOMIC_ACQUIRE);         \
			else if (w->active == ALL_LANES) for (int i = 0; i < LANES; i++) d[i] =              \
				(D)((const M *)(uintptr_t)a[i])[e];                                          \
			else FOR_ACTIVE(w, i) d[i] = (D)((const M *)(uintptr_t)a[i])[e];                     \
		}                                                                                            \
	}                                                                                                    \
	static void name##_quick(struct warp *w, D *d, const M *from, unsigned n, enum shape s)              \
	{                                                                                                    \
		if (s == SHAPE_UNIFORM) {                                                                    \
			M v = *from;                                                                         \
			MAP(w, d, D, v);                                                                     \
		} else if (w->active != ALL_LANES) {                                                         \
			FOR_ACTIVE(w, i)                                                                     \
			d[i] = (D)from[i * n];                                                               \
		} else if (n == 1) {                                                                         \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) d[i] = (D)from[i];         \
		} else {                                                                                     \
			for (unsigned i = 0; i < LANES; i++)                                                 \
				d[i] = (D)from[i * n];                                                       \
		}                                                                                            \
	}                                                                                                    \
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[0].kind == PTX_O_VEC;                                               \
		unsigned n = vector ? x->in->ops[0].n : 1;                                                   \
		uint64_t first = 0;                                                                          \
		enum shape s;                                                                                \
                                                                                                             \
		if (ordered(x))                                                                              \
			warp_spin(w);                                                                        \
		s = ordered(x) ? SHAPE_LOOSE : quick(w, x, n * sizeof(M), &first);                           \
		if (s == SHAPE_LOOSE) {                                                                      \
			name##_loose(w, x, vector, n);                                                       \
			return;                                                                              \
		}                                                                                            \
		for (unsigned e = 0; e < n; e++)                                                             \
			name##_quick(w, (D *)element(w, x, x->dst, vector, e),                               \
				     (const M *)(uintptr_t)first + e, n, s);                                 \
	}

LOAD(ld_u8_16, uint8_t, uint16_t)
LOAD(ld_u8_32, uint8_t, uint32_t)
LOAD(ld_u8_64, uint8_t, uint64_t)
LOAD(ld_s8_16, int8_t, uint16_t)
LOAD(ld_s8_32, int8_t, uint32_t)
LOAD(ld_s8_64, int8_t, uint64_t)
LOAD(ld_u16_16, uint16_t, uint16_t)
LOAD(ld_u16_32, uint16_t, uint32_t)
LOAD(ld_u16_64, uint16_t, uint64_t)
LOAD(ld_s16_32, int16_t, uint32_t)
LOAD(ld_s16_64, int16_t, uint64_t)
LOAD(ld_u32_32, uint32_t, uint32_t)
LOAD(ld_u32_64, uint32_t, uint64_t)
LOAD(ld_s32_64, int32_t, uint64_t)
LOAD(ld_u64_64, uint64_t, uint64_t)

static void ld_128(struct warp *w, const struct xinst *x)
{
	uint64_t a[LANES];
	bool vector = x->in->ops[0].kind == PTX_O_VEC;
	unsigned n = vector ? x->in->ops[0].n : 1;

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == SHAPE_FAULT)
		return;
	if (ordered(x))
		warp_spin(w);
	for (unsigned e = 0; e < n; e++) {
		uint8_t *d = element(w, x, x->dst, vector, e);

		FOR_ACTIVE(w, i)
		memcpy(d + 16 * i, (const uint8_t *)(uintptr_t)a[i] + 16 * e, 16);
	}
}

/* M: the type in memory, S: the slot's element. */
#define STORE(name, M, S)                                                                                    \
	static void name##_loose(struct warp *w, const struct xinst *x, bool vector, unsigned n)             \
	{                                                                                                    \
		uint64_t a[LANES] __attribute__((aligned(64)));                                              \
                                                                                                             \
		if (!loose(w, x, n * sizeof(M), a))                                                          \
			return;                                                                              \
		for (unsigned e = 0; e < n; e++) {                                                           \
			const S *v = (const S *)element(w, x, x->src[1], vector, e);                         \
			if (ordered(x))                                                                      \
				FOR_ACTIVE(w, i)                                                             \
			__atomic_store_n((M *)(uintptr_t)a[i] + e, (M)v[i], __ATOMIC_RELEASE);               \
			else if (w->active == ALL_LANES) for (int i = 0; i < LANES; i++)(                    \
				(M *)(uintptr_t)a[i])[e] = (M)v[i];                                          \
			else FOR_ACTIVE(w, i)((M *)(uintptr_t)a[i])[e] = (M)v[i];                            \
		}                                                                                            \
	}                                                                                                    \
	static void name##_dense(struct warp *w, M *to, const S *v, unsigned n)                              \
	{                                                                                                    \
		if (w->active != ALL_LANES) {                                                                \
			FOR_ACTIVE(w, i)                                                                     \
			to[i * n] = (M)v[i];                                                                 \
		} else if (n == 1) {                                                                         \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) to[i] = (M)v[i];           \
		} else {                                                                                     \
			for (unsigned i = 0; i < LANES; i++)                                                 \
				to[i * n] = (M)v[i];                                                         \
		}                                                                                            \
	}                                                                                                    \
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[1].kind == PTX_O_VEC;                                               \
		unsigned n = vector ? x->in->ops[1].n : 1;                                                   \
		uint64_t first = 0;                                                                          \
                                                                                                             \
		if (ordered(x) || quick(w, x, n * sizeof(M), &first) != SHAPE_DENSE) {                       \
			name##_loose(w, x, vector, n);                                                       \
			return;                                                                              \
		}                                                                                            \
		for (unsigned e = 0; e < n; e++)                                                             \
			name##_dense(w, (M *)(uintptr_t)first + e,                                           \
				     (const S *)element(w, x, x->src[1], vector, e), n);                     \
	}

STORE(st_8_16, uint8_t, uint16_t)
STORE(st_8_32, uint8_t, uint32_t)
STORE(st_8_64, uint8_t, uint64_t)
STORE(st_16_16, uint16_t, uint16_t)
STORE(st_16_32, uint16_t, uint32_t)
STORE(st_16_64, uint16_t, uint64_t)
STORE(st_32_32, uint32_t, uint32_t)
STORE(st_32_64, uint32_t, uint64_t)
STORE(st_64_64, uint64_t, uint64_t)

static void st_128(struct warp *w, const struct xinst *x)
{
	uint64_t a[LANES];
	bool vector = x->in->ops[1].kind == PTX_O_VEC;
	unsigned n = vector ? x->in->ops[1].n : 1;

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == SHAPE_FAULT)
		return;
	for (unsigned e = 0; e < n; e++) {
		const uint8_t *v = element(w, x, x->src[1], vector, e);

		FOR_ACTIVE(w, i)
		memcpy((uint8_t *)(uintptr_t)a[i] + 16 * e, v + 16 * i, 16);
	}
}

/* ---- choosing --------------------------------------------------------------------------------------- */

static bool is_signed(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32;
}

exec_fn LEVEL(access_load)(unsigned type, unsigned width);
exec_fn LEVEL(access_store)(unsigned type, unsigned width);

exec_fn LEVEL(access_load)(unsigned type, unsigned width)
{
	/* By log2 of the bytes in memory, signed or not, and the slot's width. */
	static const exec_fn table[4][2][W64 + 1] = {
		{{NULL, ld_u8_16, ld_u8_32, ld_u8_64}, {NULL, ld_s8_16, ld_s8_32, ld_s8_64}},
		{{NULL, ld_u16_16, ld_u16_32, ld_u16_64}, {NULL, ld_u16_16, ld_s16_32, ld_s16_64}},
		{{NULL, NULL, ld_u32_32, ld_u32_64}, {NULL, NULL, ld_u32_32, ld_s32_64}},
		{{NULL, NULL, NULL, ld_u64_64}, {NULL, NULL, NULL, ld_u64_64}},
	};
	unsigned bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? ld_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return table[__builtin_ctz(bytes)][is_signed(type)][width];
}

exec_fn LEVEL(access_store)(unsigned type, unsigned width)
{
	static const exec_fn table[4][W64 + 1] = {
		{NULL, st_8_16, st_8_32, st_8_64},
		{NULL, st_16_16, st_16_32, st_16_64},
		{NULL, NULL, st_32_32, st_32_64},
		{NULL, NULL, NULL, st_64_64},
	};
	unsigned bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? st_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return table[__builtin_ctz(bytes)][width];
}
