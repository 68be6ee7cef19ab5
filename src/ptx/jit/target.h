/*
 * target.h - the instruction sets of this processor: all that the engine and the compiler know of x86 is in target.c.
 *
 * GANGWAY_CPU_ISA=v2, v3 or v4 limits both to an instruction set, if the processor has it.
 */
#pragma once

#include "ptx/jit/jit.h"

struct jit_target {
	const char *name;      /* as in GANGWAY_CPU_ISA */
	const char *cpu;       /* LLVM's name */
	char features[256];    /* LLVM's names of features beyond cpu */
	unsigned vector_bytes; /* of the widest register */
};

enum jit_isa jit_target_isa(void);        /* what code is made for in this process */
bool jit_target_allows(enum jit_isa isa); /* GANGWAY_CPU_ISA does not forbid it; the processor may lack it */
/* The facts about one instruction set, with the further features that this processor has. */
void jit_target_describe(enum jit_isa isa, struct jit_target *t);
