/* Barriers of a block: of all threads, named, counted, with reductions, with exited threads, and in divergent code. */
#include "test/check.h"
#include "rig.h"

static const char text[] = PTX_HEAD
	".shared .align 4 .b8 buf[4096];\n"

	/* sum of a block's tids by a tree reduction; any size up to 1024 */
	".visible .entry sum(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r9, buf;\n"
	"mad.lo.u32 %r3, %r1, 4, %r9; st.shared.u32 [%r3], %r1; bar.sync 0;\n"
	"HALVE: setp.le.u32 %p1, %r2, 1; @%p1 bra DONE;\n"
	"add.u32 %r4, %r2, 1; shr.u32 %r4, %r4, 1; add.u32 %r5, %r1, %r4;\n"
	"setp.ge.u32 %p2, %r5, %r2; @%p2 bra SKIP;\n"
	"mad.lo.u32 %r6, %r4, 4, %r3; ld.shared.u32 %r7, [%r6]; ld.shared.u32 %r8, [%r3];\n"
	"add.u32 %r8, %r8, %r7; st.shared.u32 [%r3], %r8;\n"
	"SKIP: bar.sync 0; mov.u32 %r2, %r4; bra HALVE;\n"
	"DONE: setp.ne.u32 %p3, %r1, 0; @%p3 ret;\n"
	"ld.shared.u32 %r7, [buf]; st.global.u32 [%rd1], %r7; ret; }\n"

	/* popc * 100 + and * 10 + or, over t % 3 == 0, t >= 0, t == 5 */
	".visible .entry red(.param .u64 out)\n"
	"{ .reg .pred %p<8>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3;\n"
	"setp.eq.u32 %p1, %r2, 0; bar.red.popc.u32 %r3, 0, %p1;\n"
	"setp.eq.u32 %p2, %r1, 5; bar.red.and.pred %p3, 0, !%p2; bar.red.or.pred %p4, 0, %p2;\n"
	"selp.u32 %r4, 10, 0, %p3; selp.u32 %r5, 1, 0, %p4; mad.lo.u32 %r3, %r3, 100, %r4; add.u32 %r3, %r3, %r5;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n"

	/* warp 0 produces, warp 1 consumes, ten times, over two counted barriers */
	".visible .entry pipe(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; mov.u32 %r9, buf;\n"
	"add.u32 %r3, %r3, %r9; mov.u32 %r4, 0; mov.u32 %r5, 0;\n"
	"setp.ge.u32 %p1, %r1, 32; @%p1 bra CONSUME;\n"
	"PRODUCE: bar.sync 2, 64; mad.lo.u32 %r6, %r4, 100, %r2; st.shared.u32 [%r3], %r6; bar.arrive 1, 64;\n"
	"add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 10; @%p2 bra PRODUCE; ret;\n"
	"CONSUME: bar.arrive 2, 64; bar.sync 1, 64; ld.shared.u32 %r6, [%r3]; add.u32 %r5, %r5, %r6;\n"
	"add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 10; @%p2 bra CONSUME;\n"
	"mov.u32 %r7, %ctaid.x; mad.lo.u32 %r2, %r7, 32, %r2;\n"
	"mad.wide.u32 %rd2, %r2, 4, %rd1; st.global.u32 [%rd2], %r5; ret; }\n"

	/* every third thread exits before the barrier; the halves of a warp reach it at different places */
	".visible .entry odd(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; @%p1 exit;\n"
	"mov.u32 %r9, buf; red.shared.add.u32 [buf], 1;\n"
	"and.b32 %r3, %r1, 16; setp.eq.u32 %p2, %r3, 0; @%p2 bra LOW;\n"
	"barrier.sync 0; ld.shared.u32 %r4, [buf]; bra DONE;\n"
	"LOW: barrier.sync 0; ld.shared.u32 %r4, [buf]; add.u32 %r4, %r4, 1000;\n"
	"DONE: mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r4; ret; }\n"

	/* a deadlock: half a warp waits at a barrier that the other half never reaches */
	".visible .entry stuck(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<4>;\n"
	"mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 1; ret;\n"
	"ONE: bar.sync 2; ret; }\n"

	/* shuffles and votes whose lanes reach the instruction separately */
	".visible .entry late(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid; and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0;\n"
	"@%p1 bra EVEN; bar.warp.sync 0xaaaaaaaa; vote.sync.ballot.b32 %r3, %p1, 0xaaaaaaaa; bra MEET;\n"
	"EVEN: vote.sync.ballot.b32 %r3, %p1, 0x55555555;\n"
	"MEET: shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; bar.warp.sync -1;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r4; ret; }\n"

	/* one instruction with four groups of eight lanes; then the odd lanes of each arrive late */
	".visible .entry groups(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %laneid; and.b32 %r2, %r1, 24; mov.u32 %r3, 255; shl.b32 %r3, %r3, "
	"%r2;\n"
	"redux.sync.add.u32 %r4, %r1, %r3; and.b32 %r5, %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 bra DONE;\n"
	"add.u32 %r1, %r1, 100;\n"
	"DONE: redux.sync.max.u32 %r6, %r1, %r3; mad.lo.u32 %r4, %r4, 1000, %r6; mov.u32 %r1, %laneid;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r4; ret; }\n"

	/* __syncwarp in both branches: each side reads what the other wrote before its __syncwarp */
	".visible .entry sides(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r9, buf;\n"
	"mad.lo.u32 %r2, %r1, 4, %r9; sub.u32 %r3, 31, %r1; mad.lo.u32 %r3, %r3, 4, %r9;\n"
	"setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;\n"
	"add.u32 %r4, %r1, 100; st.shared.u32 [%r2], %r4; bar.warp.sync -1; ld.shared.u32 %r5, [%r3]; bra DONE;\n"
	"LOW: add.u32 %r4, %r1, 200; st.shared.u32 [%r2], %r4; bar.warp.sync -1; ld.shared.u32 %r5, [%r3];\n"
	"DONE: mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r5; ret; }\n";

static void test_sum(struct rig *r, unsigned n)
{
	uint32_t *out = rig_alloc(r, 64);

	CHECK_EQ(RUN(r, "sum", DIM(1, 1, 1), DIM(n, 1, 1), 0, P(out)), INTERP_OK);
	CHECK_EQ(*out, n * (n - 1) / 2);
}

static void test_red(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "red", DIM(1, 1, 1), DIM(100, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 100; i++)
		CHECK_EQ(out[i], 3401);
}

static void test_pipe(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "pipe", DIM(2, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++)
		CHECK_EQ(out[i], 4500 + 10 * (i % 32));
}

static void test_odd(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "odd", DIM(1, 1, 1), DIM(90, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 90; i++)
		CHECK_EQ(out[i], i % 3 == 0 ? 0 : i & 16 ? 60 : 1060);
}

static void test_late(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "late", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], i & 1 ? 0x55555555 : 0);
	CHECK_EQ(RUN(r, "groups", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], (28 + i / 8 * 64) * 1000 + i / 8 * 8 + 107);
	CHECK_EQ(RUN(r, "sides", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], 31 - i + (i < 16 ? 100 : 200));
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	r.timeout_ms = 600000;
	for (unsigned n = 1; n <= 1024; n = n * 3 / 2 + 1)
		test_sum(&r, n);
	test_sum(&r, 1024);
	test_red(&r);
	test_pipe(&r);
	test_odd(&r);
	test_late(&r);
	CHECK_EQ(RUN(&r, "stuck", DIM(1, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_TIMEOUT);
	rig_close(&r);
	return RESULT();
}
