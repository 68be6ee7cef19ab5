/* ld, st, ldu. */
#include "ptx/interp/core.h"

#include <string.h>

/* The address is operand `src`, its space x->target (the variable's own where the text says nothing). */
static bool ordered(const struct xinst *x)
{
	return x->in->m.sem > PTX_WEAK;
}

static uint8_t *element(struct warp *w, const struct xinst *x, uint32_t where, bool vector, unsigned e)
{
	return w->regs + (vector ? x->list[where + e] : where);
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
		if (mem_resolve(w, x, 0, x->target, n * sizeof(M), a) == SHAPE_FAULT)                        \
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
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[0].kind == PTX_O_VEC;                                               \
		unsigned n = vector ? x->in->ops[0].n : 1;                                                   \
		uint64_t first = 0;                                                                          \
		enum shape s;                                                                                \
                                                                                                             \
		if (ordered(x))                                                                              \
			warp_spin(w);                                                                        \
		s = ordered(x) ? SHAPE_LOOSE : mem_quick(w, x, x->target, n * sizeof(M), &first);            \
		if (s == SHAPE_LOOSE) {                                                                      \
			name##_loose(w, x, vector, n);                                                       \
			return;                                                                              \
		}                                                                                            \
		for (unsigned e = 0; e < n; e++) {                                                           \
			D *d = (D *)element(w, x, x->dst, vector, e);                                        \
			const M *from = (const M *)(uintptr_t)first + e;                                     \
			if (s == SHAPE_UNIFORM) {                                                            \
				M v = *from;                                                                 \
				MAP(w, d, D, v);                                                             \
			} else if (n == 1 && sizeof(M) == sizeof(D)) {                                       \
				memcpy(d, from, LANES * sizeof(D));                                          \
			} else {                                                                             \
				for (unsigned i = 0; i < LANES; i++)                                         \
					d[i] = (D)from[i * n];                                               \
			}                                                                                    \
		}                                                                                            \
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
		if (mem_resolve(w, x, 0, x->target, n * sizeof(M), a) == SHAPE_FAULT)                        \
			return;                                                                              \
		for (unsigned e = 0; e < n; e++) {                                                           \
			const S *v = (const S *)element(w, x, x->src[1], vector, e);                         \
			if (ordered(x))                                                                      \
				FOR_ACTIVE(w, i)                                                             \
			__atomic_store_n((M *)(uintptr_t)a[i] + e, (M)v[i], __ATOMIC_RELEASE);               \
			else FOR_ACTIVE(w, i)((M *)(uintptr_t)a[i])[e] = (M)v[i];                            \
		}                                                                                            \
	}                                                                                                    \
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[1].kind == PTX_O_VEC;                                               \
		unsigned n = vector ? x->in->ops[1].n : 1;                                                   \
		uint64_t first = 0;                                                                          \
                                                                                                             \
		if (w->active != ALL_LANES || ordered(x) ||                                                  \
		    mem_quick(w, x, x->target, n * sizeof(M), &first) != SHAPE_DENSE) {                      \
			name##_loose(w, x, vector, n);                                                       \
			return;                                                                              \
		}                                                                                            \
		for (unsigned e = 0; e < n; e++) {                                                           \
			const S *v = (const S *)element(w, x, x->src[1], vector, e);                         \
			M *to = (M *)(uintptr_t)first + e;                                                   \
			if (n == 1 && sizeof(M) == sizeof(S))                                                \
				memcpy(to, v, LANES * sizeof(S));                                            \
			else                                                                                 \
				for (unsigned i = 0; i < LANES; i++)                                         \
					to[i * n] = (M)v[i];                                                 \
		}                                                                                            \
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

exec_fn access_load(unsigned type, unsigned width)
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

exec_fn access_store(unsigned type, unsigned width)
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
