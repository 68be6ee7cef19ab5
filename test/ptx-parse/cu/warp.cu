// Warp and block collectives, cooperative groups, inline assembly, switches, clocks.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void warp(int *a, unsigned *b, double *d)
{
	int i = threadIdx.x;
	a[i] = __shfl_sync(~0u, a[i], 3) + __shfl_up_sync(~0u, i, 1) + __shfl_down_sync(~0u, i, 2) + __shfl_xor_sync(~0u, i, 16, 8);
	d[i] = __shfl_xor_sync(~0u, d[i], 1);
	b[i] = __ballot_sync(~0u, i & 1) + __any_sync(~0u, i) + __all_sync(~0u, i) + __activemask() + __match_any_sync(~0u, i);
	int p;
	b[i] += __match_all_sync(~0u, a[i], &p) + p + __fns(b[i], 1, 2);
#if __CUDA_ARCH__ >= 800
	b[i] += __reduce_add_sync(~0u, b[i]) + __reduce_xor_sync(~0u, b[i]) + __reduce_max_sync(~0u, a[i]);
#endif
	__syncwarp();
	b[0] = __syncthreads_count(i) + __syncthreads_or(i) + __syncthreads_and(a[i]);
	__nanosleep(100);
	a[0] = clock() + (int)clock64();
}

__global__ void groups(int *a, float *f)
{
	auto grid = cg::this_grid();
	auto block = cg::this_thread_block();
	auto tile = cg::tiled_partition<16>(block);
	a[grid.thread_rank()] = cg::reduce(tile, a[block.thread_rank()], cg::plus<int>());
	f[0] = cg::inclusive_scan(tile, f[1], cg::plus<float>());
	auto active = cg::coalesced_threads();
	a[1] = active.shfl(a[2], 0) + active.size() + active.ballot(a[3]);
	grid.sync();
	a[2] = tile.match_any(a[3]);
}

__global__ void assembly(int *a, unsigned long long *u, int n)
{
	int r, q;
	unsigned lo, hi;
	asm volatile("{ .reg .pred p; .reg .b32 t<3>; mov.b32 t1, %1; LOOP: add.s32 t1, t1, -1; setp.gt.s32 p, t1, 0; @p bra LOOP; mov.b32 %0, t1; }" : "=r"(r) : "r"(n));
	asm volatile("{ .reg .pred p; LOOP: setp.eq.s32 p, %0, 7; @!p bra DONE; bra LOOP; DONE: }" ::"r"(r));
	asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(q) : "r"(r), "r"(n), "r"(a[0]));
	asm("add.cc.u32 %0, %2, %3; addc.u32 %1, %2, 0;" : "=r"(lo), "=r"(hi) : "r"(n), "r"(r));
	asm("mad.lo.cc.u32 %0, %2, %3, %3; madc.hi.u32 %1, %2, %3, 0;" : "=r"(lo), "=r"(hi) : "r"(n), "r"(r));
	asm("bfe.s32 %0, %1, 3, 5; sad.s32 %0, %0, %1, %0; slct.s32.s32 %0, %0, %1, %0; mul24.lo.s32 %0, %0, %1;" : "+r"(q) : "r"(r));
	asm("{ .reg .pred p; isspacep.global p, %1; selp.s32 %0, 1, 0, p; }" : "=r"(r) : "l"(a));
	asm("mov.u32 %0, %%smid; mov.u64 %1, %%globaltimer;" : "=r"(r), "=l"(u[1]));
	asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(u[0]));
	asm volatile("bar.sync 1, 64; barrier.arrive 2, 64; barrier.sync.aligned 3; membar.gl; fence.acq_rel.gpu;" ::: "memory");
	asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; bar.red.popc.u32 %0, 0, q; }" : "=r"(r) : "r"(n));
	a[1] = r + q + lo + hi;
}

__global__ void branches(int *a, int n)
{
	switch (n) {
	case 0: a[0] = 3; break;
	case 1: a[3] = 5; break;
	case 2: a[5] = 7; break;
	case 3: a[8] = 9; return;
	case 4: a[13] = 2; break;
	case 7: a[21] = 4; break;
	default: a[34] = 6;
	}
	for (int i = 0; i < n; i++) {
		if (a[i] == threadIdx.x)
			continue;
		while (a[i] > 3)
			a[i] /= 2;
		if (a[i] == -1)
			break;
	}
}
