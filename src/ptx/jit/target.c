/* The table of instruction sets. */
#include "ptx/jit/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
static bool has_v3(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("f16c");
}

static bool has_v4(void)
{
	return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512cd");
}

static bool has_v2(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
}
#else /* no code is made for other processors yet: plugin.cmake */
static bool has_none(void)
{
	return false;
}
#define has_v2 has_none
#define has_v3 has_none
#define has_v4 has_none
#endif

static const struct {
	const char *name, *cpu, *features;
	bool (*offered)(void);
	unsigned vector_bytes;
} isas[JIT_ISAS] = {
	[JIT_ISA_V2] = {"v2", "x86-64-v2", "", has_v2, 16},
	[JIT_ISA_V3] = {"v3", "x86-64-v3", "", has_v3, 32},
	/* LLVM prefers half registers for this name, for the clock of the first such processors. */
	[JIT_ISA_V4] = {"v4", "x86-64-v4", "-prefer-256-bit", has_v4, 64},
};

bool jit_target_allows(enum jit_isa isa)
{
	const char *limit = secure_getenv("GANGWAY_CPU_ISA");

	for (int i = 0; limit && i < JIT_ISAS; i++)
		if (!strcmp(limit, isas[i].name))
			return (int)isa <= i;
	return true;
}

enum jit_isa jit_target_isa(void)
{
	enum jit_isa isa = JIT_ISA_V4;

	while (isa > JIT_ISA_V2 && (!jit_target_allows(isa) || !isas[isa].offered()))
		isa--;
	return isa;
}

#ifdef __x86_64__
/* Extensions of AVX-512 that the compiler may use, by LLVM's name. */
static void add_extensions(struct jit_target *t)
{
#define EXTENSION(gcc, llvm) \
	if (__builtin_cpu_supports(gcc)) \
		snprintf(t->features + strlen(t->features), sizeof t->features - strlen(t->features), ",+" llvm);
	EXTENSION("avx512vnni", "avx512vnni")
	EXTENSION("avx512bf16", "avx512bf16")
	EXTENSION("avx512vbmi", "avx512vbmi")
	EXTENSION("avx512vpopcntdq", "avx512vpopcntdq")
	EXTENSION("avx512bitalg", "avx512bitalg")
#undef EXTENSION
}
#endif

void jit_target_describe(enum jit_isa isa, struct jit_target *t)
{
	*t = (struct jit_target){.name = isas[isa].name, .cpu = isas[isa].cpu, .vector_bytes = isas[isa].vector_bytes};
	snprintf(t->features, sizeof t->features, "%s", isas[isa].features);
#ifdef __x86_64__
	if (isa == JIT_ISA_V4)
		add_extensions(t);
#endif
}
