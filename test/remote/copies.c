/*
 * Copies of all sizes between pageable memory and the device, by one thread and by several: the same bytes come back, in
 * order with other work of the stream.
 */
#include <pthread.h>
#include "application.h"

static const size_t sizes[] = {1, 4, 63, 64, 4095, 4097, 32767, 32768, 32769, 65535, 65536, 65537, 262143, 1 << 20,
	(2 << 20) - 1, 2 << 20, (5 << 20) + 13, (100 << 20) + 7};

static void test_round_trip(CUstream stream, size_t size, unsigned seed)
{
	unsigned char *a = malloc(size), *b = calloc(1, size);
	CUdeviceptr d = 0;

	fill_bytes(a, size, seed);
	OK(cuMemAlloc_v2(&d, size));
	OK(cuMemcpyHtoDAsync_v2(d, a, size, stream));
	memset(a, 0xee, size < 4096 ? size : 4096); /* the buffer is the application's again */
	OK(cuMemcpyDtoHAsync_v2(b, d, size, stream));
	fill_bytes(a, size, seed);
	CHECK(!memcmp(a, b, size));
	OK(cuMemFree_v2(d));
	free(a);
	free(b);
}

/* More small copies than the stream's slab and the rings hold. */
static void test_many_small(CUstream stream)
{
	enum { N = 20000, BIG = 60000 };
	unsigned *back = malloc(N * sizeof *back);
	unsigned char *big = malloc(BIG), *got = malloc(BIG);
	CUdeviceptr d = 0, e = 0;

	OK(cuMemAlloc_v2(&d, N * sizeof *back));
	OK(cuMemAlloc_v2(&e, BIG));
	for (unsigned i = 0; i < N; i++) {
		unsigned v = i * 7919u;
		OK(cuMemcpyHtoDAsync_v2(d + i * sizeof v, &v, sizeof v, stream));
		if (i % 100 == 0) {
			fill_bytes(big, BIG, i);
			OK(cuMemcpyHtoDAsync_v2(e, big, BIG, stream));
		}
	}
	OK(cuMemcpyDtoHAsync_v2(back, d, N * sizeof *back, stream));
	for (unsigned i = 0; i < N; i++)
		if (back[i] != i * 7919u) {
			CHECK(!"the bytes of a small copy differ");
			break;
		}
	OK(cuMemcpyDtoHAsync_v2(got, e, BIG, stream));
	CHECK(!memcmp(got, big, BIG));
	OK(cuMemFree_v2(d));
	OK(cuMemFree_v2(e));
	free(back);
	free(big);
	free(got);
}

static CUcontext ctx;

static void *copy_in_thread(void *arg)
{
	CUstream stream = arg, own = NULL;

	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 6; i++) {
		test_round_trip(i % 2 ? stream : own, 300000 * (i + 1) + i, i);
		test_round_trip(own, 100 * i + 1, i);
	}
	OK(cuStreamDestroy_v2(own));
	return NULL;
}

static void test_threads(void)
{
	pthread_t t[8];
	CUstream shared = NULL;

	OK(cuStreamCreate(&shared, CU_STREAM_DEFAULT));
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, copy_in_thread, shared);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	OK(cuStreamDestroy_v2(shared));
}

static void test_short_lived_streams(void)
{
	for (int i = 0; i < 300; i++) {
		CUstream s = NULL;
		OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		test_round_trip(s, 1000, i);
		OK(cuStreamDestroy_v2(s));
	}
}

static void test_invalid_arguments(void)
{
	CUdeviceptr d = 0;
	char c[16] = {0};
	CUresult r;

	OK(cuMemAlloc_v2(&d, 4096));
	OK(cuMemcpyHtoD_v2(d, NULL, 0));
	CHECK_EQ(cuMemcpyHtoD_v2(0, c, 4), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyDtoH_v2(c, d + 4090, 16), CUDA_ERROR_INVALID_VALUE);
	r = cuMemcpyHtoD_v2(d + 4090, c, 16); /* the error of a posted copy may be reported later */
	if (!r)
		r = cuCtxSynchronize();
	CHECK(r == CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSynchronize());
	OK(cuMemFree_v2(d));
}

int main(void)
{
	CUstream s = NULL;

	ctx = check_start();
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		test_round_trip(NULL, sizes[i], i);
		test_round_trip(s, sizes[i], i + 100);
	}
	test_many_small(s);
	test_many_small(NULL);
	test_threads();
	test_short_lived_streams();
	test_invalid_arguments();
	OK(cuStreamDestroy_v2(s));
	printf("copies: %s\n", failures ? "FAILED" : "passed");
	return failures != 0;
}
