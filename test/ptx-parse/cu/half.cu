// Half precision, matrix fragments and asynchronous copies, as in machine learning kernels.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cuda/barrier>

__global__ void halves(half *h, half2 *h2, float *f, __nv_bfloat16 *b, __nv_bfloat162 *b2)
{
	int i = threadIdx.x;
	h[i] = __hfma(h[i], h[1], __hadd(h[2], h[3])) / hexp(h[4]) + __float2half_rz(f[1]) + hsqrt(h[5]);
	h2[i] = __hfma2(h2[i], h2[1], __hmul2(h2[2], h2[3])) + __floats2half2_rn(f[0], f[1]) + h2exp2(h2[4]);
	f[2] = __half2float(h[7]) + __low2float(h2[3]) + __bfloat162float(b[1]) + (h[1] > h[2]) + __hmax(h[1], h[4] > h[5] ? h[3] : h[7]).operator float();
	h[9] = __hmin(h[1], h[2]) + __int2half_rn(i) + __ushort_as_half(i);
	f[3] = __half2int_rn(h[1]) + __hisnan(h[2]) + __hbeq2(h2[0], h2[1]);
#if __CUDA_ARCH__ >= 800
	b[i] = __hfma(b[i], b[1], b[2]) + __float2bfloat16(f[1]);
	b2[i] = __hfma2(b2[i], b2[1], __floats2bfloat162_rn(f[1], f[2])) + __hmax2(b2[1], b2[2]);
#endif
	atomicAdd(h2, h2[1]);
}

using namespace nvcuda;
__global__ void fragments(half *a, half *b, float *c)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.f);
	wmma::load_matrix_sync(fa, a, 16);
	wmma::load_matrix_sync(fb, b, 16);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

#if __CUDA_ARCH__ >= 800
__global__ void asynchronous(int4 *in, int *out, float *c)
{
	__shared__ int4 s[64];
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	int i = threadIdx.x;
	if (!i)
		init(&bar, blockDim.x);
	__syncthreads();
	__pipeline_memcpy_async(&s[i], &in[i], 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	bar.arrive_and_wait();
	out[i] = s[63 - i].x;
	unsigned r[4], addr = __cvta_generic_to_shared(&s[i]);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, {%0,%1,%2,%3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));
}
#endif
