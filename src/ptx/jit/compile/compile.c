/* The compiler's entry. */
#include <errno.h>
#include <stdio.h>

#include "ptx/jit/jit.h"
#include "ptx/ptx.h"

int jit_compile(const struct jit_request *r, struct jit_object *out, char *why, size_t size)
{
	*out = (struct jit_object){0};
	snprintf(why, size, "this build cannot compile %s", r->f->name);
	return -ENOTSUP;
}
