/* Approximate functions: rsqrt, ex2, lg2, sin, cos, tanh, and rcp.approx.ftz.f64. The others are in alu_float.c. */
#include "ptx/interp/alu/alu_float.h"
#include "ptx/interp/alu/approx.h"
#include <math.h>

#define APPROX(K, name, ...) K(name, __VA_ARGS__) CONTROLLED(name)

APPROX(K1, rsqrt_f32, f32, f32, canon_f32((f32)(1.0 / sqrt((f64)a))))
APPROX(K1, ex2_f32, f32, f32, approx_ex2(a))
APPROX(K1, lg2_f32, f32, f32, approx_lg2(a))
APPROX(K1, tanh_f32, f32, f32, approx_tanh(a))
K1_(sin_f32, MAP_ACTIVE, f32, f32, canon_f32(sinf(a)))
K1_(cos_f32, MAP_ACTIVE, f32, f32, canon_f32(cosf(a)))
K1_(sin_f32_controlled, MAP_ACTIVE, f32, f32, flush_f32(canon_f32(sinf(flush_f32(a)))))
K1_(cos_f32_controlled, MAP_ACTIVE, f32, f32, flush_f32(canon_f32(cosf(flush_f32(a)))))

K1(rsqrt_f64, f64, f64, canon_f64(1.0 / sqrt(a)))

/*
 * rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 use only the upper 32 bits of their argument
 * and compute only the upper 32 bits of the result; the lower half is zero.
 */
static inline f64 upper_half(f64 v)
{
	u64 u = f64_bits(v) & 0xffffffff00000000;

	if ((u & 0x7ff0000000000000) == 0)
		u &= 0x8000000000000000;
	return bits_f64(u);
}
/* Rounds to a value whose lower half is zero. */
static inline f64 round_to_upper_half(f64 v)
{
	return v - v == 0 ? upper_half(bits_f64(f64_bits(v) + 0x80000000)) : canon_f64(v);
}
K1(rcp_f64_upper, f64, f64, round_to_upper_half(1.0 / upper_half(a)))
K1(rsqrt_f64_upper, f64, f64, round_to_upper_half(1.0 / sqrt(upper_half(a))))

#define ROW(op, type, fn, controlled) {PTX_OP_##op, PTX_##type, 0, fn, controlled},
#define F32(op)                       ROW(op, F32, op##_f32, op##_f32_controlled)
/* clang-format off */
static const struct alu_row rows[] = {
	F32(rsqrt)
	F32(ex2)
	F32(lg2)
	F32(tanh)
	F32(sin)
	F32(cos)
	ROW(rsqrt, F64, rsqrt_f64, rsqrt_f64_upper)
};
/* clang-format on */

exec_fn alu_approx(const struct ptx_inst *in)
{
	if (in->op == PTX_OP_rcp && in->m.type[0] == PTX_F64 && in->m.rnd == PTX_APPROX)
		return rcp_f64_upper;
	return ALU_FIND(rows, in);
}
