/*
 * Litmus tests of PTX's memory model: blocks on several host threads never see an outcome that the model forbids.
 *
 *	interp-litmus [SECONDS]		each test a few times, or all of them again and again for this long
 *
 * A test of two or four threads is run by as many blocks, which meet before every round; every lane has locations of
 * its own, so that a round is 32 tests.
 */
#include "test/check.h"
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEAD ".version 8.4\n.target sm_90\n.address_size 64\n"
enum { ROUNDS = 300, TESTS = ROUNDS * 32, STRIDE = 64, OUTCOMES = 4 };

/*
 * The rounds of a test.  t0 to t3 are the codes of the blocks: %rd1 and %rd2 are the addresses of x and y, %r20 to %r23
 * the outcomes, of which block b owns 20 + 2b and 21 + 2b (modulo 4).
 */
#define LITMUS(name, blocks, t0, t1, t2, t3) \
	".visible .entry " name "(.param .u64 px, .param .u64 py, .param .u64 pr, .param .u64 ps)\n" \
	"{ .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>;\n" \
	"ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [py]; ld.param.u64 %rd3, [pr]; ld.param.u64 %rd4, [ps];\n" \
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0; mov.u32 %r4, 0;\n" \
	"mul.wide.u32 %rd5, %r1, 64; add.u64 %rd1, %rd1, %rd5; add.u64 %rd2, %rd2, %rd5;\n" \
	"mul.wide.u32 %rd5, %r1, 16; add.u64 %rd3, %rd3, %rd5;\n" \
	"setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; setp.eq.u32 %p3, %r2, 1; setp.eq.u32 %p4, %r2, 2;\n" \
	"ROUND: add.u32 %r4, %r4, " blocks ";\n" \
	"@%p1 red.release.gpu.global.add.u32 [%rd4], 1;\n" \
	"MEET: ld.acquire.gpu.global.u32 %r5, [%rd4]; setp.lt.u32 %p5, %r5, %r4; @%p5 bra MEET;\n" \
	"@%p2 bra T0; @%p3 bra T1; @%p4 bra T2; bra T3;\n" \
	"T0: " t0 " bra END;\nT1: " t1 " bra END;\nT2: " t2 " bra END;\nT3: " t3 "\n" \
	"END: add.u64 %rd1, %rd1, 2048; add.u64 %rd2, %rd2, 2048; add.u64 %rd3, %rd3, 512;\n" \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p6, %r3, 300; @%p6 bra ROUND; ret; }\n"
#define LITMUS2(name, t0, t1) LITMUS(name, "2", t0, t1, "", "")
#define OUT(n, reg)           "st.global.u32 [%rd3+" #n "], " reg "; "
#define LD(reg, at)           "ld.relaxed.gpu.global.u32 " reg ", [" at "]; "
#define ST(at, v)             "st.relaxed.gpu.global.u32 [" at "], " v "; "
#define X                     "%rd1"
#define Y                     "%rd2"

/* Block 0 writes equal elements, block 1 checks that they are; v: a vector of the registers. */
#define TORN(name, sem, type, vector, set, differ) \
	".visible .entry " name "(.param .u64 px, .param .u64 pr, .param .u64 ps, .param .u64 step)\n" \
	"{ .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .b128 %q<2>;\n" \
	"ld.param.u64 %rd1, [px]; ld.param.u64 %rd2, [pr]; ld.param.u64 %rd3, [ps]; ld.param.u32 %r20, [step];\n" \
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0; mov.u32 %r4, 0;\n" \
	"mul.lo.u32 %r20, %r20, %r1; cvt.u64.u32 %rd5, %r20; add.u64 %rd1, %rd1, %rd5;\n" \
	"mul.wide.u32 %rd5, %r1, 4; add.u64 %rd2, %rd2, %rd5;\n" \
	"setp.eq.u32 %p1, %r1, 0; @%p1 red.release.gpu.global.add.u32 [%rd3], 1;\n" \
	"MEET: ld.acquire.gpu.global.u32 %r5, [%rd3]; setp.lt.u32 %p5, %r5, 2; @%p5 bra MEET;\n" \
	"setp.eq.u32 %p2, %r2, 0; @%p2 bra WRITE;\n" \
	"READ: ld" sem ".global" type " " vector ", [%rd1];\n" differ "\n" \
	"selp.u32 %r6, 1, 0, %p3; add.u32 %r4, %r4, %r6;\n" \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p6, %r3, 4000; @%p6 bra READ;\n" \
	"st.global.u32 [%rd2], %r4; ret;\n" \
	"WRITE: add.u32 %r7, %r3, %r1; " set "\n" \
	"st" sem ".global" type " [%rd1], " vector ";\n" \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p6, %r3, 4000; @%p6 bra WRITE; ret; }\n"
#define TORN_FORMS(name, sem) \
	TORN(name "v2u64", sem, ".v2.u64", "{%rd10,%rd11}", "cvt.u64.u32 %rd10, %r7; mov.u64 %rd11, %rd10;", \
		"setp.ne.u64 %p3, %rd10, %rd11;") \
	TORN(name "v2u32", sem, ".v2.u32", "{%r10,%r11}", "mov.u32 %r10, %r7; mov.u32 %r11, %r7;", \
		"setp.ne.u32 %p3, %r10, %r11;") \
	TORN(name "v4u32", sem, ".v4.u32", "{%r10,%r11,%r12,%r13}", \
		"mov.u32 %r10, %r7; mov.u32 %r11, %r7; mov.u32 %r12, %r7; mov.u32 %r13, %r7;", \
		"xor.b32 %r14, %r10, %r11; xor.b32 %r15, %r12, %r13; xor.b32 %r16, %r10, %r13; " \
		"or.b32 %r14, %r14, %r15; or.b32 %r14, %r14, %r16; setp.ne.u32 %p3, %r14, 0;") \
	TORN(name "v4u16", sem, ".v4.b16", "{%h1,%h2,%h3,%h4}", \
		"cvt.u16.u32 %h1, %r7; mov.u16 %h2, %h1; mov.u16 %h3, %h1; mov.u16 %h4, %h1;", \
		"xor.b16 %h5, %h1, %h2; xor.b16 %h6, %h3, %h4; xor.b16 %h7, %h1, %h4; or.b16 %h5, %h5, %h6; " \
		"or.b16 %h5, %h5, %h7; setp.ne.u16 %p3, %h5, 0;")

static const char text[] = HEAD
	/* message passing: a = 1 and b = 0 is forbidden */
	LITMUS2("mp_release", ST(X, "1") "st.release.gpu.global.u32 [%rd2], 1;",
		"ld.acquire.gpu.global.u32 %r20, [%rd2]; " LD("%r21", X) OUT(0, "%r20") OUT(
			4, "%r21")) LITMUS2("mp_weak", "st.global.u32 [%rd1], 1; st.release.sys.global.u32 [%rd2], 1;",
		"ld.acquire.sys.global.u32 %r20, [%rd2]; mov.u32 %r21, 1; setp.eq.u32 %p7, %r20, 1; "
		"@%p7 ld.global.u32 %r21, [%rd1]; " OUT(0, "%r20") OUT(4, "%r21")) LITMUS2("mp_fence",
		ST(X, "1") "fence.acq_rel.gpu; " ST(Y, "1"),
		LD("%r20", Y) "fence.acq_rel.gpu; " LD("%r21", X) OUT(0, "%r20") OUT(4, "%r21")) LITMUS2("mp_volatile",
		"st.volatile.global.u32 [%rd1], 1; membar.gl; st.volatile.global.u32 [%rd2], 1;",
		"ld.volatile.global.u32 %r20, [%rd2]; membar.gl; ld.volatile.global.u32 %r21, [%rd1]; " OUT(0, "%r20")
			OUT(4, "%r21")) LITMUS2("mp_atom", ST(X, "1") "red.release.gpu.global.or.b32 [%rd2], 1;",
		"atom.acquire.gpu.global.add.u32 %r20, [%rd2], 0; " LD("%r21", X) OUT(0, "%r20") OUT(4, "%r21"))
	/* store buffering: with fences, a = 0 and b = 0 is forbidden */
	LITMUS2("sb_none", ST(X, "1") LD("%r20", Y) OUT(0, "%r20"), ST(Y, "1") LD("%r22", X) OUT(4, "%r22")) LITMUS2(
		"sb_fence", ST(X, "1") "fence.sc.gpu; " LD("%r20", Y) OUT(0, "%r20"),
		ST(Y, "1") "fence.sc.gpu; " LD("%r22", X) OUT(4, "%r22")) LITMUS2("sb_membar",
		"st.volatile.global.u32 [%rd1], 1; membar.sys; ld.volatile.global.u32 %r20, [%rd2]; " OUT(0, "%r20"),
		"st.volatile.global.u32 [%rd2], 1; membar.gl; ld.volatile.global.u32 %r22, [%rd1]; " OUT(4, "%r22"))
	/* load buffering: a = 1 and b = 1 is forbidden */
	LITMUS2("lb", "ld.acquire.gpu.global.u32 %r20, [%rd1]; st.release.gpu.global.u32 [%rd2], 1; " OUT(0, "%r20"),
		"ld.acquire.gpu.global.u32 %r22, [%rd2]; st.release.gpu.global.u32 [%rd1], 1; " OUT(4, "%r22"))
		LITMUS2("lb_data", LD("%r20", X) ST(Y, "%r20") OUT(0, "%r20"),
			LD("%r22", Y) ST(X, "%r22") OUT(4, "%r22"))
	/* coherence: reads of one location never go backwards */
	LITMUS2("corr", ST(X, "1") ST(X, "2"), LD("%r20", X) LD("%r21", X) OUT(0, "%r20") OUT(4, "%r21"))
	/* two writes each: the last value of both locations may not be the first write */
	LITMUS2("ww", ST(X, "1") "fence.sc.gpu; " ST(Y, "2"), ST(Y, "1") "fence.sc.gpu; " ST(X, "2"))
	/* independent reads of independent writes: the readers agree on the order */
	LITMUS("iriw", "4", ST(X, "1"), ST(Y, "1"),
		LD("%r20", X) "fence.sc.gpu; " LD("%r21", Y) OUT(0, "%r20") OUT(4, "%r21"),
		LD("%r22", Y) "fence.sc.gpu; " LD("%r23", X) OUT(8, "%r22") OUT(12, "%r23"))

		TORN_FORMS("relaxed_", ".relaxed.gpu") TORN_FORMS("volatile_", ".volatile") TORN_FORMS("weak_", "")
			TORN("relaxed_b128", ".relaxed.gpu", ".b128", "%q0",
				"cvt.u64.u32 %rd10, %r7; mov.b128 %q0, {%rd10, %rd10};",
				"mov.b128 {%rd10, %rd11}, %q0; setp.ne.u64 %p3, %rd10, %rd11;")

	/* atom.cas.b128: all threads add 1 to both halves */
	".visible .entry cas128(.param .u64 px)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .b128 %q<4>;\n"
	"ld.param.u64 %rd1, [px]; mov.u32 %r1, 0; ld.relaxed.gpu.global.b128 %q0, [%rd1];\n"
	"AGAIN: mov.b128 {%rd2, %rd3}, %q0; add.u64 %rd4, %rd2, 1; add.u64 %rd5, %rd3, 1; mov.b128 %q1, {%rd4, %rd5};\n"
	"atom.relaxed.gpu.global.cas.b128 %q2, [%rd1], %q0, %q1; mov.b128 {%rd4, %rd5}, %q2; mov.b128 %q0, %q2;\n"
	"setp.ne.u64 %p1, %rd2, %rd4; setp.ne.or.u64 %p2, %rd3, %rd5, %p1; @%p2 bra AGAIN; ret; }\n"
	/* atom.exch.b128: what a thread gets is what one thread put */
	".visible .entry exch128(.param .u64 px, .param .u64 pr)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .b128 %q<4>;\n"
	"ld.param.u64 %rd1, [px]; ld.param.u64 %rd6, [pr]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
	"mad.lo.u32 %r1, %r2, 1000, %r1; mov.u32 %r3, 0;\n"
	"AGAIN: add.u32 %r1, %r1, 1; cvt.u64.u32 %rd2, %r1; mov.b128 %q1, {%rd2, %rd2};\n"
	"atom.relaxed.gpu.global.exch.b128 %q2, [%rd1], %q1; mov.b128 {%rd4, %rd5}, %q2;\n"
	"setp.ne.u64 %p1, %rd4, %rd5; @%p1 st.global.u32 [%rd6], 1;\n"
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 200; @%p2 bra AGAIN; ret; }\n"

	/*
	 * Decoupled look-back, as CUB writes it: each block publishes {1, its sum}, adds up the descriptors before it until
	 * it finds a {2, prefix}, and publishes its own prefix.
	 */
	".visible .entry lookback16(.param .u64 pd, .param .u64 pr)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"
	"ld.param.u64 %rd1, [pd]; ld.param.u64 %rd2, [pr]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
	"DONE;\n"
	"mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 16; add.u64 %rd3, %rd3, %rd1; cvt.u64.u32 %rd4, %r2;\n"
	"add.u64 %rd4, %rd4, 1; st.relaxed.gpu.global.v2.u64 [%rd3], {1, %rd4}; mov.u64 %rd5, %rd3;\n"
	"BACK: setp.eq.u64 %p2, %rd5, %rd1; @%p2 bra FOUND; sub.u64 %rd5, %rd5, 16;\n"
	"WAIT: ld.relaxed.gpu.global.v2.u64 {%rd6, %rd7}, [%rd5]; setp.eq.u64 %p3, %rd6, 0; @%p3 bra WAIT;\n"
	"add.u64 %rd4, %rd4, %rd7; setp.eq.u64 %p3, %rd6, 1; @%p3 bra BACK;\n"
	"FOUND: st.relaxed.gpu.global.v2.u64 [%rd3], {2, %rd4};\n"
	"mul.wide.u32 %rd6, %r2, 8; add.u64 %rd6, %rd6, %rd2; st.global.u64 [%rd6], %rd4;\n"
	"DONE: ret; }\n"
	".visible .entry lookback8(.param .u64 pd, .param .u64 pr)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<16>;\n"
	"ld.param.u64 %rd1, [pd]; ld.param.u64 %rd2, [pr]; mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra "
	"DONE;\n"
	"mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 8; add.u64 %rd3, %rd3, %rd1; add.u32 %r4, %r2, 1;\n"
	"st.relaxed.gpu.global.v2.u32 [%rd3], {1, %r4}; mov.u64 %rd5, %rd3;\n"
	"BACK: setp.eq.u64 %p2, %rd5, %rd1; @%p2 bra FOUND; sub.u64 %rd5, %rd5, 8;\n"
	"WAIT: ld.relaxed.gpu.global.v2.u32 {%r6, %r7}, [%rd5]; setp.eq.u32 %p3, %r6, 0; @%p3 bra WAIT;\n"
	"add.u32 %r4, %r4, %r7; setp.eq.u32 %p3, %r6, 1; @%p3 bra BACK;\n"
	"FOUND: st.relaxed.gpu.global.v2.u32 [%rd3], {2, %r4}; cvt.u64.u32 %rd4, %r4;\n"
	"mul.wide.u32 %rd6, %r2, 8; add.u64 %rd6, %rd6, %rd2; st.global.u64 [%rd6], %rd4;\n"
	"DONE: ret; }\n";

/* Memory of all tests, cleared before each. */
static struct memory {
	uint8_t *x, *y;
	uint32_t (*outcome)[OUTCOMES];
	uint32_t *meet, *torn;
} mem;

typedef bool forbidden_fn(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y);

static bool mp_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)x, (void)y;
	return r[0] == 1 && r[1] == 0;
}

static bool sb_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)x, (void)y;
	return r[0] == 0 && r[1] == 0;
}

static bool lb_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)x, (void)y;
	return r[0] == 1 && r[1] == 1;
}

static bool corr_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)y;
	return r[0] > r[1] || x != 2;
}

static bool ww_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)r;
	return x == 1 && y == 1;
}

static bool iriw_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)x, (void)y;
	return r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0;
}

static bool none_forbidden(const uint32_t r[OUTCOMES], uint32_t x, uint32_t y)
{
	(void)r, (void)x, (void)y;
	return false;
}

static void memory_clear(void)
{
	memset(mem.x, 0, TESTS * STRIDE);
	memset(mem.y, 0, TESTS * STRIDE);
	memset(mem.outcome, 0, TESTS * sizeof(*mem.outcome));
	memset(mem.torn, 0, 128);
	*mem.meet = 0;
}

static void test_litmus(struct rig *r)
{
	static const struct {
		const char *name;
		unsigned blocks;
		forbidden_fn *forbidden;
	} tests[] = {{"mp_release", 2, mp_forbidden}, {"mp_weak", 2, mp_forbidden}, {"mp_fence", 2, mp_forbidden},
		{"mp_volatile", 2, mp_forbidden}, {"mp_atom", 2, mp_forbidden}, {"sb_none", 2, none_forbidden},
		{"sb_fence", 2, sb_forbidden}, {"sb_membar", 2, sb_forbidden}, {"lb", 2, lb_forbidden},
		{"lb_data", 2, lb_forbidden}, {"corr", 2, corr_forbidden}, {"ww", 2, ww_forbidden},
		{"iriw", 4, iriw_forbidden}};

	r->cooperative = true;
	for (size_t t = 0; t < sizeof(tests) / sizeof(*tests); t++) {
		unsigned bad = 0;

		memory_clear();
		CHECK_EQ(RUN(r, tests[t].name, DIM(tests[t].blocks, 1, 1), DIM(32, 1, 1), 0, P(mem.x), P(mem.y),
				 P(mem.outcome), P(mem.meet)),
			INTERP_OK);
		for (unsigned i = 0; i < TESTS; i++)
			bad += tests[t].forbidden(mem.outcome[i], *(uint32_t *)(mem.x + (size_t)i * STRIDE),
				*(uint32_t *)(mem.y + (size_t)i * STRIDE));
		if (bad)
			fprintf(stderr, "%s: %u forbidden outcomes of %u\n", tests[t].name, bad, TESTS);
		CHECK_EQ(bad, 0);
	}
	r->cooperative = false;
}

static void test_torn(struct rig *r, const char *name, unsigned size)
{
	unsigned steps[] = {size, 0, 48}; /* dense, one location for all lanes, scattered */

	for (unsigned i = 0; i < 3; i++) {
		unsigned bad = 0;

		memory_clear();
		CHECK_EQ(RUN(r, name, DIM(2, 1, 1), DIM(32, 1, 1), 0, P(mem.x), P(mem.torn), P(mem.meet), steps[i]),
			INTERP_OK);
		for (unsigned lane = 0; lane < 32; lane++)
			bad += mem.torn[lane];
		if (bad)
			fprintf(stderr, "%s, step %u: %u torn loads\n", name, steps[i], bad);
		CHECK_EQ(bad, 0);
	}
}

static void test_tearing(struct rig *r)
{
	static const char *const sems[] = {"relaxed", "volatile", "weak"};
	static const struct {
		const char *name;
		unsigned size;
	} forms[] = {{"v2u64", 16}, {"v2u32", 8}, {"v4u32", 16}, {"v4u16", 8}};
	char name[32];
#ifdef __SANITIZE_THREAD__
	enum { SEMS = 2 }; /* weak accesses of two blocks to one location are a data race */
#else
	enum { SEMS = 3 };
#endif

	r->cooperative = true;
	for (unsigned s = 0; s < SEMS; s++)
		for (unsigned f = 0; f < 4; f++) {
			snprintf(name, sizeof(name), "%s_%s", sems[s], forms[f].name);
			test_torn(r, name, forms[f].size);
		}
	test_torn(r, "relaxed_b128", 16);
	r->cooperative = false;
}

static void test_atomics128(struct rig *r)
{
	memory_clear();
	CHECK_EQ(RUN(r, "cas128", DIM(8, 1, 1), DIM(64, 1, 1), 0, P(mem.x)), INTERP_OK);
	CHECK_EQ(((uint64_t *)mem.x)[0], 8 * 64);
	CHECK_EQ(((uint64_t *)mem.x)[1], 8 * 64);
	memory_clear();
	CHECK_EQ(RUN(r, "exch128", DIM(4, 1, 1), DIM(32, 1, 1), 0, P(mem.x), P(mem.torn)), INTERP_OK);
	CHECK_EQ(*mem.torn, 0);
}

/* Blocks start in order and spinning blocks yield to others, so the look-back ends with any number of threads. */
static void test_lookback(struct rig *r, const char *name)
{
	enum { BLOCKS = 2000 };
	uint64_t sum = 0, bad = 0;

	memory_clear();
	CHECK_EQ(RUN(r, name, DIM(BLOCKS, 1, 1), DIM(32, 1, 1), 0, P(mem.x), P(mem.y)), INTERP_OK);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		sum += i + 1;
		bad += ((uint64_t *)mem.y)[i] != sum;
	}
	CHECK_EQ(bad, 0);
}

static void test_all(struct rig *r)
{
	test_litmus(r);
	test_tearing(r);
	test_atomics128(r);
	for (r->host.threads = 1; r->host.threads <= RIG_THREADS; r->host.threads++) {
		test_lookback(r, "lookback16");
		test_lookback(r, "lookback8");
	}
	r->host.threads = RIG_THREADS;
}

int main(int argc, char **argv)
{
	static struct rig r;
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);

	rig_open(&r, text);
	r.timeout_ms = 600000;
	mem.x = rig_alloc(&r, TESTS * STRIDE);
	mem.y = rig_alloc(&r, TESTS * STRIDE);
	mem.outcome = rig_alloc(&r, TESTS * sizeof(*mem.outcome));
	mem.meet = rig_alloc(&r, 64);
	mem.torn = rig_alloc(&r, 128);
	do
		test_all(&r);
	while (time(NULL) < end && !RESULT());
	rig_close(&r);
	return RESULT();
}
