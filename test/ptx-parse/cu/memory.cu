// State spaces, initialisers, vectors, atomics, calls, printf, malloc, textures and surfaces.
#include <cstdio>
#include <cassert>

struct node { int key; const char *name; node *next; float w[3]; };
__device__ int table[3][4] = {{1, 2, 3}, {4}, {5, 6, 7, 8}};
__device__ int *inside = &table[1][2];
__constant__ double cd[4] = {1.5, -2.5, 3e100, 0};
__device__ node second = {2, "second", nullptr, {1, 2, 3}};
__device__ node first = {1, "first", &second, {4, 5, 6}};
__managed__ float managed = 3.5f;
extern __shared__ int4 dynamic[];
__device__ __noinline__ int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__device__ __noinline__ int twice(int n) { return 2 * n; }
typedef int (*op)(int);
__device__ op ops[2] = {fact, twice};
struct base { __device__ virtual int f(int) const; };
struct derived : base { int k; __device__ int f(int x) const override { return x * k; } };
__device__ int base::f(int x) const { return x; }

__global__ void spaces(node *n, int *out, float4 *v, const char *s)
{
	__shared__ float tile[32][33];
	__shared__ unsigned long long key;
	int i = threadIdx.x;
	tile[i][i & 7] = v[i].x;
	dynamic[i] = make_int4(i, 1, 2, 3);
	if (!i)
		key = 0;
	__syncthreads();
	v[i] = make_float4(tile[i & 7][i], managed, cd[i & 3], dynamic[31 - i].y);
	out[i] = ops[i & 1](i) + inside[i & 1] + first.next->key + s[i] + table[2][i & 3] + n->key;
	base *b = new derived;
	out[i] += b->f(3);
	delete b;
	if (out[i] > 7)
		printf("%d %f %s\n", out[i], v[i].y, first.name);
	assert(out[i] != 99);
	int *heap = (int *)malloc(64);
	heap[i & 15] = out[i];
	out[i + 1] = heap[3];
	free(heap);
	atomicMax(&key, (unsigned long long)i);
	if (__isShared(out) || __isGlobal(out))
		__trap();
}

__global__ void atomics(int *a, unsigned *b, float *f, double *d, unsigned long long *u)
{
	a[1] = atomicAdd(a, 1) + atomicSub(a, 2) + atomicExch(a, 3) + atomicMin(a, 4) + atomicMax(a, 5) + atomicCAS(a, 6, 7);
	b[1] = atomicInc(b, 9) + atomicDec(b, 9) + atomicAnd(b, 1) + atomicOr(b, 2) + atomicXor(b, 3) + atomicAdd_block(b, 2);
	f[1] = atomicAdd(f, 1.f) + atomicExch(f, 2.f);
	d[1] = atomicAdd(d, 1.0);
	u[1] = atomicAdd(u, 1) + atomicCAS(u, 2, 3) + atomicAdd_system(u, 1) + atomicOr(u, 3);
	atomicAdd(f + 2, 2.f);
	__threadfence(); __threadfence_block(); __threadfence_system();
	*(volatile int *)a = __ldg(a + 2) + __ldcg(a + 3) + __ldcs(a + 4);
	__stcs(a + 9, 3);
}

__global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4 *o, unsigned char *c)
{
	int i = threadIdx.x;
	o[0] = tex1D<float4>(t, i * .5f);
	o[1].x = tex2D<float>(t, i, i) + tex1Dfetch<float>(t, i) + tex3D<float>(t, i, 1, 2) + tex2DLod<float>(t, i, 2, 3.f);
	o[2] = tex2DLayered<float4>(t, i, 1, 2);
	o[3] = texCubemap<float4>(t, i, 1, 2);
	o[4] = tex2Dgather<float4>(t, i, 2, 1);
	o[5] = tex2DGrad<float4>(t, i, 2, make_float2(1, 2), make_float2(3, 4));
	o[6].x = tex1D<int>(t, 2.f) + tex2D<uchar4>(t, 1, 2).x;
	c[i] = surf2Dread<unsigned char>(s, i, 1);
	surf2Dwrite<float4>(o[1], s, i * 16, 2);
	surf1Dwrite<int>(i, s, i * 4, cudaBoundaryModeZero);
	surf3Dwrite<short>(i, s, 2, 1, 1, cudaBoundaryModeClamp);
	surf2DLayeredwrite<int2>(make_int2(1, 2), s, 2, 1, 1);
}
