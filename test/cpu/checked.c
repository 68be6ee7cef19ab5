/*
 * A program with one error in each mode, and clean ones: checked.sh runs it with gangway run --check and reads the
 * reports.  checked MODE; the result is that of the program itself, which the checks must not change.
 */
#include <stdbool.h>

#include "test/cpu/device.h"

/* Kernels of a pointer to 64 words (or of a word of it), run by one block of 64 threads. */
static const char text[] = PTX
	".file 1 \"rows.cu\"\n"
	".global .align 4 .u32 table[16];\n"
	".extern .shared .align 8 .b8 dyn[];\n"
	/* p[tid + 1] = tid: the last thread is past the end */
	".visible .entry past(.param .u64 p) { .reg .b32 %t; .reg .b64 %a, %o;\n"
	"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
	".loc 1 42 0\n"
	"st.global.u32 [%a+4], %t; ret; }\n"
	".visible .entry before(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p]; .reg .b64 %v;\n"
	"ld.u64 %v, [%a-8]; st.u64 [%a], %v; ret; }\n"
	".visible .entry get(.param .u64 p) { .reg .b32 %t; .reg .b64 %a, %o;\n"
	"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %a, %a, %o;\n"
	"ld.global.u32 %t, [%a]; add.u32 %t, %t, 1; st.global.u32 [%a], %t; ret; }\n"
	".visible .entry odd(.param .u64 p) { .reg .b64 %a; ld.param.u64 %a, [p];\n"
	"red.global.add.u32 [%a+2], 1; ret; }\n"
	/* a[16] of 16 words, beside b */
	".visible .entry variable(.param .u64 p) { .shared .align 4 .b32 a[16]; .shared .align 4 .b32 b[64];\n"
	".reg .b32 %t, %b, %i, %o; mov.u32 %t, %tid.x; shl.b32 %i, %t, 2; mov.u32 %b, a; add.u32 %o, %i, %b;\n"
	"st.shared.u32 [%o], %t; st.shared.u32 [b], 1; ret; }\n"
	".visible .entry dynamic(.param .u64 p) { .reg .b32 %t, %b, %i, %o; mov.u32 %t, %tid.x;\n"
	"shl.b32 %i, %t, 2; mov.u32 %b, dyn; add.u32 %o, %i, %b; st.shared.u32 [%o], %t; ret; }\n"
	".visible .entry local(.param .u64 p) { .local .align 4 .b8 depot[32]; .reg .b64 %l, %a; .reg .b32 %t;\n"
	"mov.u32 %t, %tid.x; mov.u64 %l, depot; cvta.local.u64 %a, %l; st.u32 [%a+28], %t; st.u32 [%a+32], %t; ret; }\n"
	".visible .entry global(.param .u64 p) { .reg .b32 %t; .reg .b64 %a, %b, %o; mov.u32 %t, %tid.x;\n"
	"mul.wide.u32 %o, %t, 4; mov.u64 %b, table; add.u64 %a, %b, %o; ld.global.u32 %t, [%a]; ret; }\n"
	".visible .entry unset(.param .u64 p) { .shared .align 4 .b32 s[64]; .reg .b64 %a; .reg .b32 %t;\n"
	"ld.param.u64 %a, [p]; ld.shared.u32 %t, [s+12]; st.global.u32 [%a], %t; ret; }\n"
/* s[tid] = tid; p[tid] = s[63 - tid], with a barrier between if it is `ordered` */
#define REVERSE(name, barrier) \
	".visible .entry " name \
	"(.param .u64 p) { .shared .align 4 .b32 s[64]; .reg .b32 %t, %o, %b; .reg .b64 %a, %w;\n" \
	"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; mov.u32 %b, s; shl.b32 %o, %t, 2; add.u32 %o, %o, %b;\n" \
	"st.shared.u32 [%o], %t;\n" barrier "sub.u32 %t, 63, %t; shl.b32 %o, %t, 2; add.u32 %o, %o, %b;\n" \
	"ld.shared.u32 %b, [%o]; mul.wide.u32 %w, %t, 4; add.u64 %a, %a, %w; st.global.u32 [%a], %b; ret; }\n"
	REVERSE("race", "") REVERSE("ordered", "bar.sync 0;\n")
/* Each thread passes its value on inside its warp. */
#define PASS(name, barrier) \
	".visible .entry " name "(.param .u64 p) { .shared .align 4 .b32 s[65]; .reg .b32 %t, %o, %b;\n" \
	"mov.u32 %t, %laneid; mov.u32 %b, s; shl.b32 %o, %t, 2; add.u32 %o, %o, %b; st.shared.u32 [%o], 5;\n" barrier \
	"xor.b32 %t, %t, 1; shl.b32 %o, %t, 2; add.u32 %o, %o, %b; ld.shared.u32 %b, [%o]; ret; }\n"
		PASS("warp_race", "") PASS("warp_ordered", "bar.warp.sync 0xffffffff;\n")
	/* All threads count in one word, after thread 0 has cleared it. */
	".visible .entry count(.param .u64 p) { .shared .align 4 .b32 s; .reg .pred %q; .reg .b32 %t; .reg .b64 %a;\n"
	"ld.param.u64 %a, [p]; mov.u32 %t, %tid.x; setp.eq.u32 %q, %t, 0; @%q st.shared.u32 [s], 0; bar.sync 0;\n"
	"red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %t, [s]; st.global.u32 [%a], %t; ret; }\n";

enum { WORDS = 64 };

static CUresult run(const char *kernel, unsigned shared, CUdeviceptr p)
{
	CUfunction f = device_kernel(text, kernel);
	void *args[] = {&p};
	CUresult r = cuLaunchKernel(f, 1, 1, 1, WORDS, 1, 1, shared, NULL, args, NULL);

	return r ? r : cuCtxSynchronize();
}

/* The error of a kernel without checks is the one with them. */
static void fails(const char *kernel, unsigned shared, CUdeviceptr p, CUresult expected)
{
	CUresult r = run(kernel, shared, p);

	CHECK(r == expected);
}

static CUdeviceptr words(bool set)
{
	CUdeviceptr p = 0;

	OK(cuMemAlloc_v2(&p, WORDS * 4));
	if (set)
		OK(cuMemsetD32_v2(p, 7, WORDS));
	return p;
}

static void freed(void)
{
	CUdeviceptr p = words(true);

	OK(cuMemFree_v2(p));
	/* Without quarantine, new memory takes the place. */
	words(true);
	fails("get", 0, p, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Memory counts as set however it was written. */
static void clean(void)
{
	CUdeviceptr p = words(true), q = words(false);
	uint32_t host[WORDS] = {0};

	OK(run("get", 0, p));
	OK(cuMemcpyDtoD_v2(q, p, WORDS * 4));
	OK(run("get", 0, q));
	OK(cuMemFree_v2(q));
	q = words(false);
	OK(run("ordered", 0, q));
	OK(run("get", 0, q));
	OK(cuMemcpyDtoH_v2(host, q, sizeof host));
	for (uint32_t i = 0; i < WORDS; i++)
		CHECK(host[i] == i + 1);
	OK(run("warp_ordered", 0, q));
	OK(run("count", 0, q));
	OK(cuMemcpyDtoH_v2(host, q, 4));
	CHECK(host[0] == WORDS);
	OK(run("dynamic", WORDS * 4, q));
	OK(cuMemFree_v2(p));
	OK(cuMemFree_v2(q));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "clean";
	static const char *const illegal[] = {"past", "before", "variable", "dynamic", "local", "global"};

	device_start();
	for (size_t i = 0; i < sizeof illegal / sizeof *illegal; i++)
		if (!strcmp(mode, illegal[i]))
			fails(mode, 128, words(true), CUDA_ERROR_ILLEGAL_ADDRESS);
	if (!strcmp(mode, "odd"))
		fails(mode, 0, words(true), CUDA_ERROR_MISALIGNED_ADDRESS);
	else if (!strcmp(mode, "freed"))
		freed();
	else if (!strcmp(mode, "uninitialized"))
		OK(run("get", 0, words(false)));
	else if (!strcmp(mode, "unset") || !strcmp(mode, "race") || !strcmp(mode, "warp_race"))
		OK(run(mode, 0, words(true)));
	else if (!strcmp(mode, "clean"))
		clean();
	return RESULT();
}
