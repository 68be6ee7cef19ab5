/* Quotients and remainders of 128-bit integers are those of the host: nvcc computes them by chains of carries. */
#include <cstdio>
#include <cuda_runtime.h>

typedef unsigned __int128 u128;
typedef __int128 s128;

enum { N = 256 };

struct results {
	u128 quotient, remainder;
	s128 signed_quotient, signed_remainder;
};

__host__ __device__ static results divide(u128 a, u128 b)
{
	return {a / b, a % b, (s128)a / (s128)b, (s128)a % (s128)b};
}

__global__ void divide_all(const u128 *a, const u128 *b, results *r)
{
	r[threadIdx.x] = divide(a[threadIdx.x], b[threadIdx.x]);
}

static unsigned long long state = 88172645463325252ull;

static unsigned long long random_word()
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* Numbers of all lengths. */
static u128 random_number()
{
	u128 v = (u128)random_word() << 64 | random_word();

	return v >> random_word() % 128;
}

int main()
{
	u128 *a, *b;
	results *r;
	int wrong = 0;

	if (cudaMallocManaged(&a, N * sizeof *a) || cudaMallocManaged(&b, N * sizeof *b) ||
		cudaMallocManaged(&r, N * sizeof *r))
		return 1;
	for (int i = 0; i < N; i++) {
		a[i] = random_number();
		b[i] = random_number() | 1;
	}
	divide_all<<<1, N>>>(a, b, r);
	if (cudaDeviceSynchronize())
		return 1;
	for (int i = 0; i < N; i++) {
		results want = divide(a[i], b[i]);

		wrong += want.quotient != r[i].quotient || want.remainder != r[i].remainder ||
			 want.signed_quotient != r[i].signed_quotient || want.signed_remainder != r[i].signed_remainder;
	}
	printf("%d of %d quotients are wrong\n", wrong, N);
	return wrong != 0;
}
