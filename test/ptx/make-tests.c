/*
 * Writes the test files of one instruction each into folders below the current one.
 *
 *	cd test/ptx && make-tests
 *
 * What a file expects comes from arithmetic of its own (exact.h, integers of
 * 128 bits), not from the interpreter; `ptx-run --cuda` holds it against a GPU.
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
