/* Divergent control flow: each lane computes the same as alone, and the lanes reconverge. */
#include "test/check.h"
#include "rig.h"

/* out[i] = f(i), with a different path for each lane. */
static const char text[] = PTX_HEAD
	/* nested ifs; activemask at the end shows whether the warp has reconverged */
	".visible .entry nested(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r1, %tid.x;\n"
	"mov.u32 %r2, 0;\n"
	"and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0;\n"
	"@%p1 bra EVEN;\n"
	"add.u32 %r2, %r2, 1;\n"
	"and.b32 %r3, %r1, 2; setp.eq.u32 %p2, %r3, 0;\n"
	"@%p2 bra ODD1;\n"
	"add.u32 %r2, %r2, 10; bra ODD2;\n"
	"ODD1: add.u32 %r2, %r2, 20;\n"
	"ODD2: add.u32 %r2, %r2, 100; bra DONE;\n"
	"EVEN: add.u32 %r2, %r2, 1000;\n"
	"@!%p1 add.u32 %r2, %r2, 50000;\n"
	"DONE: activemask.b32 %r4;\n"
	"popc.b32 %r4, %r4; mul.lo.u32 %r4, %r4, 100000; add.u32 %r2, %r2, %r4;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2; ret; }\n"

	/* a loop that each lane runs tid times; some lanes break out of its middle */
	".visible .entry loop(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
	"LOOP: setp.ge.u32 %p1, %r3, %r1; @%p1 bra DONE;\n"
	"add.u32 %r2, %r2, %r3;\n"
	"setp.gt.u32 %p2, %r2, 100; @%p2 bra BREAK;\n"
	"add.u32 %r3, %r3, 1; bra LOOP;\n"
	"BREAK: add.u32 %r2, %r2, 7000;\n"
	"DONE: activemask.b32 %r4; popc.b32 %r4, %r4; mul.lo.u32 %r4, %r4, 100000; add.u32 %r2, %r2, %r4;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2; ret; }\n"

	/* irreducible control flow: jumps into the middle of a loop */
	".visible .entry wild(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, 3;\n"
	"and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra MIDDLE;\n"
	"TOP: add.u32 %r2, %r2, 1;\n"
	"MIDDLE: add.u32 %r2, %r2, 100; sub.u32 %r3, %r3, 1;\n"
	"setp.ne.u32 %p2, %r3, 0; and.b32 %r4, %r1, 4; setp.eq.u32 %p3, %r4, 0;\n"
	"@%p2 bra TOP; @%p3 bra OUT; add.u32 %r3, %r3, 1; and.b32 %r1, %r1, 3; bra MIDDLE;\n"
	"OUT: mov.u32 %r1, %tid.x;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2; ret; }\n"

	/* brx.idx over four targets */
	".visible .entry table(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 4;\n"
	"TS: .branchtargets L0, L1, L2, L3;\n"
	"brx.idx %r2, TS;\n"
	"L0: mov.u32 %r3, 5; bra DONE;\n"
	"L1: mov.u32 %r3, 6; bra DONE;\n"
	"L2: mov.u32 %r3, 7; exit;\n"
	"L3: mov.u32 %r3, 8;\n"
	"DONE: activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r4, 100, %r3;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n"

	/* the linear id from all components of tid and ctaid, and a count of threads */
	".visible .entry where(.param .u64 out)\n"
	"{ .reg .b32 %r<16>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
	"mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;\n"
	"mad.lo.u32 %r7, %r3, %r5, %r2; mad.lo.u32 %r7, %r7, %r4, %r1;\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
	"mov.u32 %r8, %nctaid.x; mov.u32 %r9, %nctaid.y;\n"
	"mad.lo.u32 %r10, %r3, %r9, %r2; mad.lo.u32 %r10, %r10, %r8, %r1;\n"
	"mul.lo.u32 %r11, %r4, %r5; mul.lo.u32 %r11, %r11, %r6;\n"
	"mad.lo.u32 %r7, %r10, %r11, %r7;\n"
	"mad.wide.u32 %rd2, %r7, 4, %rd1; red.global.add.u32 [%rd2], 1; ret; }\n";

static void test_nested(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "nested", DIM(1, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++)
		CHECK_EQ(out[i], 3200000 + (i & 1 ? 101 + (i & 2 ? 10 : 20) : 1000));
	CHECK_EQ(RUN(r, "nested", DIM(1, 1, 1), DIM(37, 1, 1), 0, P(out)), INTERP_OK);
	CHECK_EQ(out[36], 501000);
}

static void test_loop(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "loop", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++) {
		unsigned sum = 0;

		for (unsigned k = 0; k < i; k++) {
			sum += k;
			if (sum > 100) {
				sum += 7000;
				break;
			}
		}
		CHECK_EQ(out[i], 3200000 + sum);
	}
}

static unsigned wild(unsigned tid)
{
	unsigned a = tid, n = 0, left = 3;

	if (a & 1)
		goto middle;
top:
	n++;
middle:
	n += 100;
	left--;
	if (left)
		goto top;
	if (!(a & 4))
		return n;
	left++;
	a &= 3;
	goto middle;
}

static void test_wild(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "wild", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], wild(i));
}

static void test_table(struct rig *r)
{
	static const unsigned want[4] = {2405, 2406, 0, 2408};
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "table", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], want[i % 4]);
}

static void test_where(struct rig *r, const unsigned grid[3], const unsigned block[3])
{
	unsigned n = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2];
	uint32_t *out = rig_alloc(r, n * 4 + 4);

	CHECK_EQ(RUN(r, "where", grid, block, 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < n; i++)
		if (out[i] != 1)
			CHECK_EQ(i, -1);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_nested(&r);
	test_loop(&r);
	test_wild(&r);
	test_table(&r);
	test_where(&r, DIM(3, 1, 1), DIM(1024, 1, 1));
	test_where(&r, DIM(7, 1, 1), DIM(1, 1, 1));
	test_where(&r, DIM(2, 3, 4), DIM(5, 3, 7));
	test_where(&r, DIM(1, 65, 1), DIM(33, 1, 1));
	test_where(&r, DIM(1, 1, 9), DIM(1, 17, 1));
	rig_close(&r);
	return RESULT();
}
