/*
 * Kernels that launch kernels, as nvcc compiles them: order, depth, copies and fills in between, the tail stream, and
 * invalid launches.
 */
#include "test/check.h"
#include "rig.h"

#include <string.h>

#define DECLARE \
	".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12],\n" \
	"	.param .align 4 .b8 b[12], .param .b32 s);\n" \
	".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);\n" \
	".extern .func (.param .b32 r) __cudaCDP2MemcpyAsync(.param .b64 d, .param .b64 s, .param .b64 n, .param " \
	".b32 k,\n" \
	"	.param .b64 t);\n" \
	".extern .func (.param .b32 r) __cudaCDP2MemsetAsync(.param .b64 d, .param .b32 v, .param .b64 n, .param " \
	".b64 t);\n" \
	".extern .func (.param .b32 r) __cudaCDP2GetLastError();\n" \
	".extern .func (.param .b32 r) __cudaCDP2StreamCreateWithFlags(.param .b64 p, .param .b32 f);\n"

/* kernel<<<%r1, %r2, 0, stream>>>(%d1, %r3): %d9 is the buffer, %r9 the result. */
#define LAUNCH(kernel, stream) \
	"{ .param .b64 f; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s; .param .b64 r; .param " \
	".b32 q;\n" \
	".param .b64 p; .param .b64 t; mov.u64 %d8, " kernel "; st.param.b64 [f], %d8; st.param.b32 [g], %r1;\n" \
	"st.param.b32 [g+4], 1; st.param.b32 [g+8], 1; st.param.b32 [b], %r2; st.param.b32 [b+4], 1; st.param.b32 " \
	"[b+8], 1;\n" \
	"st.param.b32 [s], 0; call (r), __cudaCDP2GetParameterBufferV2, (f, g, b, s); ld.param.b64 %d9, [r];\n" \
	"mov.u32 %r9, 999; setp.eq.u64 %p9, %d9, 0; @%p9 bra NO" kernel stream ";\n" \
	"st.u64 [%d9], %d1; st.u32 [%d9+8], %r3; st.param.b64 [p], %d9; st.param.b64 [t], " stream ";\n" \
	"call (q), __cudaCDP2LaunchDeviceV2, (p, t); ld.param.b32 %r9, [q];\nNO" kernel stream ": }\n"

#define REGISTERS ".reg .b32 %r<12>; .reg .b64 %d<12>; .reg .pred %p<12>;\n"

/* clang-format off */
static const char text[] = PTX_HEAD DECLARE
	/* appends its number to the list at p: [count, a, b, c ...] */
	".visible .entry note(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; ld.param.u32 %r1, [n]; atom.global.add.u32 %r2, [%d1], 1; add.u32 %r2, %r2, 1;\n"
	"mad.wide.u32 %d2, %r2, 4, %d1; st.global.u32 [%d2], %r1; ret; }\n"

	/* launches itself until n is 0 and records each launch; every thread of the last one counts */
	".visible .entry down(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; ld.param.u32 %r3, [n]; atom.global.add.u32 %r5, [%d1], 1;\n"
	"setp.eq.u32 %p1, %r3, 0; @%p1 ret; sub.u32 %r3, %r3, 1; mov.u32 %r1, 2; mov.u32 %r2, 33;\n"
	"mov.u32 %r6, %tid.x; setp.ne.u32 %p1, %r6, 32; @%p1 ret;\n" LAUNCH("down", "0")
	"atom.global.or.b32 %r6, [%d1 + 4], %r9; ret; }\n"

	/* 1 with a child 2, then 3; 9 in the tail stream, though launched first; a copy and a fill in between */
	".visible .entry one(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;\n" LAUNCH("note", "0")
	"mov.u32 %r3, 2;\n" LAUNCH("two", "16") "ret; }\n"
	".visible .entry two(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 2;\n" LAUNCH("note", "0") "ret; }\n"
	".visible .entry order(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 9;\n" LAUNCH("note", "3")
	"mov.u32 %r3, 0;\n" LAUNCH("one", "0")
	"{ .param .b64 d; .param .b64 s; .param .b64 n; .param .b32 k; .param .b64 t; .param .b32 q; add.u64 %d2, %d1, 128;\n"
	"st.param.b64 [d], %d2; st.param.b64 [s], %d1; st.param.b64 [n], 64; st.param.b32 [k], 3; st.param.b64 [t], 0;\n"
	"call (q), __cudaCDP2MemcpyAsync, (d, s, n, k, t); ld.param.b32 %r4, [q]; }\n"
	"mov.u32 %r3, 3;\n" LAUNCH("note", "4")
	"{ .param .b64 d; .param .b32 v; .param .b64 n; .param .b64 t; .param .b32 q; add.u64 %d2, %d1, 128;\n"
	"st.param.b64 [d], %d2; st.param.b32 [v], 0xaabb; st.param.b64 [n], 3; st.param.b64 [t], 0;\n"
	"call (q), __cudaCDP2MemsetAsync, (d, v, n, t); ld.param.b32 %r5, [q]; }\n"
	"add.u32 %r4, %r4, %r5; st.global.u32 [%d1 + 252], %r4; ret; }\n"

	/* invalid launches: no kernel, no threads, an unknown buffer */
	".func nothing() { ret; }\n"
	".visible .entry wrong(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;\n" LAUNCH("nothing", "0")
	"st.global.u32 [%d1 + 4], %r9; { .param .b32 q; call (q), __cudaCDP2GetLastError, (); ld.param.b32 %r4, [q]; }\n"
	"st.global.u32 [%d1 + 8], %r4; mov.u32 %r2, 0;\n" LAUNCH("note", "0")
	"st.global.u32 [%d1 + 12], %r9; { .param .b32 q; call (q), __cudaCDP2GetLastError, (); ld.param.b32 %r4, [q]; }\n"
	"st.global.u32 [%d1 + 16], %r4; mov.u32 %r2, 2000;\n" LAUNCH("two", "0") "st.global.u32 [%d1 + 20], %r9;\n"
	"{ .param .b64 p; .param .b64 t; .param .b32 q; st.param.b64 [p], %d1; st.param.b64 [t], 0;\n"
	"call (q), __cudaCDP2LaunchDeviceV2, (p, t); ld.param.b32 %r9, [q]; }\n"
	"st.global.u32 [%d1 + 24], %r9; { .param .b32 q; call (q), __cudaCDP2GetLastError, (); ld.param.b32 %r4, [q]; }\n"
	"{ .param .b32 q; call (q), __cudaCDP2GetLastError, (); ld.param.b32 %r5, [q]; }\n"
	"st.global.u32 [%d1 + 28], %r5; ret; }\n"

	/* a child that fails, and one after it that must not run */
	".visible .entry dies(.param .u64 p, .param .u32 n) { trap; }\n"
	".visible .entry mourns(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 7;\n" LAUNCH("dies", "0") LAUNCH("note", "0") "ret; }\n"

	/* a stream handle goes to the kernel's address, if that is accessible */
	".visible .entry stream(.param .u64 p, .param .u32 n) { " REGISTERS
	"ld.param.u64 %d1, [p]; { .param .b64 s; .param .b32 f; .param .b32 q; st.param.b64 [s], %d1; st.param.b32 [f], 1;\n"
	"call (q), __cudaCDP2StreamCreateWithFlags, (s, f); } ret; }\n";
/* clang-format on */

static void test_depth(struct rig *r)
{
	uint32_t *p = rig_alloc(r, 256);

	/* 1 thread, then 66 threads of which two launch: 66 + 132 + 264 */
	CHECK_EQ(RUN(r, "down", DIM(1, 1, 1), DIM(33, 1, 1), 0, P(p), 3), INTERP_OK);
	CHECK_EQ(p[0], 33 + 66 + 132 + 264);
	CHECK_EQ(p[1], 0);
}

static void test_order(struct rig *r)
{
	uint32_t *p = rig_alloc(r, 256);

	CHECK_EQ(RUN(r, "order", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p), 0), INTERP_OK);
	CHECK_EQ(p[0], 4);
	CHECK_EQ(p[1] * 1000 + p[2] * 100 + p[3] * 10 + p[4], 1239);
	CHECK_EQ(p[32], 0xbbbbbb & 0xffffff); /* count 2, overwritten by the fill */
	CHECK_EQ(p[33] * 10 + p[34], 12);     /* the list between launches 1 and 3 */
	CHECK_EQ(p[35], 0);
	CHECK_EQ(p[63], 0);
}

static void test_wrong(struct rig *r)
{
	uint32_t *p = rig_alloc(r, 256);

	CHECK_EQ(RUN(r, "wrong", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p), 0), INTERP_OK);
	CHECK_EQ(p[0], 0);
	CHECK_EQ(p[1], 999);
	CHECK_EQ(p[2], 98);
	CHECK_EQ(p[3], 999);
	CHECK_EQ(p[4], 1);
	CHECK_EQ(p[5], 999);
	CHECK_EQ(p[6], 1);
	CHECK_EQ(p[7], 0);
	CHECK_EQ(RUN(r, "mourns", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p), 0), INTERP_TRAP);
	CHECK_EQ(p[0], 0);
	CHECK(strstr(r->message, "trap"));
	CHECK_EQ(RUN(r, "stream", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p), 0), INTERP_OK);
	CHECK(p[0] != 0);
	CHECK_EQ(RUN(r, "stream", DIM(1, 1, 1), DIM(1, 1, 1), 0, 8, 0), INTERP_ILLEGAL_ADDRESS);
	r->host.kernel = NULL;
	memset(p, 0, 256);
	CHECK_EQ(RUN(r, "down", DIM(1, 1, 1), DIM(33, 1, 1), 0, P(p), 3), INTERP_OK);
	CHECK_EQ(p[0], 33);
	CHECK_EQ(p[1], 999);
}

/* A launch beyond the largest depth is refused; all launches before it run. */
static void test_too_deep(void)
{
	static const char one[] =
		PTX_HEAD DECLARE ".visible .entry sink(.param .u64 p, .param .u32 n) { " REGISTERS
				 "ld.param.u64 %d1, [p]; ld.param.u32 %r3, [n]; atom.global.add.u32 %r5, [%d1], 1;\n"
				 "add.u32 %r3, %r3, 1; mov.u32 %r1, 1; mov.u32 %r2, 1;\n" LAUNCH(
					 "sink", "0") "st.global.u32 [%d1 + 4], %r9; ret; }\n";
	static struct rig deep;
	uint32_t *p;

	rig_open(&deep, one);
	p = rig_alloc(&deep, 256);
	CHECK_EQ(RUN(&deep, "sink", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p), 0), INTERP_OK);
	CHECK_EQ(p[0], 25);
	CHECK_EQ(p[1], 999);
	rig_close(&deep);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_depth(&r);
	test_order(&r);
	test_too_deep();
	test_wrong(&r);
	rig_close(&r);
	return RESULT();
}
