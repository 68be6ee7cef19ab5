#include "ptx/parse.h"

#include <errno.h>

int ptx_function_shapes(struct ptx_function *f, bool tid_affine)
{
	(void)f;
	(void)tid_affine;
	return -ENOSYS;
}
