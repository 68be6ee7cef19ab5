/* Calls: arguments and results in .param and .reg, recursion, function tables, divergent calls, and stack overflow. */
#include "test/check.h"
#include "rig.h"

#include <string.h>

static const char text[] = PTX_HEAD
	".func (.param .b32 r) fib (.param .b32 n);\n"
	".func (.param .b32 r) fib (.param .b32 n)\n"
	"{ .reg .pred %p<2>; .reg .b32 %r<8>;\n"
	"ld.param.u32 %r1, [n]; setp.lt.u32 %p1, %r1, 2; @!%p1 bra MORE; st.param.b32 [r], %r1; ret;\n"
	"MORE: sub.u32 %r2, %r1, 1; sub.u32 %r3, %r1, 2;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r3; call (b), fib, (a); ld.param.b32 %r5, [b]; }\n"
	"add.u32 %r4, %r4, %r5; st.param.b32 [r], %r4; ret; }\n"

	/* a predicate as argument and result; lanes over 40 do not call */
	".func (.reg .pred d) odd(.reg .u32 n, .reg .pred other)\n"
	"{ .reg .u32 x; and.b32 x, n, 1; setp.ne.or.u32 d, x, 0, other; ret; }\n"
	".visible .entry predicate(.param .u64 out)\n"
	"{ .reg .pred q, last, some; .reg .u32 i, y; .reg .u64 a; ld.param.u64 a, [out]; mov.u32 i, %tid.x;\n"
	"mad.wide.u32 a, i, 4, a; setp.eq.u32 last, i, 20; setp.le.u32 some, i, 40; setp.eq.u32 q, i, 50;\n"
	"@some call (q), odd, (i, last); selp.u32 y, 9, 1, q; st.global.u32 [a], y; ret; }\n"

	".visible .entry fibs(.param .u64 out)\n"
	"{ .reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 10;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n"

	/* parameters in registers, and a guarded call */
	".func (.reg .b32 r) twice (.reg .b32 x) { add.u32 r, x, x; ret; }\n"
	".visible .entry guarded(.param .u64 out)\n"
	"{ .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, 7; setp.gt.u32 %p1, %r1, 20;\n"
	"@%p1 call (%r3), twice, (%r1); activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r4, 1000, %r3;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n"

	/* three functions in a table; lanes call different ones */
	".func (.param .b32 r) add7 (.param .b32 x) { .reg .b32 %r<2>; ld.param.u32 %r1, [x]; add.u32 %r1, %r1, 7;\n"
	"st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) mul7 (.param .b32 x) { .reg .b32 %r<2>; ld.param.u32 %r1, [x]; mul.lo.u32 %r1, %r1, 7;\n"
	"st.param.b32 [r], %r1; ret; }\n"
	".func (.param .b32 r) gone (.param .b32 x) { .reg .b32 %r<2>; ld.param.u32 %r1, [x];\n"
	".reg .pred %p; setp.gt.u32 %p, %r1, 40; @%p exit; st.param.b32 [r], 3; ret; }\n"
	".global .align 8 .u64 table[3] = { add7, mul7, gone };\n"
	".visible .entry choose(.param .u64 out)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; rem.u32 %r2, %r1, 3; mov.u64 %rd3, table;\n"
	"mad.wide.u32 %rd3, %r2, 8, %rd3; ld.global.u64 %rd4, [%rd3];\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1;\n"
	"PROTO: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
	"call (b), %rd4, (a), PROTO; ld.param.b32 %r3, [b]; }\n"
	"activemask.b32 %r4; popc.b32 %r4, %r4; mad.lo.u32 %r3, %r4, 1000, %r3;\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n"

	".visible .entry nowhere(.param .u64 to)\n"
	"{ .reg .b64 %rd<8>; ld.param.u64 %rd1, [to];\n"
	"PROTO: .callprototype _ ();\n"
	"call %rd1, PROTO; ret; }\n"

	/* each call has its own local memory, which it uses after the inner call */
	".func (.param .b32 r) deep (.param .b32 n)\n"
	"{ .local .align 4 .b8 box[64]; .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<2>;\n"
	"ld.param.u32 %r1, [n]; st.local.u32 [box + 8], %r1; mov.u32 %r3, 0;\n"
	"setp.eq.u32 %p1, %r1, 0; @%p1 bra END; sub.u32 %r2, %r1, 1;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), deep, (a); ld.param.b32 %r3, [b]; }\n"
	"END: ld.local.u32 %r4, [box + 8]; add.u32 %r3, %r3, %r4; st.param.b32 [r], %r3; ret; }\n"
	".visible .entry depth(.param .u64 out, .param .u64 n)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [out]; ld.param.u32 %r2, [n]; mov.u32 %r1, %tid.x; add.u32 %r2, %r2, %r1;\n"
	"{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call (b), deep, (a); ld.param.b32 %r3, [b]; }\n"
	"mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r3; ret; }\n";

static void test_fib(struct rig *r)
{
	static const unsigned fib[10] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34};
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "fibs", DIM(1, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++)
		CHECK_EQ(out[i], fib[i % 10]);
}

static void test_guarded(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "guarded", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], 32000 + (i > 20 ? 2 * i : 7));
}

static void test_choose(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "choose", DIM(1, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++) {
		unsigned lanes = i < 32 ? 32 : 32 - 8; /* 41, 44, ... 62 have exited */

		CHECK_EQ(out[i], i % 3 == 2 && i > 40 ? 0
						      : lanes * 1000 + (i % 3 == 0          ? i + 7
									       : i % 3 == 1 ? i * 7
											    : 3));
	}
}

static void test_depth(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	r->stack_limit = 16384;
	CHECK_EQ(RUN(r, "depth", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out), 10), INTERP_OK);
	for (unsigned i = 0; i < 32; i++)
		CHECK_EQ(out[i], (10 + i) * (11 + i) / 2);
	CHECK_EQ(RUN(r, "depth", DIM(1, 1, 1), DIM(32, 1, 1), 0, P(out), 1000000), INTERP_ILLEGAL_ADDRESS);
	CHECK(strstr(r->message, "deep"));
}

static void test_predicate(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "predicate", DIM(1, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++)
		CHECK_EQ(out[i], (i <= 40 ? i % 2 || i == 20 : i == 50) ? 9 : 1);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_fib(&r);
	test_guarded(&r);
	test_choose(&r);
	test_depth(&r);
	test_predicate(&r);
	CHECK_EQ(RUN(&r, "nowhere", DIM(1, 1, 1), DIM(32, 1, 1), 0, 0x1234), INTERP_INVALID_PC);
	rig_close(&r);
	return RESULT();
}
