/*
 * stack.h - the initial stack of a program: arguments, environment and auxiliary vector.
 *
 *	sp ► argc | argv... 0 | envp... 0 | auxv... AT_NULL | ... | texts
 *
 * From a copy of it, a new stack with more variables is built, to be put below the old one. The old stack stays in place,
 * because the new one points to texts in it.
 *
 * The content is untrusted: the parent of the program wrote the texts.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STACK_ROOM (112u << 10) /* limit of the new part: a fresh stack may grow by 128 KiB at once */

struct stack {
	uint64_t sp;         /* the new stack pointer of the program */
	unsigned char *data; /* the caller frees it */
	size_t size;
};

/*
 * Add the variables of `kept` (terminated by NULL, LD_AUDIT first) that the environment lacks; our LD_AUDIT is put in
 * front of an existing one. Returns 1 if `out` was built; 0 if nothing is to be added (all variables are present,
 * GANGWAY_FOLLOW=0, or AT_SECURE); -EINVAL for a malformed stack; -E2BIG if the new stack would be too large.
 */
int stack_join(const void *data, size_t size, uint64_t sp, const char *const *kept, struct stack *out);
