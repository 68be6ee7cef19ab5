/* Threads that spin make progress, whether they wait for a lane of their warp, another warp or another block. */
#include "test/check.h"
#include "rig.h"

#include <string.h>
#include <unistd.h>

static const char text[] = PTX_HEAD
	".global .u32 lock; .global .u32 count;\n"

	/* while (atomicCAS(&lock, 0, 1)); count++; lock = 0: the lane with the lock waits at the end of the loop */
	".visible .entry lanes(.param .u64 out)\n"
	"{ .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
	"ld.param.u64 %rd1, [out];\n"
	"SPIN: atom.global.cas.b32 %r1, [lock], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;\n"
	"ld.volatile.global.u32 %r2, [count]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [count], %r2;\n"
	"st.volatile.global.u32 [%rd1], %r2;\n"
	"membar.gl; atom.global.exch.b32 %r1, [lock], 0; ret; }\n"

	/* the first thread waits for a value that the last one writes; the launch decides how far apart they are */
	".visible .entry wait(.param .u64 flag, .param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %nctaid.x;\n"
	"mad.lo.u32 %r1, %r2, %r3, %r1; mul.lo.u32 %r3, %r3, %r4; sub.u32 %r3, %r3, 1;\n"
	"setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;\n"
	"setp.eq.u32 %p2, %r1, %r3; @!%p2 bra DONE;\n"
	"st.release.gpu.global.u32 [%rd1], 5; bra DONE;\n"
	"WAIT: ld.acquire.gpu.global.u32 %r5, [%rd1]; setp.eq.u32 %p3, %r5, 0; @%p3 bra WAIT;\n"
	"st.global.u32 [%rd2], %r5;\n"
	"DONE: ret; }\n"

	/* each block waits for the one before it, so that the sums are in order */
	".visible .entry chain(.param .u64 flag, .param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [out];\n"
	"mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE;\n"
	"mov.u32 %r2, %ctaid.x; mad.wide.u32 %rd1, %r2, 4, %rd1; mad.wide.u32 %rd2, %r2, 4, %rd2;\n"
	"mov.u32 %r4, 0; setp.eq.u32 %p2, %r2, 0; @%p2 bra GO;\n"
	"WAIT: ld.volatile.global.u32 %r3, [%rd1 + -4]; setp.eq.u32 %p3, %r3, 0; @%p3 bra WAIT;\n"
	"ld.global.u32 %r4, [%rd2 + -4];\n"
	"GO: add.u32 %r4, %r4, %r2; st.global.u32 [%rd2], %r4; membar.gl; st.volatile.global.u32 [%rd1], 1;\n"
	"DONE: bar.sync 0; ret; }\n"

	/* grid-wide barriers as compilers write them: a counter in the workspace of %envreg1 and %envreg2 */
	".visible .entry grid(.param .u64 data, .param .u64 rounds)\n"
	"{ .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"
	"ld.param.u64 %rd1, [data]; ld.param.u32 %r9, [rounds];\n"
	"mov.u32 %r1, %envreg1; mov.u32 %r2, %envreg2; mov.b64 %rd2, {%r2, %r1};\n"
	"mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %nctaid.x;\n"
	"mad.lo.u32 %r7, %r4, %r5, %r3; mul.lo.u32 %r8, %r5, %r6;\n"
	"setp.eq.u32 %p1, %r3, 0;\n"
	"mov.u32 %r12, 0;\n"
	"ROUND: add.u32 %r10, %r7, 1; rem.u32 %r10, %r10, %r8; mad.wide.u32 %rd3, %r10, 4, %rd1;\n"
	"ld.volatile.global.u32 %r11, [%rd3];\n"
	"add.u32 %r12, %r12, %r6; bar.sync 0; @!%p1 bra MET1;\n"
	"red.release.gpu.global.add.u32 [%rd2 + 8], 1;\n"
	"SPIN1: ld.acquire.gpu.u32 %r13, [%rd2 + 8]; setp.lt.u32 %p2, %r13, %r12; @%p2 bra SPIN1;\n"
	"MET1: bar.sync 0;\n"
	"add.u32 %r11, %r11, 1; mad.wide.u32 %rd4, %r7, 4, %rd1; st.volatile.global.u32 [%rd4], %r11;\n"
	"add.u32 %r12, %r12, %r6; bar.sync 0; @!%p1 bra MET2;\n"
	"red.release.gpu.global.add.u32 [%rd2 + 8], 1;\n"
	"SPIN2: ld.acquire.gpu.u32 %r13, [%rd2 + 8]; setp.lt.u32 %p2, %r13, %r12; @%p2 bra SPIN2;\n"
	"MET2: bar.sync 0;\n"
	"sub.u32 %r9, %r9, 1; setp.ne.u32 %p3, %r9, 0; @%p3 bra ROUND;\n"
	"ret; }\n"

	".visible .entry forever(.param .u64 unused) { L: bra L; }\n"
	".visible .entry sleepy(.param .u64 unused) { L: nanosleep.u32 100; bra L; }\n";

static void test_lanes(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 64);

	CHECK_EQ(RUN(r, "lanes", DIM(3, 1, 1), DIM(70, 1, 1), 0, P(out)), INTERP_OK);
	CHECK_EQ(*out, 210);
}

static void test_wait(struct rig *r, const unsigned grid[3], const unsigned block[3])
{
	uint32_t *flag = rig_alloc(r, 64), *out = rig_alloc(r, 64);

	CHECK_EQ(RUN(r, "wait", grid, block, 0, P(flag), P(out)), INTERP_OK);
	CHECK_EQ(*out, 5);
}

static void test_chain(struct rig *r)
{
	uint32_t *flag = rig_alloc(r, 4096), *out = rig_alloc(r, 4096);

	CHECK_EQ(RUN(r, "chain", DIM(300, 1, 1), DIM(64, 1, 1), 0, P(flag), P(out)), INTERP_OK);
	CHECK_EQ(out[299], 299 * 300 / 2);
}

static void test_grid(struct rig *r)
{
	enum { BLOCKS = 20, THREADS = 48, ROUNDS = 4, ALL = BLOCKS * THREADS };
	uint32_t *data = rig_alloc(r, ALL * 4);

	for (unsigned i = 0; i < ALL; i++)
		data[i] = i;
	r->cooperative = true;
	CHECK_EQ(RUN(r, "grid", DIM(BLOCKS, 1, 1), DIM(THREADS, 1, 1), 0, P(data), ROUNDS), INTERP_OK);
	r->cooperative = false;
	for (unsigned i = 0; i < ALL; i++)
		CHECK_EQ(data[i], (i + ROUNDS) % ALL + ROUNDS);
}

static void *set_soon(void *arg)
{
	usleep(20000);
	atomic_store((atomic_bool *)arg, true);
	return NULL;
}

static void test_end(struct rig *r)
{
	atomic_bool stop = false;
	pthread_t t;

	r->timeout_ms = 30;
	CHECK_EQ(RUN(r, "forever", DIM(8, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_TIMEOUT);
	CHECK_EQ(RUN(r, "sleepy", DIM(8, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_TIMEOUT);
	r->timeout_ms = 0;
	r->stop = &stop;
	pthread_create(&t, NULL, set_soon, &stop);
	CHECK_EQ(RUN(r, "forever", DIM(1, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_STOPPED);
	pthread_join(t, NULL);
	r->stop = NULL;
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	r.timeout_ms = 600000;
	test_lanes(&r);
	test_wait(&r, DIM(1, 1, 1), DIM(32, 1, 1));
	test_wait(&r, DIM(1, 1, 1), DIM(256, 1, 1));
	test_wait(&r, DIM(50, 1, 1), DIM(32, 1, 1)); /* a later block */
	r.host.threads = 1;
	test_wait(&r, DIM(20, 1, 1), DIM(32, 1, 1));
	test_grid(&r);
	r.host.threads = RIG_THREADS;
	test_chain(&r);
	test_grid(&r);
	test_end(&r);
	rig_close(&r);
	return RESULT();
}
