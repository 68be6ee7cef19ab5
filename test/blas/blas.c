/*
 * Gangway's cuBLAS for the CPU device: every routine of every type against simple loops, scalars in host and device
 * memory, order on streams and in graphs, mixed types, and invalid arguments.
 */
#include <pthread.h>

#include "test/blas/blas.h"

#define T         float
#define REAL      float
#define LETTER    S
#define DOT       dot
#define GER       ger
#define NRM2      Snrm2
#define ASUM      Sasum
#define AMAX      Isamax
#define COMPLEX   0
#define TOLERANCE 1e-5
#include "test/blas/typed.h"
#undef T
#undef REAL
#undef LETTER
#undef NRM2
#undef ASUM
#undef AMAX
#undef TOLERANCE

#define T         double
#define REAL      double
#define LETTER    D
#define NRM2      Dnrm2
#define ASUM      Dasum
#define AMAX      Idamax
#define TOLERANCE 1e-12
#include "test/blas/typed.h"
#undef T
#undef REAL
#undef LETTER
#undef DOT
#undef GER
#undef NRM2
#undef ASUM
#undef AMAX
#undef COMPLEX
#undef TOLERANCE

#define T         float complex
#define REAL      float
#define LETTER    C
#define DOT       dotu
#define GER       geru
#define NRM2      Scnrm2
#define ASUM      Scasum
#define AMAX      Icamax
#define COMPLEX   1
#define TOLERANCE 2e-5
#include "test/blas/typed.h"
#undef T
#undef REAL
#undef LETTER
#undef NRM2
#undef ASUM
#undef AMAX
#undef TOLERANCE

#define T         double complex
#define REAL      double
#define LETTER    Z
#define NRM2      Dznrm2
#define ASUM      Dzasum
#define AMAX      Izamax
#define TOLERANCE 1e-12
#include "test/blas/typed.h"

/* ---- tests that do not depend on the element type --------------------------------------------------- */

/* alpha and the result in device memory: read when the work runs. */
static void test_device_pointers(handle h)
{
	float *x = device_alloc(8 * sizeof *x), *p = device_alloc(2 * sizeof *p);

	for (int i = 0; i < 8; i++)
		x[i] = 1;
	p[0] = 3;
	CHECK_EQ(cublasSetPointerMode_v2(h, 1), 0);
	CHECK_EQ(cublasSscal_v2(h, 8, p, x, 1), 0);
	CHECK_EQ(cublasSdot_v2(h, 8, x, 1, x, 1, p + 1), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(p[1], 72);
	CHECK_EQ(cublasSetPointerMode_v2(h, 0), 0);
}

static void wait_for_flag(void *flag)
{
	while (!__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* Work runs after earlier work of the stream, and a graph runs captured work repeatedly. */
static void test_order(handle h)
{
	float *x = device_alloc(sizeof *x), two = 2;
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;
	int go = 0;

	*x = 1;
	CHECK_EQ(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), 0);
	CHECK_EQ(cublasSetStream_v2(h, s), 0);
	CHECK_EQ(cuLaunchHostFunc(s, wait_for_flag, &go), 0);
	CHECK_EQ(cublasSscal_v2(h, 1, &two, x, 1), 0);
	two = 5; /* the call has copied alpha */
	CHECK_EQ(*x, 1);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	CHECK_EQ(cuStreamSynchronize(s), 0);
	CHECK_EQ(*x, 2);
	CHECK_EQ(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(cublasSscal_v2(h, 1, &two, x, 1), 0);
	CHECK_EQ(cuStreamEndCapture(s, &graph), 0);
	CHECK_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(cuGraphLaunch(exec, s), 0);
	CHECK_EQ(cuStreamSynchronize(s), 0);
	CHECK_EQ(*x, 250);
	CHECK_EQ(cublasSetStream_v2(h, NULL), 0);
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	cuStreamDestroy_v2(s);
}

enum {
	R_32F = 0,
	R_64F = 1,
	R_16F = 2,
	R_8I = 3,
	R_32I = 10,
	R_16BF = 14,
	BY_16F = 64,
	BY_32F = 68,
	BY_64F = 70,
	BY_32I = 72
};

static void put_element(void *p, int type, int i, int v)
{
	float f = (float)v;
	uint32_t u;

	memcpy(&u, &f, 4);
	switch (type) {
	case R_32F:
		((float *)p)[i] = f;
		break;
	case R_64F:
		((double *)p)[i] = v;
		break;
	case R_16F:
		((_Float16 *)p)[i] = (_Float16)f;
		break;
	case R_16BF:
		((uint16_t *)p)[i] = (uint16_t)(u >> 16);
		break;
	case R_8I:
		((int8_t *)p)[i] = (int8_t)v;
		break;
	default:
		((int32_t *)p)[i] = v;
	}
}

static int get_element(const void *p, int type, int i)
{
	uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
	float f;

	memcpy(&f, &u, 4);
	return type == R_32F   ? (int)((const float *)p)[i]
	       : type == R_64F ? (int)((const double *)p)[i]
	       : type == R_16F ? (int)(float)((const _Float16 *)p)[i]
	       : type == R_32I ? ((const int32_t *)p)[i]
			       : (int)f;
}

static void test_mixed(handle h)
{
	static const struct {
		int in, out, compute, scalar;
	} kinds[] = {{R_16F, R_16F, BY_16F, R_16F}, {R_16F, R_32F, BY_32F, R_32F}, {R_16BF, R_16BF, BY_32F, R_32F},
		{R_32F, R_32F, 77, R_32F}, {R_8I, R_32I, BY_32I, R_32I}, {R_64F, R_64F, BY_64F, R_64F},
		{R_8I, R_32F, BY_32F, R_32F}};
	enum { N = 5 };
	char *a = device_alloc(N * N * 8), *b = device_alloc(N * N * 8), *c = device_alloc(N * N * 8), alpha[8],
	     beta[8];

	for (unsigned n = 0; n < sizeof kinds / sizeof *kinds; n++) {
		for (int i = 0; i < N * N; i++) {
			put_element(a, kinds[n].in, i, i % 5 - 2);
			put_element(b, kinds[n].in, i, i % 3 - 1);
			put_element(c, kinds[n].out, i, i % 4);
		}
		put_element(alpha, kinds[n].scalar, 0, 2);
		put_element(beta, kinds[n].scalar, 0, 3);
		CHECK_EQ(cublasGemmEx(h, OP_T, OP_N, N, N, N, alpha, a, kinds[n].in, N, b, kinds[n].in, N, beta, c,
				 kinds[n].out, N, kinds[n].compute, -1),
			0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		for (int i = 0; i < N * N; i++) {
			int sum = 0;

			for (int k = 0; k < N; k++)
				sum += ((i % N * N + k) % 5 - 2) * ((i / N * N + k) % 3 - 1);
			CHECK_EQ(get_element(c, kinds[n].out, i), 2 * sum + 3 * (i % 4));
		}
	}
	CHECK_EQ(cublasGemmEx(h, OP_N, OP_N, N, N, N, alpha, a, R_8I, N, b, R_16F, N, beta, c, R_32F, N, BY_32F, -1),
		15);
	CHECK_EQ(cublasGemmEx(h, OP_N, OP_N, N, N, N, alpha, a, 33, N, b, 33, N, beta, c, R_32F, N, BY_32F, -1), 15);
}

static void test_copies(void)
{
	int from[6] = {1, 2, 3, 4, 5, 6}, to[8] = {0}, *dev = device_alloc(64);

	CHECK_EQ(cublasSetVector(3, sizeof(int), from, 2, dev, 1), 0);
	CHECK_EQ(dev[0] * 100 + dev[1] * 10 + dev[2], 135);
	memcpy(dev, from, sizeof from);
	CHECK_EQ(cublasGetMatrix(2, 2, sizeof(int), dev, 3, to, 4), 0);
	CHECK_EQ(to[0] * 1000 + to[1] * 100 + to[4] * 10 + to[5], 1245);
	CHECK_EQ(to[2] + to[3] + to[6], 0);
	CHECK_EQ(cublasGetMatrix(2, 2, sizeof(int), dev, 1, to, 4), 7);
}

/* Null pointers are refused before anything is queued; calls of size 0 accept them. */
static void test_null_pointers(handle h)
{
	float one = 1, *x = device_alloc(64);

	CHECK_EQ(cublasSgemv_v2(h, OP_N, 2, 2, &one, NULL, 2, x, 1, &one, x, 1), 7);
	CHECK_EQ(cublasStrsv_v2(h, LOWER_, OP_N, UNIT, 2, x, 2, NULL, 1), 7);
	CHECK_EQ(cublasSgemm_v2(h, OP_N, OP_N, 2, 2, 2, &one, x, 2, NULL, 2, &one, x, 2), 7);
	CHECK_EQ(cublasSgemm_v2(h, OP_N, OP_N, 0, 2, 2, &one, NULL, 2, NULL, 2, &one, NULL, 1), 0);
	CHECK_EQ(cublasStrsm_v2(h, LEFT, LOWER_, OP_N, UNIT, 2, 2, &one, NULL, 2, x, 2), 7);
	CHECK_EQ(cublasSgeam(h, OP_N, OP_N, 2, 2, &one, x, 2, &one, x, 2, NULL, 2), 7);
	CHECK_EQ(cuCtxSynchronize(), 0);
}

static float *thread_data; /* matrices A, A * A, and a vector */

/* A thread that has made no CUDA call uses a handle: its work runs in the context of the handle. */
static void *use_in_thread(void *arg)
{
	handle h = *(handle *)arg, mine;
	CUcontext ctx = (CUcontext)&ctx;
	float one = 1, zero = 0, from[4] = {1, 2, 3, 4};

	CHECK_EQ(
		cublasSgemm_v2(h, OP_N, OP_N, 2, 2, 2, &one, thread_data, 2, thread_data, 2, &zero, thread_data + 4, 2),
		0);
	CHECK_EQ(cuCtxGetCurrent(&ctx), 0);
	CHECK(!ctx);
	CHECK_EQ(cublasCreate_v2(&mine), 0);
	CHECK_EQ(cublasDestroy_v2(mine), 0);
	CHECK_EQ(cublasSetVector(4, sizeof(float), from, 1, thread_data + 8, 1), 0);
	return NULL;
}

static void test_thread(handle h)
{
	pthread_t t;

	thread_data = device_alloc(64);
	for (int i = 0; i < 4; i++)
		thread_data[i] = (float)i;
	CHECK_EQ(pthread_create(&t, NULL, use_in_thread, &h), 0);
	pthread_join(t, NULL);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(thread_data[4] * 1000 + thread_data[5] * 100 + thread_data[6] * 10 + thread_data[7], 2371);
	CHECK_EQ(thread_data[11], 4);
}

int main(void)
{
	int version = 0, r;
	CUcontext ctx;
	handle h;

	r = cublasCreate_v2(&h); /* creates a context if there is none, like NVIDIA's */
	if (getenv("EXPECT_REFUSAL")) {
		CHECK_EQ(r, 8);
		return RESULT();
	}
	CHECK_EQ(r, 0);
	if (r)
		return 1;
	CHECK_EQ(cuCtxGetCurrent(&ctx), 0);
	CHECK(ctx);
	CHECK_EQ(cublasGetVersion_v2(h, &version), 0);
	CHECK(version > 130000 && version < 140000);
	CHECK(!strcmp(cublasGetStatusName(15), "CUBLAS_STATUS_NOT_SUPPORTED"));
	vectors_S(h), vectors_D(h), vectors_C(h), vectors_Z(h);
	matrix_vector_S(h), matrix_vector_D(h), matrix_vector_C(h), matrix_vector_Z(h);
	matrices_S(h), matrices_D(h), matrices_C(h), matrices_Z(h);
	for (int pivoting = 0; pivoting < 2; pivoting++)
		factors_S(h, pivoting), factors_D(h, pivoting), factors_C(h, pivoting), factors_Z(h, pivoting);
	test_device_pointers(h);
	test_order(h);
	test_mixed(h);
	test_copies();
	test_null_pointers(h);
	test_thread(h);
	CHECK_EQ(cublasInit(), 15);
	CHECK_EQ(cublasXtCreate(NULL), 15);
	CHECK_EQ(cublasDestroy_v2(h), 0);
	CHECK_EQ(cublasDestroy_v2(NULL), 1);
	return RESULT();
}
