/*
 * Writes the spec files (spec.h), one for each instruction form, to folders below the current one.
 *
 *	cd test/ptx && make-tests
 *
 * The expected values come from independent arithmetic (exact.h, 128-bit integers), not from
 * the interpreter; `ptx-run --cuda` compares them with a GPU.
 */
#include "make.h"

int main(void)
{
	make_int();
	make_float();
	make_convert();
	make_half();
	make_memory();
	make_atomic();
	return 0;
}
