/*
 * atom and red: host atomics, one lane after the other, all sequentially consistent (blocks run on several threads, and
 * the host may access the memory, too).
 */
#include "ptx/interp/alu/num.h"
#include "ptx/interp/core.h"
#include "ptx/interp/memory/single_copy.h"

#include <string.h>

static float half_to_float(uint16_t h, bool bf16)
{
	_Float16 f;

	if (bf16)
		return bits_f32((uint32_t)h << 16);
	memcpy(&f, &h, 2);
	return (float)f;
}

/* The sum of two 16-bit floats is exact in binary32, except for bf16 with distant exponents; rounds to nearest even. */
static uint16_t float_to_half(float v, bool bf16)
{
	_Float16 f;
	uint16_t h;
	uint32_t u = f32_bits(v);

	if (bf16) {
		if ((u & 0x7fffffff) > 0x7f800000)
			return 0x7fff;
		return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
	f = (_Float16)v;
	memcpy(&h, &f, 2);
	return h;
}

float number_min_f32(float a, float b)
{
	if (a != a)
		return b;
	return b != b || a < b || (a == b && __builtin_signbit(a)) ? a : b;
}

float number_max_f32(float a, float b)
{
	if (a != a)
		return b;
	return b != b || a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

static uint16_t half_op(unsigned op, uint16_t a, uint16_t b, bool bf16)
{
	float x = half_to_float(a, bf16), y = half_to_float(b, bf16);

	return float_to_half(op == PTX_A_ADD   ? x + y
			     : op == PTX_A_MIN ? number_min_f32(x, y)
					       : number_max_f32(x, y),
		bf16);
}

static uint64_t integer_op(unsigned op, unsigned type, uint64_t a, uint64_t b)
{
	bool less;

	if (type == PTX_S64)
		less = (int64_t)a < (int64_t)b;
	else if (type == PTX_S32)
		less = (int32_t)a < (int32_t)b;
	else
		less = a < b;
	switch (op) {
	case PTX_A_ADD:
		return a + b;
	case PTX_A_MIN:
		return less ? a : b;
	case PTX_A_MAX:
		return less ? b : a;
	case PTX_A_INC:
		return (uint32_t)a >= (uint32_t)b ? 0 : a + 1;
	case PTX_A_DEC:
		return (uint32_t)a == 0 || (uint32_t)a > (uint32_t)b ? b : a - 1;
	case PTX_A_AND:
		return a & b;
	case PTX_A_OR:
		return a | b;
	case PTX_A_XOR:
		return a ^ b;
	default:
		return b; /* exch */
	}
}

/* The new value of memory that holds a; a and b are zero-extended. */
static uint64_t atomic_apply(unsigned op, unsigned type, uint64_t a, uint64_t b)
{
	bool bf16 = type == PTX_BF16 || type == PTX_BF16X2;

	if (op == PTX_A_EXCH)
		return b;
	switch (type) {
	case PTX_F32:
		if (op == PTX_A_ADD)
			return f32_bits(bits_f32((uint32_t)a) + bits_f32((uint32_t)b));
		return f32_bits(op == PTX_A_MIN ? number_min_f32(bits_f32((uint32_t)a), bits_f32((uint32_t)b))
						: number_max_f32(bits_f32((uint32_t)a), bits_f32((uint32_t)b)));
	case PTX_F64:
		return f64_bits(bits_f64(a) + bits_f64(b));
	case PTX_F16:
	case PTX_BF16:
		return half_op(op, (uint16_t)a, (uint16_t)b, bf16);
	case PTX_F16X2:
	case PTX_BF16X2:
		return half_op(op, (uint16_t)a, (uint16_t)b, bf16) |
		       (uint32_t)half_op(op, (uint16_t)(a >> 16), (uint16_t)(b >> 16), bf16) << 16;
	default:
		return integer_op(op, type, a, b);
	}
}

#define RMW(T) \
	static uint64_t rmw_##T(uint64_t at, unsigned op, unsigned type, uint64_t b) \
	{ \
		T *p = (T *)(uintptr_t)at, old, new; \
\
		if (op == PTX_A_ADD && ptx_type_kind(type) != PTX_KIND_FLOAT) \
			return __atomic_fetch_add(p, (T)b, __ATOMIC_SEQ_CST); \
		if (op == PTX_A_EXCH) \
			return __atomic_exchange_n(p, (T)b, __ATOMIC_SEQ_CST); \
		old = __atomic_load_n(p, __ATOMIC_ACQUIRE); \
		do \
			new = (T)atomic_apply(op, type, old, b); \
		while (!__atomic_compare_exchange_n(p, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)); \
		return old; \
	}

RMW(uint16_t)
RMW(uint32_t)
RMW(uint64_t)

/* 32-bit atom.add in shared memory: one thread runs the block, so that no host atomics are needed. */
static void add_shared(struct warp *w, const struct xinst *x, const uint64_t a[LANES])
{
	const uint32_t *b = SRC(w, x, 1, uint32_t);
	uint32_t *d = x->dst == NO_SLOT ? NULL : DST(w, x, uint32_t);

	FOR_ACTIVE(w, i)
	{
		uint32_t *p = (uint32_t *)(uintptr_t)a[i], old = *p;

		*p = old + b[i];
		if (d)
			d[i] = old;
	}
}

static uint64_t atomic_rmw(uint64_t at, unsigned op, unsigned type, uint64_t v)
{
	switch (ptx_type_bits(type)) {
	case 64:
		return rmw_uint64_t(at, op, type, v);
	case 32:
		return rmw_uint32_t(at, op, type, v);
	default:
		return rmw_uint16_t(at, op, type, v);
	}
}

/* Each element of a vector is a separate atomic operation. */
static void x_atom_vector(struct warp *w, const struct xinst *x)
{
	const struct ptx_operand *o = &x->in->ops[x->in->op == PTX_OP_red ? 1 : 2];
	unsigned type = x->in->m.type[0], bytes = ptx_type_bits(type) / 8, width = bytes == 4 ? W32 : W16;
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, bytes * o->n, a) == ADDRESSES_FAULT)
		return;
	warp_spin(w);
	for (unsigned e = 0; e < o->n; e++) {
		const uint8_t *b = w->regs + x->list[x->src[1] + e];
		uint32_t d = x->dst == NO_SLOT ? NO_SLOT : x->list[x->dst + e];

		FOR_ACTIVE(w, i)
		{
			uint64_t old = atomic_rmw(a[i] + e * bytes, x->in->m.op, type, slot_read_lane(b, width, i));

			if (d != NO_SLOT)
				slot_write_lane(w->regs + d, width, i, old);
		}
	}
}

/* dst is NO_SLOT for red. */
static void x_atom(struct warp *w, const struct xinst *x)
{
	unsigned type = x->in->m.type[0], op = x->in->m.op, bytes = ptx_type_bits(type) / 8;
	const uint8_t *b = w->regs + x->src[1];
	uint64_t a[LANES], old;

	if (mem_resolve(w, x, 0, x->target, bytes, a) == ADDRESSES_FAULT)
		return;
	warp_spin(w);
	if (x->target == PTX_SHARED && op == PTX_A_ADD && (type == PTX_U32 || type == PTX_S32)) {
		add_shared(w, x, a);
		return;
	}
	FOR_ACTIVE(w, i)
	{
		old = atomic_rmw(a[i], op, type, slot_read_lane(b, x->src_width[1], i));
		if (x->dst != NO_SLOT)
			slot_write_lane(w->regs + x->dst, x->dst_width, i, old);
	}
}

static uint64_t atomic_cas(uint64_t at, unsigned bytes, uint64_t compare, uint64_t value)
{
	uint16_t c16 = (uint16_t)compare;
	uint32_t c32 = (uint32_t)compare;

	switch (bytes) {
	case 2:
		__atomic_compare_exchange_n(
			(uint16_t *)(uintptr_t)at, &c16, (uint16_t)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return c16;
	case 4:
		__atomic_compare_exchange_n(
			(uint32_t *)(uintptr_t)at, &c32, (uint32_t)value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return c32;
	default:
		__atomic_compare_exchange_n(
			(uint64_t *)(uintptr_t)at, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return compare;
	}
}

static void x_atom_cas(struct warp *w, const struct xinst *x)
{
	unsigned bytes = ptx_type_bits(x->in->m.type[0]) / 8;
	const uint8_t *b = w->regs + x->src[1], *c = w->regs + x->src[2];
	uint64_t a[LANES];

	if (mem_resolve(w, x, 0, x->target, bytes, a) == ADDRESSES_FAULT)
		return;
	warp_spin(w);
	FOR_ACTIVE(w, i)
	{
		uint64_t old = atomic_cas(
			a[i], bytes, slot_read_lane(b, x->src_width[1], i), slot_read_lane(c, x->src_width[2], i));

		slot_write_lane(w->regs + x->dst, x->dst_width, i, old);
	}
}

/* ---- 128 bits --------------------------------------------------------------------------------------- */

#if HAS_ATOMIC_PAIR
static struct pair pair_at(const struct warp *w, uint32_t slot, unsigned lane)
{
	const uint64_t *p = (const uint64_t *)(w->regs + slot);

	return (struct pair){p[2 * lane], p[2 * lane + 1]};
}

static void x_atom128(struct warp *w, const struct xinst *x)
{
	bool exch = x->in->op == PTX_OP_atom;
	uint64_t a[LANES], *d = DST(w, x, uint64_t);

	if (mem_resolve(w, x, 0, x->target, 16, a) == ADDRESSES_FAULT)
		return;
	warp_spin(w);
	FOR_ACTIVE(w, i)
	{
		struct pair old = {0, 0}, value = pair_at(w, x->src[exch ? 1 : 2], i);

		if (exch)
			while (!pair_compare_exchange(a[i], &old, value))
				;
		else {
			old = pair_at(w, x->src[1], i);
			pair_compare_exchange(a[i], &old, value);
		}
		d[2 * i] = old.lo;
		d[2 * i + 1] = old.hi;
	}
}
#endif

exec_fn atomic_select(const struct ptx_inst *in)
{
	unsigned bits = ptx_type_bits(in->m.type[0]);

	switch (in->op) {
	case PTX_OP_atom:
	case PTX_OP_red:
	case PTX_OP_atom_cas:
		if (in->m.vec)
			return in->op == PTX_OP_atom_cas || bits > 32 ? NULL : x_atom_vector;
		if (bits == 128)
#if HAS_ATOMIC_PAIR
			return in->op == PTX_OP_red ? NULL : x_atom128;
#else
			return NULL;
#endif
		return in->op == PTX_OP_atom_cas ? x_atom_cas : x_atom;
	default:
		return NULL;
	}
}
