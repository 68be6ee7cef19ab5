/* ld, st, ldu.  Compiled once for each instruction set, like arithmetic. */
#include "ptx/interp/where.h"

#include <string.h>

#define CAT_(a, b)  a##_##b
#define CAT(a, b)   CAT_(a, b)
#define LEVEL(name) CAT(name, ALU_LEVEL)

/* For every active lane i. */
#define EACH(w, statement)                                                                                   \
	do {                                                                                                 \
		if ((w)->active == ALL_LANES)                                                                \
			for (unsigned i = 0; i < LANES; i++)                                                 \
				statement;                                                                   \
		else                                                                                         \
			FOR_ACTIVE(w, i) statement;                                                          \
	} while (0)

/* The loop with N constant for the usual n: such a loop vectorises. */
#define SWITCH_N(n, loop)                                                                                    \
	do {                                                                                                 \
		if ((n) == 1) {                                                                              \
			enum { N = 1 };                                                                      \
			_Pragma("GCC ivdep") loop;                                                           \
		} else if ((n) == 2) {                                                                       \
			enum { N = 2 };                                                                      \
			_Pragma("GCC ivdep") loop;                                                           \
		} else if ((n) == 4) {                                                                       \
			enum { N = 4 };                                                                      \
			_Pragma("GCC ivdep") loop;                                                           \
		} else {                                                                                     \
			const unsigned N = (n);                                                              \
			loop;                                                                                \
		}                                                                                            \
	} while (0)

/* ---- loads and stores ------------------------------------------------------------------------------- */

/*
 * M: the type in memory, D: the slot's element.  name is good for all; name_shared and name_global for plain
 * accesses of one element.  An ordered load is an acquire: on our hosts it costs nothing, and it is what a
 * spinning kernel waits with.
 */
#define LOAD(name, M, D)                                                                                     \
	static inline void name##_quick(struct warp *w, enum how how, uint64_t at, D *d, unsigned n)         \
	{                                                                                                    \
		const M *from = (const M *)(uintptr_t)at;                                                    \
                                                                                                             \
		if (how == SAME) {                                                                           \
			M v = *from;                                                                         \
			MAP(w, d, D, v);                                                                     \
		} else if (w->active == ALL_LANES) {                                                         \
			SWITCH_N(n, for (unsigned i = 0; i < LANES; i++) d[i] = (D)from[i * N]);             \
		} else {                                                                                     \
			FOR_ACTIVE(w, i) d[i] = (D)from[i * n];                                              \
		}                                                                                            \
	}                                                                                                    \
	static void name##_element(struct warp *w, const struct xinst *x, const struct where *p, D *d, unsigned e) \
	{                                                                                                    \
		const uint32_t *offset = p->lane, imm = (uint32_t)x->imm;                                    \
		const uint64_t *address = p->lane, imm64 = (uint64_t)x->imm;                                 \
                                                                                                             \
		switch (p->how) {                                                                            \
		case DENSE:                                                                                  \
		case SAME:                                                                                   \
			name##_quick(w, p->how, p->at + e * sizeof(M), d, x->n);                             \
			break;                                                                               \
		case STEPS:                                                                                  \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(p->at + i * p->step))[e]);                 \
			break;                                                                               \
		case OFFSETS:                                                                                \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(p->at + (offset[i] + imm)))[e]);           \
			break;                                                                               \
		case ADDRESSES:                                                                              \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(address[i] + imm64))[e]);                  \
			break;                                                                               \
		default:                                                                                     \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)p->a[i])[e]);                               \
		}                                                                                            \
	}                                                                                                    \
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[0].kind == PTX_O_VEC, ordered = x->in->m.sem > PTX_WEAK;            \
		uint64_t size = x->n * sizeof(M);                                                            \
		struct where p;                                                                              \
                                                                                                             \
		if (ordered)                                                                                 \
			warp_spin(w);                                                                        \
		find(w, x, size, &p);                                                                        \
		for (unsigned e = 0; p.how != NOWHERE && e < x->n; e++) {                                    \
			D *d = (D *)(w->regs + (vector ? x->list[x->dst + e] : x->dst));                     \
                                                                                                             \
			if (ordered)                                                                         \
				EACH(w, d[i] = (D)__atomic_load_n(LANE_AT(const M, x, size, &p, i) + e,      \
								  __ATOMIC_ACQUIRE));                        \
			else                                                                                 \
				name##_element(w, x, &p, d, e);                                              \
		}                                                                                            \
	}                                                                                                    \
	static void name##_shared(struct warp *w, const struct xinst *x)                                     \
	{                                                                                                    \
		uint64_t at = 0;                                                                             \
		enum how how = quick_shared(w, x, sizeof(M), &at);                                           \
                                                                                                             \
		if (how != TABLE)                                                                            \
			name##_quick(w, how, at, DST(w, x, D), 1);                                           \
		else                                                                                         \
			name(w, x);                                                                          \
	}                                                                                                    \
	static void name##_global(struct warp *w, const struct xinst *x)                                     \
	{                                                                                                    \
		uint64_t at = 0;                                                                             \
		enum how how = quick_global(w, x, sizeof(M), &at);                                           \
                                                                                                             \
		if (how != TABLE)                                                                            \
			name##_quick(w, how, at, DST(w, x, D), 1);                                           \
		else                                                                                         \
			name(w, x);                                                                          \
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
	unsigned n = x->n;

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == SHAPE_FAULT)
		return;
	if (x->in->m.sem > PTX_WEAK)
		warp_spin(w);
	for (unsigned e = 0; e < n; e++) {
		uint8_t *d = w->regs + (vector ? x->list[x->dst + e] : x->dst);

		FOR_ACTIVE(w, i)
		memcpy(d + 16 * i, (const uint8_t *)(uintptr_t)a[i] + 16 * e, 16);
	}
}

/* M: the type in memory, S: the slot's element. */
#define STORE(name, M, S)                                                                                    \
	static inline void name##_quick(struct warp *w, enum how how, uint64_t at, const S *v, unsigned n)   \
	{                                                                                                    \
		M *to = (M *)(uintptr_t)at;                                                                  \
                                                                                                             \
		if (how == SAME) /* the last lane wins */                                                    \
			*to = (M)v[LANES - 1 - __builtin_clz(w->active)];                                    \
		else if (w->active == ALL_LANES)                                                             \
			SWITCH_N(n, for (unsigned i = 0; i < LANES; i++) to[i * N] = (M)v[i]);               \
		else                                                                                         \
			FOR_ACTIVE(w, i) to[i * n] = (M)v[i];                                                \
	}                                                                                                    \
	static void name##_element(struct warp *w, const struct xinst *x, const struct where *p, const S *v, \
				   unsigned e)                                                               \
	{                                                                                                    \
		const uint32_t *offset = p->lane, imm = (uint32_t)x->imm;                                    \
		const uint64_t *address = p->lane, imm64 = (uint64_t)x->imm;                                 \
                                                                                                             \
		switch (p->how) {                                                                            \
		case DENSE:                                                                                  \
		case SAME:                                                                                   \
			name##_quick(w, p->how, p->at + e * sizeof(M), v, x->n);                             \
			break;                                                                               \
		case STEPS:                                                                                  \
			EACH(w, ((M *)(uintptr_t)(p->at + i * p->step))[e] = (M)v[i]);                       \
			break;                                                                               \
		case OFFSETS:                                                                                \
			EACH(w, ((M *)(uintptr_t)(p->at + (offset[i] + imm)))[e] = (M)v[i]);                 \
			break;                                                                               \
		case ADDRESSES:                                                                              \
			EACH(w, ((M *)(uintptr_t)(address[i] + imm64))[e] = (M)v[i]);                        \
			break;                                                                               \
		default:                                                                                     \
			EACH(w, ((M *)(uintptr_t)p->a[i])[e] = (M)v[i]);                                     \
		}                                                                                            \
	}                                                                                                    \
	static void name(struct warp *w, const struct xinst *x)                                              \
	{                                                                                                    \
		bool vector = x->in->ops[1].kind == PTX_O_VEC, ordered = x->in->m.sem > PTX_WEAK;            \
		uint64_t size = x->n * sizeof(M);                                                            \
		struct where p;                                                                              \
                                                                                                             \
		find(w, x, size, &p);                                                                        \
		for (unsigned e = 0; p.how != NOWHERE && e < x->n; e++) {                                    \
			const S *v = (const S *)(w->regs + (vector ? x->list[x->src[1] + e] : x->src[1]));   \
                                                                                                             \
			if (ordered)                                                                         \
				EACH(w, __atomic_store_n(LANE_AT(M, x, size, &p, i) + e, (M)v[i],            \
							 __ATOMIC_RELEASE));                                 \
			else                                                                                 \
				name##_element(w, x, &p, v, e);                                              \
		}                                                                                            \
	}                                                                                                    \
	static void name##_shared(struct warp *w, const struct xinst *x)                                     \
	{                                                                                                    \
		uint64_t at = 0;                                                                             \
		enum how how = quick_shared(w, x, sizeof(M), &at);                                           \
                                                                                                             \
		if (how != TABLE)                                                                            \
			name##_quick(w, how, at, SRC(w, x, 1, S), 1);                                        \
		else                                                                                         \
			name(w, x);                                                                          \
	}                                                                                                    \
	static void name##_global(struct warp *w, const struct xinst *x)                                     \
	{                                                                                                    \
		uint64_t at = 0;                                                                             \
		enum how how = quick_global(w, x, sizeof(M), &at);                                           \
                                                                                                             \
		if (how != TABLE)                                                                            \
			name##_quick(w, how, at, SRC(w, x, 1, S), 1);                                        \
		else                                                                                         \
			name(w, x);                                                                          \
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
	unsigned n = x->n;

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == SHAPE_FAULT)
		return;
	for (unsigned e = 0; e < n; e++) {
		const uint8_t *v = w->regs + (vector ? x->list[x->src[1] + e] : x->src[1]);

		FOR_ACTIVE(w, i)
		memcpy((uint8_t *)(uintptr_t)a[i] + 16 * e, v + 16 * i, 16);
	}
}

/* ---- choosing --------------------------------------------------------------------------------------- */

static bool is_signed(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32;
}

exec_fn LEVEL(access_load)(unsigned type, unsigned width, unsigned access);
exec_fn LEVEL(access_store)(unsigned type, unsigned width, unsigned access);

struct forms {
	exec_fn any, shared, global;
};
#define FORMS(name)                                                                                          \
	{                                                                                                    \
		name, name##_shared, name##_global                                                           \
	}
#define NONE                                                                                                 \
	{                                                                                                    \
		NULL, NULL, NULL                                                                             \
	}

static exec_fn form(const struct forms *f, unsigned access)
{
	return access == ACCESS_SHARED ? f->shared : access == ACCESS_GLOBAL ? f->global : f->any;
}

exec_fn LEVEL(access_load)(unsigned type, unsigned width, unsigned access)
{
	/* By log2 of the bytes in memory, signed or not, and the slot's width. */
	static const struct forms table[4][2][W64 + 1] = {
		{{NONE, FORMS(ld_u8_16), FORMS(ld_u8_32), FORMS(ld_u8_64)},
		 {NONE, FORMS(ld_s8_16), FORMS(ld_s8_32), FORMS(ld_s8_64)}},
		{{NONE, FORMS(ld_u16_16), FORMS(ld_u16_32), FORMS(ld_u16_64)},
		 {NONE, FORMS(ld_u16_16), FORMS(ld_s16_32), FORMS(ld_s16_64)}},
		{{NONE, NONE, FORMS(ld_u32_32), FORMS(ld_u32_64)},
		 {NONE, NONE, FORMS(ld_u32_32), FORMS(ld_s32_64)}},
		{{NONE, NONE, NONE, FORMS(ld_u64_64)}, {NONE, NONE, NONE, FORMS(ld_u64_64)}},
	};
	unsigned bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? ld_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return form(&table[__builtin_ctz(bytes)][is_signed(type)][width], access);
}

exec_fn LEVEL(access_store)(unsigned type, unsigned width, unsigned access)
{
	static const struct forms table[4][W64 + 1] = {
		{NONE, FORMS(st_8_16), FORMS(st_8_32), FORMS(st_8_64)},
		{NONE, FORMS(st_16_16), FORMS(st_16_32), FORMS(st_16_64)},
		{NONE, NONE, FORMS(st_32_32), FORMS(st_32_64)},
		{NONE, NONE, NONE, FORMS(st_64_64)},
	};
	unsigned bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? st_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return form(&table[__builtin_ctz(bytes)][width], access);
}
