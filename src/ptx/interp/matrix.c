/* ldmatrix, stmatrix: rows of 16 bytes between memory and fragments. */
#include "ptx/interp/core.h"

#include <string.h>

exec_fn matrix_select(const struct ptx_inst *in)
{
	(void)in;
	return NULL;
}
