/* Selects the copy of the kernels, and of ld and st, for the instruction set of this processor. */
#include "ptx/interp/core.h"

#define CHOICES(level) \
	exec_fn alu_choose_##level(const struct ptx_inst *in); \
	exec_fn access_load_##level(const struct ptx_inst *in, unsigned width, const struct xinst *x); \
	exec_fn access_store_##level(const struct ptx_inst *in, unsigned width, const struct xinst *x);
CHOICES(base)
CHOICES(avx2)
CHOICES(avx512)

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

exec_fn alu_select(const struct ptx_inst *in)
{
	return has_avx512() ? alu_choose_avx512(in) : has_avx2() ? alu_choose_avx2(in) : alu_choose_base(in);
}

exec_fn access_load(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	return has_avx512() ? access_load_avx512(in, width, x)
	       : has_avx2() ? access_load_avx2(in, width, x)
			    : access_load_base(in, width, x);
}

exec_fn access_store(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	return has_avx512() ? access_store_avx512(in, width, x)
	       : has_avx2() ? access_store_avx2(in, width, x)
			    : access_store_base(in, width, x);
}
