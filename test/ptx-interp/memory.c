/* Memory of all state spaces, by name and by generic address; atomics; faults on invalid addresses. */
#include "test/check.h"
#include "rig.h"

#include <string.h>

static const char text[] = PTX_HEAD
	".shared .align 16 .b8 box[256]; .extern .shared .align 8 .b8 more[];\n"
	".const .align 4 .u32 nine = 9; .global .align 8 .u64 where = nine; .global .u32 total;\n"

	/* local, shared, dynamic shared and constant memory, each through its space and a generic address */
	".visible .entry spaces(.param .u64 out)\n"
	"{ .local .align 8 .b8 mine[32]; .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
	"mov.u64 %rd2, mine; cvta.local.u64 %rd3, %rd2; st.local.u32 [mine + 4], %r1; ld.u32 %r2, [%rd3 + 4];\n"
	"isspacep.local %p1, %rd3; isspacep.global %p2, %rd3; isspacep.global %p3, %rd1;\n"
	"mov.u32 %r3, box; cvt.u64.u32 %rd4, %r3; cvta.shared.u64 %rd5, %rd4; mad.wide.u32 %rd5, %r1, 4, %rd5;\n"
	"add.u32 %r4, %r1, 100; st.u32 [%rd5], %r4; mad.lo.u32 %r3, %r1, 4, %r3; ld.shared.u32 %r5, [%r3];\n"
	"cvta.to.shared.u64 %rd6, %rd5; cvt.u32.u64 %r6, %rd6; sub.u32 %r6, %r6, %r3; isspacep.shared %p4, %rd5;\n"
	"mov.u32 %r7, more; mad.lo.u32 %r7, %r1, 8, %r7; st.shared.v2.u32 [%r7], {%r1, %r4};\n"
	"ld.shared.u64 %rd7, [%r7]; shr.u64 %rd7, %rd7, 32; cvt.u32.u64 %r8, %rd7;\n"
	"ld.const.u32 %r9, [nine]; ld.global.u64 %rd8, [where]; ld.u32 %r10, [%rd8];\n"
	"add.u32 %r2, %r2, %r5; add.u32 %r2, %r2, %r8; add.u32 %r2, %r2, %r6; mad.lo.u32 %r2, %r9, %r10, %r2;\n"
	"selp.u32 %r11, 1000, 0, %p1; selp.u32 %r12, 7, 0, %p2; selp.u32 %r13, 2000, 0, %p3; selp.u32 %r14, 4000, 0, "
	"%p4;\n"
	"add.u32 %r2, %r2, %r11; add.u32 %r2, %r2, %r12; add.u32 %r2, %r2, %r13; add.u32 %r2, %r2, %r14;\n"
	"mov.u32 %r15, %ctaid.x; mad.lo.u32 %r15, %r15, 64, %r1;\n"
	"mad.wide.u32 %rd9, %r15, 4, %rd1; st.global.u32 [%rd9], %r2; ret; }\n"

	/* a kernel's arguments by address, and narrow loads into wider registers */
	".visible .entry widths(.param .u64 out, .param .u64 in)\n"
	"{ .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [out]; mov.b64 %rd2, in; ld.param.u64 %rd3, [%rd2]; cvta.param.u64 %rd4, %rd2;\n"
	"ld.u64 %rd5, [%rd4]; sub.u64 %rd5, %rd5, %rd3; st.global.u64 [%rd1], %rd5;\n"
	"ld.global.s8 %r1, [%rd3]; st.global.u32 [%rd1 + 8], %r1; ld.global.u8 %rs1, [%rd3]; cvt.u32.u16 %r2, %rs1;\n"
	"st.global.u32 [%rd1 + 12], %r2; ld.global.s16 %rd6, [%rd3]; st.global.u64 [%rd1 + 16], %rd6;\n"
	"ld.global.v4.u8 {%r1, _, %r2, %r3}, [%rd3 + 4]; st.global.v2.u32 [%rd1 + 24], {%r2, %r3};\n"
	"st.global.u8 [%rd1 + 32], %r1; ret; }\n"

	".visible .entry atoms(.param .u64 p)\n"
	"{ .reg .b16 %rs<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .f64 %fd<4>; .reg .f32 %f<4>;\n"
	"ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n"
	"mad.lo.u32 %r4, %r2, %r3, %r1; cvt.u64.u32 %rd2, %r4; neg.s32 %r5, %r4;\n"
	"red.global.add.u32 [%rd1], 1; atom.global.add.u64 %rd3, [%rd1 + 8], %rd2;\n"
	"red.global.add.f32 [%rd1 + 16], 0f3F000000; red.global.add.f64 [%rd1 + 24], 0d3FD0000000000000;\n"
	"red.global.max.u32 [%rd1 + 32], %r4; red.global.min.s32 [%rd1 + 36], %r5;\n"
	"red.global.inc.u32 [%rd1 + 40], 9; atom.global.dec.u32 %r6, [%rd1 + 44], 9;\n"
	"and.b32 %r7, %r4, 31; shl.b32 %r8, 1, %r7; red.global.or.b32 [%rd1 + 48], %r8;\n"
	"red.global.xor.b32 [%rd1 + 52], %r8; not.b32 %r8, %r8; red.global.and.b32 [%rd1 + 56], %r8;\n"
	"mov.b32 %r9, 0x3c003c00; red.global.add.noftz.f16x2 [%rd1 + 60], %r9;\n"
	"red.global.max.s64 [%rd1 + 64], %rd2; atom.global.exch.b32 %r10, [%rd1 + 72], %r4;\n"
	"ret; }\n"

	/* 128-bit atomics: the thread that finds zeros stores its own value */
	".visible .entry wide(.param .u64 p)\n"
	"{ .reg .b64 %rd<8>; .reg .b128 %q<4>; .reg .b32 %r<2>;\n"
	"ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; cvt.u64.u32 %rd2, %r1; mov.u64 %rd3, 0;\n"
	"mov.b128 %q1, {%rd3, %rd3}; add.u64 %rd4, %rd2, 1; mov.b128 %q2, {%rd4, %rd2};\n"
	"atom.global.cas.b128 %q3, [%rd1], %q1, %q2; mov.b128 {%rd5, %rd6}, %q3;\n"
	"shl.b64 %rd7, %rd2, 4; add.u64 %rd7, %rd7, %rd1; st.global.v2.u64 [%rd7 + 16], {%rd5, %rd6}; ret; }\n"

	".visible .entry copy(.param .u64 out, .param .u64 in)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<2>;\n"
	"ld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in]; mov.u32 %r1, %tid.x; mov.u32 %r2, more;\n"
	"setp.ne.u32 %p1, %r1, 0; @!%p1 mbarrier.init.shared.b64 [box], 32; bar.sync 0;\n"
	"mad.lo.u32 %r3, %r1, 8, %r2; mad.wide.u32 %rd3, %r1, 8, %rd2;\n"
	"cp.async.ca.shared.global [%r3], [%rd3], 8, 4; cp.async.commit_group; cp.async.wait_group 0;\n"
	"mbarrier.arrive.shared.b64 %rd4, [box];\n"
	"WAIT: mbarrier.try_wait.shared.b64 %p1, [box], %rd4; @!%p1 bra WAIT;\n"
	"xor.b32 %r4, %r1, 31; mad.lo.u32 %r4, %r4, 8, %r2; ld.shared.u64 %rd5, [%r4];\n"
	"mad.wide.u32 %rd6, %r1, 8, %rd1; st.global.u64 [%rd6], %rd5; ret; }\n"

	".visible .entry store(.param .u64 p) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], 1; "
	"ret; }\n"
	".visible .entry gstore(.param .u64 p) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.u32 [%rd1], 1; ret; }\n"
	".visible .entry sstore(.param .u64 p) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.shared.u32 [%rd1], 1; "
	"ret; }\n"
	".visible .entry lstore(.param .u64 p) { .local .b32 x; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p];\n"
	"st.local.u32 [%rd1], 1; ret; }\n"
	".visible .entry pload(.param .u64 p) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [%rd1]; "
	"ret; }\n"
	".visible .entry amiss(.param .u64 p) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [p];\n"
	"atom.global.add.u64 %rd2, [%rd1], 1; ret; }\n"
	".visible .entry one(.param .u64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p<2>; ld.param.u64 %rd1, "
	"[p];\n"
	"mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 77; @%p1 st.global.u32 [%rd1], 1; ret; }\n"
	".visible .entry trapped(.param .u64 p) { trap; }\n";

static void test_spaces(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "spaces", DIM(3, 1, 1), DIM(64, 1, 1), 512, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 192; i++)
		CHECK_EQ(out[i], i % 64 + 2 * (i % 64 + 100) + 81 + 7000);
}

static void test_widths(struct rig *r)
{
	uint8_t *in = rig_alloc(r, 64);
	uint32_t *out = rig_alloc(r, 64);

	memcpy(in, "\x80\xff\x03\x04\x05\x06\x87\x08", 8);
	CHECK_EQ(RUN(r, "widths", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(out), P(in)), INTERP_OK);
	CHECK_EQ(out[0] | out[1], 0);
	CHECK_EQ(out[2], 0xffffff80);
	CHECK_EQ(out[3], 0x80);
	CHECK_EQ(out[4], 0xffffff80);
	CHECK_EQ(out[5], 0xffffffff);
	CHECK_EQ(out[6], 0x87);
	CHECK_EQ(out[7], 8);
	CHECK_EQ(out[8], 5);
}

static void test_atomics(struct rig *r)
{
	enum { N = 50 * 96 };
	uint32_t *p = rig_alloc(r, 128);
	float f;
	double d;

	p[14] = UINT32_MAX;
	CHECK_EQ(RUN(r, "atoms", DIM(50, 1, 1), DIM(96, 1, 1), 0, P(p)), INTERP_OK);
	memcpy(&f, p + 4, 4);
	memcpy(&d, p + 6, 8);
	CHECK_EQ(p[0], N);
	CHECK_EQ(p[2], N * (N - 1) / 2);
	CHECK_EQ(f, N / 2);
	CHECK_EQ(d, N / 4);
	CHECK_EQ(p[8], N - 1);
	CHECK_EQ(p[9], (uint32_t)(1 - N));
	CHECK_EQ(p[10], 0); /* 4800 is a multiple of 10 */
	CHECK_EQ(p[11], 0);
	CHECK_EQ(p[12], UINT32_MAX);
	CHECK_EQ(p[13], 0);
	CHECK_EQ(p[14], 0);
	CHECK_EQ(p[15], 0x68006800); /* 2048: in f16, adding 1 to 2048 gives 2048 */
	CHECK_EQ(p[16], N - 1);
	CHECK(p[18] < N);
}

static void test_wide(struct rig *r)
{
	uint64_t *p = rig_alloc(r, 16 * 33);
	unsigned zeroes = 0;

	CHECK_EQ(RUN(r, "wide", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(p)), INTERP_OK);
	CHECK_EQ(p[0], p[1] + 1);
	for (unsigned i = 0; i < 32; i++)
		zeroes += !p[2 + 2 * i];
	CHECK_EQ(zeroes, 1);
}

static void test_copy(struct rig *r)
{
	uint64_t *in = rig_alloc(r, 256), *out = rig_alloc(r, 256);

	for (unsigned i = 0; i < 32; i++)
		in[i] = 0x7700000000 + i;
	CHECK_EQ(RUN(r, "copy", DIM(1, 1, 1), DIM(32, 1, 1), 256, P(out), P(in)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], 31 - i);
}

static void test_faults(struct rig *r)
{
	char *p = rig_alloc(r, 64), on_stack[16];
	uint64_t limit = 256 + 512 + 1024; /* static, dynamic and reserved */

	CHECK_EQ(RUN(r, "store", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p + 60)), INTERP_OK);
	CHECK_EQ(RUN(r, "store", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p + 64)), INTERP_ILLEGAL_ADDRESS);
	CHECK(strstr(r->message, "st of 4 bytes"));
	CHECK_EQ(RUN(r, "store", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p + 62)), INTERP_MISALIGNED_ADDRESS);
	CHECK_EQ(RUN(r, "store", DIM(9, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "store", DIM(1, 1, 1), DIM(1, 1, 1), 0, ~3ULL), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "gstore", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(on_stack) & ~3ULL), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "gstore", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(r)), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "sstore", DIM(1, 1, 1), DIM(1, 1, 1), 512, limit), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "sstore", DIM(1, 1, 1), DIM(1, 1, 1), 512, P(p)), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "sstore", DIM(1, 1, 1), DIM(1, 1, 1), 512, 2), INTERP_MISALIGNED_ADDRESS);
	CHECK_EQ(RUN(r, "lstore", DIM(1, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_OK);
	CHECK_EQ(RUN(r, "lstore", DIM(1, 1, 1), DIM(1, 1, 1), 0, 1 << 20), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "pload", DIM(1, 1, 1), DIM(1, 1, 1), 0, 8), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "amiss", DIM(1, 1, 1), DIM(1, 1, 1), 0, P(p + 4)), INTERP_MISALIGNED_ADDRESS);
	/* Inactive lanes may hold any address. */
	CHECK_EQ(RUN(r, "one", DIM(1, 1, 1), DIM(64, 1, 1), 0, 1), INTERP_OK);
	CHECK_EQ(RUN(r, "one", DIM(1, 1, 1), DIM(96, 1, 1), 0, 4), INTERP_ILLEGAL_ADDRESS);
	CHECK(strstr(r->message, "thread (77,0,0)"));
	CHECK_EQ(RUN(r, "trapped", DIM(1, 1, 1), DIM(64, 1, 1), 0, 1), INTERP_TRAP);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_spaces(&r);
	test_widths(&r);
	test_atomics(&r);
	test_wide(&r);
	test_copy(&r);
	test_faults(&r);
	rig_close(&r);
	return RESULT();
}
