// Integer, float and double arithmetic, conversions, intrinsics with rounding.
template <class T> __device__ T mix(T a, T b)
{
	T s = a + b * a - b;
	s = a > b ? s / (b + T(3)) : s * a;
	return s < T(0) ? -s : s;
}

template <class T> __global__ void arith(T *x, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i] = mix(x[i], x[(i + 1) % n]);
}

template __global__ void arith<signed char>(signed char *, int);
template __global__ void arith<unsigned short>(unsigned short *, int);
template __global__ void arith<int>(int *, int);
template __global__ void arith<unsigned>(unsigned *, int);
template __global__ void arith<long long>(long long *, int);
template __global__ void arith<unsigned long long>(unsigned long long *, int);
template __global__ void arith<float>(float *, int);
template __global__ void arith<double>(double *, int);

__global__ void intrinsics(int *a, unsigned *b, unsigned long long *c, float *f, double *d)
{
	int i = threadIdx.x;
	a[i] = __mulhi(a[i], 12345) + __popc(b[i]) + __clz(a[i]) + __ffs(a[i]) + __brev(b[i]) + __mul24(a[i], 3);
	b[i] = __byte_perm(b[i], b[i + 1], 0x3210) ^ __funnelshift_l(b[i], b[i + 1], i) ^ __sad(a[i], a[i + 1], b[i]);
	b[i] += __vabsdiffu4(b[i], b[i + 1]) + __vadd4(b[i], 7) + __usad(b[i], 1, 2) + __uhadd(b[i], 5);
	c[i] = __umul64hi(c[i], c[i + 1]) + __popcll(c[i]) + __clzll(c[i]) + __brevll(c[i]) + __ffsll(c[i]);
	a[i + 32] = __dp4a(a[i], a[i + 1], a[i + 2]) + __dp2a_lo(a[i], a[i + 3], a[i + 2]);
	f[0] = __fadd_rz(f[i], f[i + 1]) + __fmul_ru(f[i], 2.5f) + __fmaf_rd(f[i], f[1], f[2]) + __fdividef(f[i], 3.f);
	f[1] = __frcp_rn(f[i]) + __fsqrt_rn(f[i]) + rsqrtf(f[i]) + __sinf(f[i]) + __cosf(f[i]) + __expf(f[i]) + __logf(f[i]);
	f[2] = __saturatef(f[i]) + fminf(f[i], 1.f) + fmaxf(f[i], 2.f) + fabsf(f[i]) + copysignf(f[i], f[1]) + sinf(f[3]);
	f[3] = __int2float_rd(a[i]) + __uint_as_float(b[i]) + rintf(f[i]) + floorf(f[i]) + ceilf(f[i]) + truncf(f[i]);
	d[0] = __dadd_rd(d[i], d[i + 1]) + __dmul_rz(d[i], 3.0) + __fma_ru(d[i], d[1], d[2]) + __drcp_rn(d[i]) + sqrt(d[1]);
	d[1] = __ll2double_rn(c[i]) + (double)f[i] + rint(d[i]) + pow(d[i], d[1]) + isnan(d[2]) + isinf(f[3]);
	a[i] += __float2int_rn(f[i]) + (int)d[i] + __double2int_ru(d[i]) + __float2uint_rz(f[i]) + __double2hiint(d[i]);
	c[i] += __double2ull_rn(d[i]) + __float2ll_rd(f[i]) + (unsigned char)a[i] + (short)b[i];
}

__global__ void local_arrays(float *out, int n)
{
	float buf[64];
	for (int i = 0; i < 64; i++)
		buf[i] = out[i] * n;
	for (int i = 0; i < n; i++)
		out[i] = buf[(i * 7) & 63];
}
