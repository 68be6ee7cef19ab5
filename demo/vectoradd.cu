// The CUDA program everybody writes first, as nvcc builds it: runtime API, static cudart.
// It knows nothing of Gangway.
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

static void must(cudaError_t e, const char *what)
{
	if (e == cudaSuccess)
		return;
	printf("%s: %s\n", what, cudaGetErrorString(e));
	exit(1);
}
#define MUST(call) must(call, #call)

int main()
{
	const int n = 1 << 20;
	std::vector<float> a(n), b(n), c(n);
	float *da, *db, *dc;
	cudaDeviceProp prop;

	MUST(cudaGetDeviceProperties(&prop, 0));
	printf("device: %s, compute capability %d.%d, %.1f GiB\n", prop.name, prop.major, prop.minor,
		prop.totalGlobalMem / 1073741824.0);
	for (int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 2.0f * i;
	}
	MUST(cudaMalloc(&da, n * sizeof(float)));
	MUST(cudaMalloc(&db, n * sizeof(float)));
	MUST(cudaMalloc(&dc, n * sizeof(float)));
	MUST(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
	MUST(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	MUST(cudaGetLastError());
	MUST(cudaMemcpy(c.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost));
	MUST(cudaMemcpy(a.data(), da, n * sizeof(float), cudaMemcpyDeviceToHost));
	int wrong = 0;
	for (int i = 0; i < n; i++)
		wrong += a[i] != (float)i || (!getenv("NO_RESULTS") && c[i] != a[i] + b[i]);
	if (wrong)
		printf("%d of %d are wrong\n", wrong, n);
	else
		printf("%d %s\n", n, getenv("NO_RESULTS") ? "values copied back unchanged" : "sums are correct");
	MUST(cudaFree(da));
	MUST(cudaFree(db));
	MUST(cudaFree(dc));
	return wrong != 0;
}
