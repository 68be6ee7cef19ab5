// The kernels in CUDA, as programs write them. nvcc -ptx compiles this file when the bench runs.
#include <mma.h>

typedef unsigned u32;

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void sgemm(const float *a, const float *b, float *c, int n)
{
	__shared__ float as[16][16], bs[16][16];
	int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
	float sum = 0;

	for (int t = 0; t < n; t += 16) {
		as[ty][tx] = a[y * n + t + tx];
		bs[ty][tx] = b[(t + ty) * n + x];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < 16; k++)
			sum += as[ty][k] * bs[k][tx];
		__syncthreads();
	}
	c[y * n + x] = sum;
}

__device__ float warp_sum(float v)
{
	for (int d = 16; d; d /= 2)
		v += __shfl_xor_sync(~0u, v, d);
	return v;
}

__device__ float warp_max(float v)
{
	for (int d = 16; d; d /= 2)
		v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
	return v;
}

// For blocks of 256 threads; every thread gets the result.
__device__ float block_sum(float v)
{
	__shared__ float part[8];

	v = warp_sum(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	v = 0;
	for (int i = 0; i < 8; i++)
		v += part[i];
	return v;
}

__device__ float block_max(float v)
{
	__shared__ float part[8];

	v = warp_max(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	for (int i = 0; i < 8; i++)
		v = fmaxf(v, part[i]);
	return v;
}

extern "C" __global__ void reduce(const float *a, float *parts, float *out, int n, int blocks)
{
	float sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
		sum += a[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

extern "C" __global__ void reduce_parts(const float *a, const float *parts, float *out, int n, int blocks)
{
	float sum = 0;

	for (int i = threadIdx.x; i < blocks; i += blockDim.x)
		sum += parts[i];
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		out[0] = sum;
}

__device__ u32 warp_scan(u32 v)
{
	for (int d = 1; d < 32; d *= 2) {
		u32 o = __shfl_up_sync(~0u, v, d);
		if (threadIdx.x % 32 >= d)
			v += o;
	}
	return v;
}

// The inclusive scan of v over the 256 threads of a block; *total is the sum.
__device__ u32 block_scan(u32 v, u32 *total)
{
	__shared__ u32 part[8];
	u32 before = 0, all = 0;

	v = warp_scan(v);
	__syncthreads();
	if (threadIdx.x % 32 == 31)
		part[threadIdx.x / 32] = v;
	__syncthreads();
	for (int i = 0; i < 8; i++) {
		before += i < threadIdx.x / 32 ? part[i] : 0;
		all += part[i];
	}
	*total = all;
	return v + before;
}

extern "C" __global__ void scan_blocks(const u32 *a, u32 *out, u32 *sums, int n, int blocks)
{
	int at = blockIdx.x * 1024 + threadIdx.x * 4;
	u32 v[4], total, before;

	for (int k = 0; k < 4; k++)
		v[k] = (at + k < n ? a[at + k] : 0) + (k ? v[k - 1] : 0);
	before = block_scan(v[3], &total) - v[3];
	for (int k = 0; k < 4; k++)
		if (at + k < n)
			out[at + k] = before + v[k];
	if (threadIdx.x == 0)
		sums[blockIdx.x] = total;
}

extern "C" __global__ void scan_sums(const u32 *a, u32 *out, u32 *sums, int n, int blocks)
{
	u32 carry = 0, total;

	for (int from = 0; from < blocks; from += 256) {
		int i = from + threadIdx.x;
		u32 v = i < blocks ? sums[i] : 0, s = block_scan(v, &total);

		if (i < blocks)
			sums[i] = carry + s - v;
		carry += total;
	}
}

extern "C" __global__ void scan_add(const u32 *a, u32 *out, const u32 *sums, int n, int blocks)
{
	int at = blockIdx.x * 1024 + threadIdx.x;

	for (int k = 0; k < 4; k++)
		if (at + 256 * k < n)
			out[at + 256 * k] += sums[blockIdx.x];
}

extern "C" __global__ void mandelbrot(u32 *out, int n)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, i;
	float cr = -2.0f + __fmul_rn(x, 2.5f / n), ci = -1.25f + __fmul_rn(y, 2.5f / n), r = 0, m = 0;

	for (i = 0; i < 256; i++) {
		float r2 = __fmul_rn(r, r), m2 = __fmul_rn(m, m);

		if (__fadd_rn(r2, m2) > 4)
			break;
		m = __fadd_rn(__fmul_rn(2 * r, m), ci);
		r = __fadd_rn(__fsub_rn(r2, m2), cr);
	}
	out[y * n + x] = i;
}

extern "C" __global__ void nbody(const float4 *p, float4 *out, int n)
{
	__shared__ float4 tile[256];
	int i = blockIdx.x * 256 + threadIdx.x;
	float4 me = p[i];
	float ax = 0, ay = 0, az = 0;

	for (int t = 0; t < n; t += 256) {
		tile[threadIdx.x] = p[t + threadIdx.x];
		__syncthreads();
#pragma unroll 4
		for (int j = 0; j < 256; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float d = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = tile[j].w * d * d * d;

			ax += dx * s, ay += dy * s, az += dz * s;
		}
		__syncthreads();
	}
	out[i] = make_float4(ax, ay, az, 0);
}

__device__ float normal_cdf(float d)
{
	float k = 1 / (1 + 0.2316419f * fabsf(d));
	float c = 0.3989422804f * __expf(-0.5f * d * d) *
		  (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1 - c : c;
}

extern "C" __global__ void black_scholes(const float *s0, const float *x0, const float *t0, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	float s = 5 + 25 * s0[i], x = 1 + 99 * x0[i], t = 0.25f + 9.75f * t0[i], v = 0.3f * sqrtf(t);
	float d1 = (__logf(s / x) + (0.02f + 0.045f) * t) / v, d2 = d1 - v, e = x * __expf(-0.02f * t);

	out[i] = s * normal_cdf(d1) - e * normal_cdf(d2);
	out[n + i] = e * (1 - normal_cdf(d2)) - s * (1 - normal_cdf(d1));
}

extern "C" __global__ void histogram(const u32 *a, u32 *out, int n)
{
	__shared__ u32 bins[256];
	int from = blockIdx.x * 8192, to = min(from + 8192, n);

	bins[threadIdx.x] = 0;
	__syncthreads();
	for (int i = from + threadIdx.x; i < to; i += 256)
		atomicAdd(&bins[a[i] >> 24], 1);
	__syncthreads();
	atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void bitonic(u32 *a, int n, int size, int distance)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, o = i ^ distance;

	if (o > i && (a[i] > a[o]) == ((i & size) == 0)) {
		u32 t = a[i];

		a[i] = a[o];
		a[o] = t;
	}
}

extern "C" __global__ void stencil(const float *a, float *out, int n)
{
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, i = y * n + x;

	if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
		out[i] = 0.5f * a[i] + 0.125f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
}

extern "C" __global__ void gather(const float *a, const u32 *index, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[index[i]] * 2;
}

extern "C" __global__ void collatz(u32 *out, int n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, v = i + 1, steps = 0;

	if (i >= n)
		return;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v / 2;
		steps++;
	}
	out[i] = steps;
}

extern "C" __global__ void spmv(const u32 *rows, const u32 *columns, const float *values, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (i >= n)
		return;
	for (u32 k = rows[i]; k < rows[i + 1]; k++)
		sum += values[k] * x[columns[k]];
	y[i] = sum;
}

extern "C" __global__ void half_gemm(const half *a, const half *b, float *c, int n)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, half, row_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;
	int x = blockIdx.x * 16, y = blockIdx.y * 16;

	fill_fragment(fc, 0);
	for (int k = 0; k < n; k += 16) {
		load_matrix_sync(fa, a + y * n + k, n);
		load_matrix_sync(fb, b + k * n + x, n);
		mma_sync(fc, fa, fb, fc);
	}
	store_matrix_sync(c + y * n + x, fc, n, mem_row_major);
}

// A row of 1024 elements for each block of 256 threads.
extern "C" __global__ void softmax(const float *a, float *out, int n)
{
	const float *row = a + blockIdx.x * 1024;
	float v[4], top = -3.4e38f, sum = 0;

	for (int k = 0; k < 4; k++)
		top = fmaxf(top, v[k] = row[threadIdx.x + 256 * k]);
	top = block_max(top);
	for (int k = 0; k < 4; k++)
		sum += v[k] = __expf(v[k] - top);
	sum = block_sum(sum);
	for (int k = 0; k < 4; k++)
		out[blockIdx.x * 1024 + threadIdx.x + 256 * k] = v[k] / sum;
}

extern "C" __global__ void layer_norm(const float *a, float *out, int n)
{
	const float *row = a + blockIdx.x * 1024;
	float v[4], sum = 0, square = 0, mean, scale;

	for (int k = 0; k < 4; k++)
		sum += v[k] = row[threadIdx.x + 256 * k];
	mean = block_sum(sum) / 1024;
	for (int k = 0; k < 4; k++)
		square += (v[k] - mean) * (v[k] - mean);
	scale = rsqrtf(block_sum(square) / 1024 + 1e-5f);
	for (int k = 0; k < 4; k++)
		out[blockIdx.x * 1024 + threadIdx.x + 256 * k] = (v[k] - mean) * scale;
}
