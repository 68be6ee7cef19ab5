/* Finds the kernel of an instruction, compiled for one instruction set, by asking each file of the ALU. */
#include "ptx/interp/alu/alu.h"

#define alu_choose LEVEL(alu_choose)
alu_chooser alu_choose;

exec_fn alu_choose(const struct ptx_inst *in)
{
	static alu_chooser *const choosers[] = {alu_int, alu_carry, alu_bits, alu_compare, alu_approx, alu_float,
		alu_half, alu_cvt, alu_video, alu_mma, alu_wmma};

	for (unsigned i = 0; i < sizeof choosers / sizeof choosers[0]; i++) {
		exec_fn fn = choosers[i](in);

		if (fn)
			return fn;
	}
	return NULL;
}
