/*
 * stack.h - where a program starts, its stack holds what execve was given: arguments, environment, auxiliary vector.
 *
 *	sp ► argc | argv... 0 | envp... 0 | auxv... AT_NULL | ... | texts
 *
 * A stack in front of it with more variables is made here, from a copy; the old one stays where it is, and texts in it
 * are still pointed to.
 *
 * Trust: none in what is read.  A program's parent wrote the texts, and may have been quick.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STACK_ROOM (112u << 10) /* that is added at most: a new stack may grow by 128 KiB at once */

struct stack {
	uint64_t sp;         /* where it begins, in the program */
	unsigned char *data; /* free() it */
	size_t size;
};

/*
 * With those of `kept` (NULL at its end, LD_AUDIT first) that the environment lacks; LD_AUDIT goes before the one that is
 * there.  1: made; 0: it needs none, wants none (GANGWAY_FOLLOW=0) or must not have any (AT_SECURE); or -errno:
 * -EINVAL is no such stack, -E2BIG one that would become too large.
 */
int stack_join(const void *data, size_t size, uint64_t sp, const char *const *kept, struct stack *out);
