/* Selects the copy of the kernels, and of ld and st, for the instruction set of this processor. */
#include "ptx/interp/core.h"
#include "ptx/interp/level.h"
#include "ptx/jit/target.h"

#define CHOICES(level) \
	exec_fn alu_choose_##level(const struct ptx_inst *in); \
	exec_fn access_load_##level(const struct ptx_inst *in, unsigned width, const struct xinst *x); \
	exec_fn access_store_##level(const struct ptx_inst *in, unsigned width, const struct xinst *x);
CHOICES(base)
CHOICES(avx2)
CHOICES(avx512)

#ifdef ALU_ONLY /* a build for this machine alone, of one level */
#define SELECT(name, ...) LEVEL_NAME(name, ALU_ONLY)(__VA_ARGS__)
#else
#define SELECT(name, ...) \
	(has_avx512() ? name##_avx512(__VA_ARGS__) : has_avx2() ? name##_avx2(__VA_ARGS__) : name##_base(__VA_ARGS__))

static bool has_avx512(void)
{
	return jit_target_allows(JIT_ISA_V4) && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("fma");
}

static bool has_avx2(void)
{
	return jit_target_allows(JIT_ISA_V3) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}
#endif

exec_fn alu_select(const struct ptx_inst *in)
{
	return SELECT(alu_choose, in);
}

exec_fn access_load(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	return SELECT(access_load, in, width, x);
}

exec_fn access_store(const struct ptx_inst *in, unsigned width, const struct xinst *x)
{
	return SELECT(access_store, in, width, x);
}
