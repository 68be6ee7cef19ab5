/* cuBLAS of any release: a handle, Sgemm, and GemmEx in half precision (which goes through cuBLASLt). */
#include "test/clients/client.h"

#define N 64

static int (*cublasCreate_v2)(void **);
static int (*cublasDestroy_v2)(void *);
static int (*cublasGetVersion_v2)(void *, int *);
static int (*cublasSetStream_v2)(void *, void *);
static int (*cublasSgemm_v2)(void *, int, int, int, int, int, const float *, const void *, int, const void *, int,
	const float *, void *, int);
static int (*cublasGemmEx)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *, int,
	int, const void *, void *, int, int, int, int);
static int (*cublasSaxpy_v2)(void *, int, const float *, const void *, int, void *, int);

enum { REAL_32 = 0, REAL_16 = 2, COMPUTE_32 = 68, ALGORITHM_DEFAULT = -1 };

static const float one = 1, zero = 0, half = 0.5f;

static void find_all(void *l)
{
	FIND(l, cublasCreate_v2), FIND(l, cublasDestroy_v2), FIND(l, cublasGetVersion_v2), FIND(l, cublasSetStream_v2);
	FIND(l, cublasSgemm_v2), FIND(l, cublasGemmEx), FIND(l, cublasSaxpy_v2);
}

static void single(void *handle)
{
	static float a[N * N], b[N * N], c[N * N];
	int before = client_launches();

	for (int i = 0; i < N * N; i++)
		a[i] = i % 7, b[i] = i % 5;
	CUdeviceptr da = client_upload(a, sizeof a), db = client_upload(b, sizeof b), dc = client_upload(c, sizeof c);
	CHECK_EQ(cublasSgemm_v2(handle, 0, 0, N, N, N, &one, (void *)da, N, (void *)db, N, &zero, (void *)dc, N), 0);
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(c, dc, sizeof c), 0);
	for (int i = 0; i < N * N && expect_results(); i++) {
		float sum = 0;

		for (int k = 0; k < N; k++)
			sum += a[k * N + i % N] * b[i / N * N + k];
		CHECK(fabsf(sum - c[i]) < 0.01f);
	}
	client_step("Sgemm", before);
	before = client_launches();
	CHECK_EQ(cublasSaxpy_v2(handle, N * N, &half, (void *)da, 1, (void *)db, 1), 0);
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	client_step("Saxpy", before);
	d.cuMemFree_v2(da), d.cuMemFree_v2(db), d.cuMemFree_v2(dc);
}

static void half_precision(void *handle)
{
	enum { M = 256 };
	static uint16_t a[M * M], c[M * M];
	int before = client_launches();

	for (int i = 0; i < M * M; i++)
		a[i] = 0x3c00; /* 1.0 */
	CUdeviceptr da = client_upload(a, sizeof a), dc = client_upload(c, sizeof c);
	CHECK_EQ(cublasGemmEx(handle, 0, 0, M, M, M, &one, (void *)da, REAL_16, M, (void *)da, REAL_16, M, &zero,
			 (void *)dc, REAL_16, M, COMPUTE_32, ALGORITHM_DEFAULT),
		0);
	CHECK_EQ(d.cuCtxSynchronize(), 0);
	CHECK_EQ(d.cuMemcpyDtoH_v2(c, dc, sizeof c), 0);
	for (int i = 0; i < M * M && expect_results(); i++)
		CHECK_EQ(c[i], 0x5c00); /* 256.0 */
	client_step("GemmEx, half precision", before);
	d.cuMemFree_v2(da), d.cuMemFree_v2(dc);
}

int main(int argc, char **argv)
{
	void *handle = NULL;
	int version = 0;

	if (argc != 2)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	find_all(client_open(argv[1]));
	client_driver();
	CHECK_EQ(cublasCreate_v2(&handle), 0);
	if (failures)
		return 1;
	CHECK_EQ(cublasGetVersion_v2(handle, &version), 0);
	printf("cuBLAS %d\n", version);
	single(handle);
	half_precision(handle);
	CHECK_EQ(cublasSetStream_v2(handle, (void *)2), 0); /* the thread's own default stream */
	single(handle);
	CHECK_EQ(cublasDestroy_v2(handle), 0);
	return RESULT();
}
