/* Clusters: the barrier, the special registers, and access to other blocks' shared memory by every kind of address. */
#include "test/check.h"
#include "rig.h"

#include <string.h>

static const char text[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".shared .align 8 .b8 buf[1024];\n"

	/* each thread reads the value of its counterpart in the next block: by a generic address, by a shared::cluster
	 * address, and by a shared::cluster address converted to generic and back */
	".visible .entry next(.param .u64 out)\n"
	"{ .reg .pred %p<8>; .reg .b32 %r<24>; .reg .b64 %d<12>;\n"
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;\n"
	"mad.lo.u32 %r3, %r1, %r2, %r0; mov.u32 %r4, buf; mad.lo.u32 %r5, %r0, 4, %r4; st.shared.u32 [%r5], %r3;\n"
	"barrier.cluster.arrive; barrier.cluster.wait;\n"
	"mov.u32 %r6, %cluster_ctarank; mov.u32 %r7, %cluster_nctarank; add.u32 %r8, %r6, 1; rem.u32 %r8, %r8, %r7;\n"
	"cvt.u64.u32 %d1, %r5; cvta.shared.u64 %d1, %d1; mapa.u64 %d2, %d1, %r8; ld.u32 %r9, [%d2];\n"
	"mapa.shared::cluster.u32 %r10, %r5, %r8; ld.shared::cluster.u32 %r11, [%r10];\n"
	"cvta.to.shared::cluster.u64 %d3, %d2; cvta.shared::cluster.u64 %d4, %d3; ld.u32 %r12, [%d4];\n"
	"getctarank.u64 %r13, %d2; getctarank.shared::cluster.u32 %r14, %r10; getctarank.u64 %r15, %d1;\n"
	"isspacep.shared::cluster %p0, %d2; isspacep.shared::cta %p1, %d2; isspacep.global %p2, %d2;\n"
	"selp.u32 %r16, 1, 0, %p0; selp.u32 %r17, 10, 0, %p1; selp.u32 %r18, 100, 0, %p2; add.u32 %r16, %r16, %r17;\n"
	"add.u32 %r16, %r16, %r18;\n"
	"mad.wide.u32 %d5, %r3, 32, %d0; st.global.v4.u32 [%d5], {%r9, %r11, %r12, %r13};\n"
	"st.global.v4.u32 [%d5+16], {%r14, %r15, %r16, 7};\n"
	"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned; ret; }\n"

	/* the special registers of a cluster */
	".visible .entry where(.param .u64 out)\n"
	"{ .reg .pred %p; .reg .b32 %r<20>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x;\n"
	"mad.lo.u32 %r0, %r1, %r2, %r0; mad.wide.u32 %d0, %r0, 32, %d0;\n"
	"mov.u32 %r1, %clusterid.x; mov.u32 %r2, %clusterid.y; mov.u32 %r3, %nclusterid.x; mov.u32 %r4, "
	"%cluster_ctaid.x;\n"
	"mov.u32 %r5, %cluster_ctaid.y; mov.u32 %r6, %cluster_nctaid.x; mov.u32 %r7, %cluster_ctarank;\n"
	"mov.pred %p, %is_explicit_cluster; selp.u32 %r8, 1, 0, %p;\n"
	"st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%d0+16], {%r5, %r6, %r7, %r8}; ret; }\n"

	/* all threads count in block 0's memory; odd blocks exit, and the barrier does not wait for them */
	".visible .entry count(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %cluster_ctarank; and.b32 %r1, %r0, 1; setp.ne.u32 %p0, %r1, 0;\n"
	"mov.u32 %r4, buf; mapa.shared::cluster.u32 %r2, %r4, 0; red.shared::cluster.add.u32 [%r2], 1;\n"
	"@%p0 exit;\n"
	"barrier.cluster.arrive.relaxed; bar.sync 0; barrier.cluster.wait;\n"
	"setp.ne.u32 %p1, %r0, 0; @%p1 ret; ld.shared.u32 %r3, [buf]; mov.u32 %r5, %clusterid.x;\n"
	"mad.wide.u32 %d0, %r5, 4, %d0; st.global.u32 [%d0], %r3; ret; }\n"

	/* the halves of a warp arrive separately, ten times */
	".visible .entry halves(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %d<4>;\n"
	"ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r9, 0; mov.u32 %r4, buf;\n"
	"AGAIN: mapa.shared::cluster.u32 %r2, %r4, 1; red.shared::cluster.add.u32 [%r2], 1;\n"
	"and.b32 %r1, %r0, 16; setp.ne.u32 %p0, %r1, 0; @%p0 bra HIGH;\n"
	"barrier.cluster.arrive; barrier.cluster.wait; bra BOTH;\n"
	"HIGH: barrier.cluster.arrive; barrier.cluster.wait;\n"
	"BOTH: ld.shared::cluster.u32 %r3, [%r2]; barrier.cluster.arrive; barrier.cluster.wait;\n"
	"add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 10; @%p1 bra AGAIN;\n"
	"mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x; mad.lo.u32 %r5, %r5, %r6, %r0; mad.wide.u32 %d0, %r5, 4, %d0;\n"
	"st.global.u32 [%d0], %r3; ret; }\n"

	/* a rank that does not exist */
	".visible .entry beyond(.param .u64 out)\n"
	"{ .reg .b32 %r<4>; mov.u32 %r0, buf; mapa.shared::cluster.u32 %r1, %r0, 2; ret; }\n"

	/* an invalid address */
	".visible .entry wild(.param .u64 out)\n"
	"{ .reg .b32 %r<4>; mov.u32 %r0, 0x7f000000; st.shared::cluster.u32 [%r0], 1; ret; }\n"

	/* a deadlock: one block waits at the cluster's barrier, the other at a barrier of its own */
	".visible .entry stuck(.param .u64 out)\n"
	"{ .reg .pred %p; .reg .b32 %r<4>; mov.u32 %r0, %tid.x; setp.lt.u32 %p, %r0, 32; @%p bra ONE;\n"
	"barrier.cluster.arrive; barrier.cluster.wait; ret; ONE: bar.sync 1; ret; }\n";

static void test_next(struct rig *r, unsigned blocks, unsigned cluster, unsigned threads)
{
	uint32_t *out = rig_alloc(r, blocks * threads * 32);

	memcpy(r->cluster, DIM(cluster, 1, 1), sizeof r->cluster);
	CHECK_EQ(RUN(r, "next", DIM(blocks, 1, 1), DIM(threads, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned b = 0; b < blocks; b++)
		for (unsigned t = 0; t < threads; t++) {
			unsigned rank = b % cluster, next = (rank + 1) % cluster, other = b - rank + next;
			uint32_t *o = out + (b * threads + t) * 8, want = other * threads + t;

			CHECK(o[0] == want && o[1] == want && o[2] == want);
			CHECK(o[3] == next && o[4] == next && o[5] == rank);
			CHECK_EQ(o[6], cluster == 1 ? 11u : 1u);
		}
}

/* 6 by 4 blocks in clusters of 3 by 2. */
static void test_where(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 24 * 32);

	memcpy(r->cluster, DIM(3, 2, 1), sizeof r->cluster);
	CHECK_EQ(RUN(r, "where", DIM(6, 4, 1), DIM(1, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned y = 0; y < 4; y++)
		for (unsigned x = 0; x < 6; x++) {
			const uint32_t want[] = {x / 3, y / 2, 2, x % 3, y % 2, 3, y % 2 * 3 + x % 3, 1};

			CHECK(!memcmp(out + (y * 6 + x) * 8, want, sizeof want));
		}
}

static void test_barrier(struct rig *r)
{
	uint32_t *out = rig_alloc(r, 4096);

	memcpy(r->cluster, DIM(4, 1, 1), sizeof r->cluster);
	CHECK_EQ(RUN(r, "count", DIM(16, 1, 1), DIM(40, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 4; i++)
		CHECK(out[i] >= 80 && out[i] <= 160); /* threads of even blocks, and perhaps those of odd ones */
	memcpy(r->cluster, DIM(2, 1, 1), sizeof r->cluster);
	CHECK_EQ(RUN(r, "halves", DIM(4, 1, 1), DIM(64, 1, 1), 0, P(out)), INTERP_OK);
	for (unsigned i = 0; i < 256; i++)
		CHECK_EQ(out[i], 1280u);
}

static void test_wrong(struct rig *r)
{
	memcpy(r->cluster, DIM(2, 1, 1), sizeof r->cluster);
	CHECK_EQ(RUN(r, "beyond", DIM(2, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_ILLEGAL_ADDRESS);
	CHECK_EQ(RUN(r, "wild", DIM(2, 1, 1), DIM(1, 1, 1), 0, 0), INTERP_ILLEGAL_ADDRESS);
	r->timeout_ms = 200;
	CHECK_EQ(RUN(r, "stuck", DIM(2, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_TIMEOUT);
	memset(r->cluster, 0, sizeof r->cluster);
	CHECK_EQ(RUN(r, "stuck", DIM(2, 1, 1), DIM(64, 1, 1), 0, 0), INTERP_TIMEOUT);
}

int main(void)
{
	static struct rig r;

	rig_open(&r, text);
	test_next(&r, 8, 2, 33);
	test_next(&r, 32, 8, 64);
	test_next(&r, 3, 1, 32);
	test_where(&r);
	test_barrier(&r);
	test_wrong(&r);
	rig_close(&r);
	return RESULT();
}
