/* Built-in functions: printf with C's results, assertions with CUDA's text, malloc and free. */
#include "test/check.h"
#include "rig.h"

#include <string.h>

static const char text[] = PTX_HEAD
	".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
	".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
	".extern .func free (.param .b64 p);\n"
	".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
	/* "%d|%5u|%-4x|%08.3f|%s|%c|%lld|%%|%p|%e\n", "%n %y %", "abc", "x > 0", "f.cu", "k" */
	/* "%d|%5u|%-4x|%08.3f|%s|%c|%lld|%%|%p|%e\n", "%n %y %", "abc", "x > 0", "f.cu", "k" */
	".global .align 1 .b8 fmt[128] = "
	"{37,100,124,37,53,117,124,37,45,52,120,124,37,48,56,46,51,102,124,37,115,124,37,99,"
	"124,37,108,108,100,124,37,37,124,37,112,124,37,101,10,0};\n"
	".global .align 1 .b8 odd[32] = {37,110,32,37,121,32,37,0};\n"
	".global .align 1 .b8 str[8] = {97,98,99,0};\n"
	".global .align 1 .b8 what[8] = {120,32,62,32,48,0};\n"
	".global .align 1 .b8 file[8] = {102,46,99,117,0};\n"
	".global .align 1 .b8 func[8] = {107,0};\n"

	".visible .entry hello(.param .u64 out)\n"
	"{ .local .align 8 .b8 va[64]; .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<12>; .reg .f64 %fd<4>;\n"
	"ld.param.u64 %rd1, [out]; mov.u64 %rd2, va; cvta.local.u64 %rd3, %rd2; mov.u32 %r1, %tid.x;\n"
	"setp.ge.u32 %p1, %r1, 2; @%p1 ret;\n"
	"neg.s32 %r2, %r1; st.local.u32 [va], %r2; st.local.u32 [va + 4], 42; st.local.u32 [va + 8], 0xbeef;\n"
	"mov.f64 %fd1, 0d400921FB54442D18; st.local.f64 [%rd2 + 16], %fd1;\n"
	"mov.u64 %rd4, str; cvta.global.u64 %rd4, %rd4; st.local.u64 [va + 24], %rd4; st.local.u32 [va + 32], 81;\n"
	"st.local.u64 [va + 40], -5000000000; st.u64 [%rd3 + 48], 4660; st.local.f64 [va + 56], %fd1;\n"
	"mov.u64 %rd5, fmt;\n"
	"{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd5; st.param.b64 [b], %rd3;\n"
	"call (c), vprintf, (a, b); ld.param.b32 %r3, [c]; }\n"
	"st.global.u32 [%rd1], %r3; ret; }\n"

	".visible .entry strange(.param .u64 f)\n"
	"{ .reg .b64 %rd<12>; ld.param.u64 %rd1, [f]; .reg .pred %p; setp.eq.u64 %p, %rd1, 0; @%p mov.u64 %rd1, odd;\n"
	"{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd1; st.param.b64 [b], 0;\n"
	"call (c), vprintf, (a, b); } ret; }\n"

	".visible .entry check(.param .u64 limit)\n"
	"{ .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<12>; ld.param.u32 %r2, [limit]; mov.u32 %r1, %tid.y;\n"
	"setp.lt.u32 %p1, %r1, %r2; @%p1 bra OK; mov.u64 %rd1, what; mov.u64 %rd2, file; mov.u64 %rd3, func;\n"
	"{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %rd1;\n"
	"st.param.b64 [b], %rd2; st.param.b32 [c], 17; st.param.b64 [d], %rd3; st.param.b64 [e], 1;\n"
	"call __assertfail, (a, b, c, d, e); }\n"
	"OK: bar.sync 0; ret; }\n"

	".visible .entry heap(.param .u64 out)\n"
	"{ .reg .b32 %r<8>; .reg .b64 %rd<12>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"
	"{ .param .b64 a; .param .b64 b; st.param.b64 [a], 24; call (b), malloc, (a); ld.param.b64 %rd2, [b]; }\n"
	"st.u32 [%rd2 + 20], %r1; ld.u32 %r2, [%rd2 + 20];\n"
	"{ .param .b64 a; st.param.b64 [a], %rd2; call free, (a); }\n"
	"{ .param .b64 a; .param .b64 b; st.param.b64 [a], 0x40000000; call (b), malloc, (a); ld.param.b64 %rd3, [b]; "
	"}\n"
	"cvt.u32.u64 %r3, %rd3; add.u32 %r2, %r2, %r3;\n"
	"mad.wide.u32 %rd4, %r1, 4, %rd1; st.global.u32 [%rd4], %r2; ret; }\n"

	".visible .entry stale(.param .u64 out)\n"
	"{ .reg .b64 %rd<12>;\n"
	"{ .param .b64 a; .param .b64 b; st.param.b64 [a], 24; call (b), malloc, (a); ld.param.b64 %rd2, [b]; }\n"
	"{ .param .b64 a; st.param.b64 [a], %rd2; call free, (a); }\n"
	"st.u32 [%rd2], 1; ret; }\n";

static void test_printf(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 64);

	CHECK_EQ(RUN(r, "hello", DIM(1, 1, 1), DIM(3, 1, 1), 0, P(out)), INTERP_OK);
	CHECK(!strcmp(r->text, "0|   42|beef|0003.142|abc|Q|-5000000000|%|0x1234|3.141593e+00\n"
			       "-1|   42|beef|0003.142|abc|Q|-5000000000|%|0x1234|3.141593e+00\n"));
	CHECK_EQ(*out, 9);
	CHECK_EQ(RUN(r, "strange", DIM(1, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_OK);
	CHECK(!strcmp(r->text, "%n %y %"));
	CHECK_EQ(RUN(r, "strange", DIM(1, 1, 1), DIM(1, 1, 1), 0, 0x123), INTERP_ILLEGAL_ADDRESS);
}

static void test_assert(struct rig *r)
{
	CHECK_EQ(RUN(r, "check", DIM(1, 1, 1), DIM(1, 4, 1), 0, 4), INTERP_OK);
	CHECK_EQ(r->len, 0);
	CHECK_EQ(RUN(r, "check", DIM(1, 1, 1), DIM(1, 4, 1), 0, 2), INTERP_ASSERT);
	CHECK(!strcmp(r->text, "f.cu:17: k: block: [0,0,0], thread: [0,2,0] Assertion `x > 0` failed.\n"
			       "f.cu:17: k: block: [0,0,0], thread: [0,3,0] Assertion `x > 0` failed.\n"));
}

static void test_heap(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "heap", DIM(1, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 64; i++)
		CHECK_EQ(out[i], i);
	CHECK_EQ(RUN(r, "stale", DIM(1, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_ILLEGAL_ADDRESS);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_printf(&r);
	test_assert(&r);
	test_heap(&r);
	rig_close(&r);
	return RESULT();
}
