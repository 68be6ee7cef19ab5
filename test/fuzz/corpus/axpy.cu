/* The source of the binary files in image/: one of each kind of object that an image contains. See image.sh. */
__device__ int g = 7;
__constant__ float c[3];
__managed__ int m;

struct pair {
	char a;
	double d;
};

extern "C" __global__ void __launch_bounds__(64) axpy(int n, pair s, float *y)
{
	__shared__ float t[64];

	t[threadIdx.x] = c[0];
	__syncthreads();
	if (n)
		y[n] = t[63 - n] + g + m + s.d;
}

/* Distinguishes code for sm_90a from code for sm_90. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void special() {}
#else
extern "C" __global__ void general() {}
#endif
