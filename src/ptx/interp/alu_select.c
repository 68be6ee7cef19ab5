/* Which instruction set this processor has, and so which copy of the kernels runs. */
#include "ptx/interp/warp.h"

exec_fn alu_choose_base(const struct ptx_inst *in);
exec_fn alu_choose_avx2(const struct ptx_inst *in);
exec_fn alu_choose_avx512(const struct ptx_inst *in);

exec_fn alu_select(const struct ptx_inst *in)
{
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma"))
		return alu_choose_avx512(in);
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
		return alu_choose_avx2(in);
	return alu_choose_base(in);
}
