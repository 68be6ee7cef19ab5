/* ld, st and ldu.  Compiled once for each instruction set, like the ALU. */
#include "ptx/interp/level.h"
#include "ptx/interp/memory/access_pattern.h"
#include "ptx/interp/memory/single_copy.h"

#include <string.h>

enum { MAX_VECTOR = 32 }; /* bytes of a lane */

/* For every active lane i. */
#define EACH(w, statement) \
	do { \
		if ((w)->active == ALL_LANES) \
			for (unsigned i = 0; i < LANES; i++) \
				statement; \
		else \
			FOR_ACTIVE(w, i) statement; \
	} while (0)

/* Moves two or four elements of every lane in one loop, which vectorises. */
#define GROUP(n, i, a2, b2, a4, b4, c4, d4) \
	do { \
		if ((n) == 2) { \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) \
			{ \
				a2; \
				b2; \
			} \
		} else { \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) \
			{ \
				a4; \
				b4; \
				c4; \
				d4; \
			} \
		} \
	} while (0)

static inline bool is_group(const struct warp *w, const struct xinst *x)
{
	return w->active == ALL_LANES && (x->n == 2 || x->n == 4);
}

/* Shared memory needs no ordering: only the thread that runs the block accesses it. */
static bool is_ordered(const struct xinst *x)
{
	return x->in->m.sem > PTX_WEAK && x->access != ACCESS_SHARED;
}

/* True if other threads may access the memory: then up to 16 bytes of a lane's vector are one access. */
static bool is_single_copy(const struct xinst *x)
{
	return x->access == ACCESS_GLOBAL || x->access == ACCESS_ANY;
}

/* The addresses of the lanes: table[i] + at, or at + i * step without a table. */
struct lane_addresses {
	const uint64_t *table;
	uint64_t at, step;
};

static inline struct lane_addresses lane_addresses(const struct xinst *x, const struct access_pattern *p, uint64_t size)
{
	switch (p->how) {
	case PATTERN_DENSE:
		return (struct lane_addresses){NULL, p->at, size};
	case PATTERN_SAME:
		return (struct lane_addresses){NULL, p->at, 0};
	case PATTERN_POINTERS:
		return (struct lane_addresses){p->lane, (uint64_t)x->imm, 0};
	default:
		return (struct lane_addresses){p->a, 0, 0};
	}
}

static inline uint64_t lane_address(const struct lane_addresses *a, unsigned i)
{
	return a->table ? a->table[i] + a->at : a->at + i * a->step;
}

/* Calls chunk(..., first, n) for the elements of a vector, up to 16 bytes at once, with a constant number n. */
#define CHUNKS(chunk, size, n, ...) \
	do { \
		if ((n) == 2) \
			chunk(__VA_ARGS__, 0, 2); \
		else if ((n) == 4 && (size) <= 4) \
			chunk(__VA_ARGS__, 0, 4); \
		else if ((size) == 8) /* more than 16 bytes */ \
			for (unsigned e_ = 0; e_ < (n); e_ += 2) \
				chunk(__VA_ARGS__, e_, 2); \
		else if ((size) == 4 && (n) % 4 == 0) \
			for (unsigned e_ = 0; e_ < (n); e_ += 4) \
				chunk(__VA_ARGS__, e_, 4); \
		else if ((n) == 8) \
			chunk(__VA_ARGS__, 0, 8); \
		else \
			for (unsigned e_ = 0; e_ < (n); e_++) \
				chunk(__VA_ARGS__, e_, 1); \
	} while (0)

/* Bits `at` and up of a pair. */
static inline uint64_t pair_bits(struct pair v, unsigned at)
{
	return at < 64 ? v.lo >> at : v.hi >> (at - 64);
}

static inline void pair_insert(struct pair *v, unsigned at, uint64_t bits)
{
	if (at < 64)
		v->lo |= bits << at;
	else
		v->hi |= bits << (at - 64);
}

/* ---- loads and stores ------------------------------------------------------------------------------- */

/* Plain accesses of one element: name_shared, name_global. */
#define QUICK(name, space, M, registers) \
	static void name##_##space(struct warp *w, const struct xinst *x) \
	{ \
		uint64_t at = 0; \
		enum pattern_kind how = quick_##space(w, x, sizeof(M), &at); \
\
		if (how != PATTERN_TABLE) \
			name##_quick(w, how, at, registers, 1); \
		else \
			name(w, x); \
	}

/*
 * M: the type in memory, D: the element type of the slot.  `name` handles all accesses, name_shared and name_global
 * plain accesses of one element.  Ordered loads are acquire loads: they cost nothing on x86, and kernels spin on
 * them.
 */
#define LOAD(name, M, D) \
	static inline void name##_quick(struct warp *w, enum pattern_kind how, uint64_t at, D *d, unsigned n) \
	{ \
		const M *from = (const M *)(uintptr_t)at; \
\
		if (how == PATTERN_SAME) { \
			M v = *from; \
			MAP(w, d, D, v); \
		} else if (w->active == ALL_LANES) { \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) d[i] = (D)from[i * n]; \
		} else { \
			FOR_ACTIVE(w, i) d[i] = (D)from[i * n]; \
		} \
	} \
	static void name##_element( \
		struct warp *w, const struct xinst *x, const struct access_pattern *p, D *d, unsigned e) \
	{ \
		const uint32_t *offset = p->lane, imm = (uint32_t)x->imm; \
		const uint64_t *address = p->lane, imm64 = (uint64_t)x->imm; \
\
		switch (p->how) { \
		case PATTERN_DENSE: \
		case PATTERN_SAME: \
			name##_quick(w, p->how, p->at + e * sizeof(M), d, x->n); \
			break; \
		case PATTERN_STRIDE: \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(p->at + i * p->step))[e]); \
			break; \
		case PATTERN_OFFSETS: \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(p->at + (offset[i] + imm)))[e]); \
			break; \
		case PATTERN_POINTERS: \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)(address[i] + imm64))[e]); \
			break; \
		default: \
			EACH(w, d[i] = (D)((const M *)(uintptr_t)p->a[i])[e]); \
		} \
	} \
	static void name##_group(struct warp *w, const struct xinst *x, const M *from) \
	{ \
		D *d[4]; \
\
		for (unsigned e = 0; e < x->n; e++) \
			d[e] = SLOT(w, x->list[x->dst + e], D); \
		GROUP(x->n, i, d[0][i] = (D)from[2 * i], d[1][i] = (D)from[2 * i + 1], d[0][i] = (D)from[4 * i], \
			d[1][i] = (D)from[4 * i + 1], d[2][i] = (D)from[4 * i + 2], d[3][i] = (D)from[4 * i + 3]); \
	} \
	static inline __attribute__((always_inline)) void name##_chunk(struct warp *w, const struct xinst *x, \
		const struct lane_addresses *a, bool strong, unsigned first, unsigned n) \
	{ \
		D *d[8]; \
\
		for (unsigned e = 0; e < n; e++) \
			d[e] = SLOT(w, x->list[x->dst + first + e], D); \
		FOR_ACTIVE(w, i) \
		{ \
			struct pair v = \
				single_copy_load(lane_address(a, i) + first * sizeof(M), n * sizeof(M), strong); \
\
			for (unsigned e = 0; e < n; e++) \
				d[e][i] = (D)(M)pair_bits(v, e * 8 * sizeof(M)); \
		} \
	} \
	static void name##_vector(struct warp *w, const struct xinst *x, const struct access_pattern *p, bool strong) \
	{ \
		M copy[LANES * MAX_VECTOR / sizeof(M)] __attribute__((aligned(64))); \
		struct lane_addresses a = lane_addresses(x, p, x->n * sizeof(M)); \
\
		if (!strong && p->how == PATTERN_DENSE && is_group(w, x)) { \
			dense_copy(copy, (const void *)(uintptr_t)p->at, LANES * x->n * sizeof(M)); \
			name##_group(w, x, copy); \
		} else { \
			CHUNKS(name##_chunk, sizeof(M), x->n, w, x, &a, strong); \
		} \
	} \
	static void name(struct warp *w, const struct xinst *x) \
	{ \
		bool vector = x->in->ops[0].kind == PTX_O_VEC, ordered = is_ordered(x); \
		uint64_t size = x->n * sizeof(M); \
		struct access_pattern p; \
\
		if (x->in->m.sem > PTX_WEAK) \
			warp_spin(w); \
		pattern_find(w, x, size, &p); \
		if (p.how == PATTERN_FAULT) \
			return; \
		if (vector && is_single_copy(x)) { \
			name##_vector(w, x, &p, ordered); \
			return; \
		} \
		if (vector && p.how == PATTERN_DENSE && is_group(w, x)) { \
			name##_group(w, x, (const M *)(uintptr_t)p.at); \
			return; \
		} \
		for (unsigned e = 0; e < x->n; e++) { \
			D *d = (D *)(w->regs + (vector ? x->list[x->dst + e] : x->dst)); \
\
			if (ordered) \
				EACH(w, d[i] = (D)__atomic_load_n( \
						LANE_AT(const M, x, size, &p, i) + e, __ATOMIC_ACQUIRE)); \
			else \
				name##_element(w, x, &p, d, e); \
		} \
	} \
	QUICK(name, shared, M, DST(w, x, D)) \
	static void name##_spin(struct warp *w, const struct xinst *x) \
	{ \
		warp_spin(w); \
		name##_shared(w, x); \
	} \
	QUICK(name, global, M, DST(w, x, D))

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

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == ADDRESSES_FAULT)
		return;
	if (x->in->m.sem > PTX_WEAK)
		warp_spin(w);
	for (unsigned e = 0; e < n; e++) {
		struct pair *d = SLOT(w, vector ? x->list[x->dst + e] : x->dst, struct pair);

		FOR_ACTIVE(w, i)
		d[i] = pair_load(a[i] + 16 * e, is_ordered(x));
	}
}

/* M: the type in memory, S: the element type of the slot. */
#define STORE(name, M, S) \
	static inline void name##_quick(struct warp *w, enum pattern_kind how, uint64_t at, const S *v, unsigned n) \
	{ \
		M *to = (M *)(uintptr_t)at; \
\
		if (how == PATTERN_SAME) /* the last lane wins */ \
			*to = (M)v[LANES - 1 - __builtin_clz(w->active)]; \
		else if (w->active == ALL_LANES) \
			_Pragma("GCC ivdep") for (unsigned i = 0; i < LANES; i++) to[i * n] = (M)v[i]; \
		else \
			FOR_ACTIVE(w, i) to[i * n] = (M)v[i]; \
	} \
	static void name##_element( \
		struct warp *w, const struct xinst *x, const struct access_pattern *p, const S *v, unsigned e) \
	{ \
		const uint32_t *offset = p->lane, imm = (uint32_t)x->imm; \
		const uint64_t *address = p->lane, imm64 = (uint64_t)x->imm; \
\
		switch (p->how) { \
		case PATTERN_DENSE: \
		case PATTERN_SAME: \
			name##_quick(w, p->how, p->at + e * sizeof(M), v, x->n); \
			break; \
		case PATTERN_STRIDE: \
			EACH(w, ((M *)(uintptr_t)(p->at + i * p->step))[e] = (M)v[i]); \
			break; \
		case PATTERN_OFFSETS: \
			EACH(w, ((M *)(uintptr_t)(p->at + (offset[i] + imm)))[e] = (M)v[i]); \
			break; \
		case PATTERN_POINTERS: \
			EACH(w, ((M *)(uintptr_t)(address[i] + imm64))[e] = (M)v[i]); \
			break; \
		default: \
			EACH(w, ((M *)(uintptr_t)p->a[i])[e] = (M)v[i]); \
		} \
	} \
	static void name##_group(struct warp *w, const struct xinst *x, M *to) \
	{ \
		const S *v[4]; \
\
		for (unsigned e = 0; e < x->n; e++) \
			v[e] = SLOT(w, x->list[x->src[1] + e], S); \
		GROUP(x->n, i, to[2 * i] = (M)v[0][i], to[2 * i + 1] = (M)v[1][i], to[4 * i] = (M)v[0][i], \
			to[4 * i + 1] = (M)v[1][i], to[4 * i + 2] = (M)v[2][i], to[4 * i + 3] = (M)v[3][i]); \
	} \
	static inline __attribute__((always_inline)) void name##_chunk(struct warp *w, const struct xinst *x, \
		const struct lane_addresses *a, bool strong, unsigned first, unsigned n) \
	{ \
		const S *v[8]; \
\
		for (unsigned e = 0; e < n; e++) \
			v[e] = SLOT(w, x->list[x->src[1] + first + e], S); \
		FOR_ACTIVE(w, i) \
		{ \
			struct pair to = {0, 0}; \
\
			for (unsigned e = 0; e < n; e++) \
				pair_insert(&to, e * 8 * sizeof(M), (M)v[e][i]); \
			single_copy_store(lane_address(a, i) + first * sizeof(M), to, n * sizeof(M), strong); \
		} \
	} \
	static void name##_vector(struct warp *w, const struct xinst *x, const struct access_pattern *p, bool strong) \
	{ \
		M copy[LANES * MAX_VECTOR / sizeof(M)] __attribute__((aligned(64))); \
		struct lane_addresses a = lane_addresses(x, p, x->n * sizeof(M)); \
\
		if (!strong && p->how == PATTERN_DENSE && is_group(w, x)) { \
			name##_group(w, x, copy); \
			dense_copy((void *)(uintptr_t)p->at, copy, LANES * x->n * sizeof(M)); \
		} else { \
			CHUNKS(name##_chunk, sizeof(M), x->n, w, x, &a, strong); \
		} \
	} \
	static void name(struct warp *w, const struct xinst *x) \
	{ \
		bool vector = x->in->ops[1].kind == PTX_O_VEC, ordered = is_ordered(x); \
		uint64_t size = x->n * sizeof(M); \
		struct access_pattern p; \
\
		pattern_find(w, x, size, &p); \
		if (p.how == PATTERN_FAULT) \
			return; \
		if (vector && is_single_copy(x)) { \
			name##_vector(w, x, &p, ordered); \
			return; \
		} \
		if (vector && p.how == PATTERN_DENSE && is_group(w, x)) { \
			name##_group(w, x, (M *)(uintptr_t)p.at); \
			return; \
		} \
		for (unsigned e = 0; e < x->n; e++) { \
			const S *v = (const S *)(w->regs + (vector ? x->list[x->src[1] + e] : x->src[1])); \
\
			if (ordered) \
				EACH(w, __atomic_store_n(LANE_AT(M, x, size, &p, i) + e, (M)v[i], __ATOMIC_RELEASE)); \
			else \
				name##_element(w, x, &p, v, e); \
		} \
	} \
	QUICK(name, shared, M, SRC(w, x, 1, S)) \
	QUICK(name, global, M, SRC(w, x, 1, S))

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

	if (mem_resolve(w, x, 0, x->target, 16u * n, a) == ADDRESSES_FAULT)
		return;
	for (unsigned e = 0; e < n; e++) {
		const struct pair *v = SLOT(w, vector ? x->list[x->src[1] + e] : x->src[1], struct pair);

		FOR_ACTIVE(w, i)
		pair_store(a[i] + 16 * e, v[i], is_ordered(x));
	}
}

/* ---- choosing --------------------------------------------------------------------------------------- */

static bool is_signed(unsigned type)
{
	return type == PTX_S8 || type == PTX_S16 || type == PTX_S32;
}

exec_fn LEVEL(access_load)(const struct ptx_inst *in, unsigned width, const struct xinst *x);
exec_fn LEVEL(access_store)(const struct ptx_inst *in, unsigned width, const struct xinst *x);

struct access_forms {
	exec_fn any, shared, spin, global;
};
#define LOADS(name)  {name, name##_shared, name##_spin, name##_global}
#define STORES(name) {name, name##_shared, name##_shared, name##_global}
#define FORM_NONE    {NULL, NULL, NULL, NULL}

/* Unordered accesses of one element use the quick variants. */
static exec_fn choose_form(const struct access_forms *f, const struct xinst *x, bool vector, bool ordered)
{
	if (vector)
		return f->any;
	if (x->access == ACCESS_SHARED)
		return ordered ? f->spin : f->shared;
	return x->access == ACCESS_GLOBAL && !ordered ? f->global : f->any;
}

exec_fn LEVEL(access_load)(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	/* By log2 of the bytes in memory, signedness, and width of the slot. */
	static const struct access_forms table[4][2][W64 + 1] = {
		{{FORM_NONE, LOADS(ld_u8_16), LOADS(ld_u8_32), LOADS(ld_u8_64)},
			{FORM_NONE, LOADS(ld_s8_16), LOADS(ld_s8_32), LOADS(ld_s8_64)}},
		{{FORM_NONE, LOADS(ld_u16_16), LOADS(ld_u16_32), LOADS(ld_u16_64)},
			{FORM_NONE, LOADS(ld_u16_16), LOADS(ld_s16_32), LOADS(ld_s16_64)}},
		{{FORM_NONE, FORM_NONE, LOADS(ld_u32_32), LOADS(ld_u32_64)},
			{FORM_NONE, FORM_NONE, LOADS(ld_u32_32), LOADS(ld_s32_64)}},
		{{FORM_NONE, FORM_NONE, FORM_NONE, LOADS(ld_u64_64)},
			{FORM_NONE, FORM_NONE, FORM_NONE, LOADS(ld_u64_64)}},
	};
	unsigned type = in->m.type[0], bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? ld_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return choose_form(&table[__builtin_ctz(bytes)][is_signed(type)][width], x, in->ops[0].kind == PTX_O_VEC,
		in->m.sem > PTX_WEAK);
}

exec_fn LEVEL(access_store)(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	static const struct access_forms table[4][W64 + 1] = {
		{FORM_NONE, STORES(st_8_16), STORES(st_8_32), STORES(st_8_64)},
		{FORM_NONE, STORES(st_16_16), STORES(st_16_32), STORES(st_16_64)},
		{FORM_NONE, FORM_NONE, STORES(st_32_32), STORES(st_32_64)},
		{FORM_NONE, FORM_NONE, FORM_NONE, STORES(st_64_64)},
	};
	unsigned type = in->m.type[0], bytes = ptx_type_bits(type) / 8;

	if (bytes == 16)
		return width == W128 ? st_128 : NULL;
	if (bytes < 1 || bytes > 8 || width > W64)
		return NULL;
	return choose_form(&table[__builtin_ctz(bytes)][width], x, in->ops[1].kind == PTX_O_VEC, in->m.sem > PTX_WEAK);
}
