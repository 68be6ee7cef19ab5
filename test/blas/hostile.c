/*
 * Malicious jobs for cuBLAS's kernel: jobs of every routine and type whose numbers and addresses are random, plausible or
 * extreme.  Each must end, with or without an error, and the memory around the device's allocation stays as it was.
 */
#include <stdint.h>
#include <stdlib.h>

#include "blas/job.h"
#include "test/blas/blas.h"

enum { BYTES = 1 << 16, JOBS = 1500 };

static uint32_t random_bits(void)
{
	static uint32_t state = 7;

	state ^= state << 13;
	state ^= state >> 17;
	return state ^= state << 5;
}

static int64_t random_size(void)
{
	static const int64_t extremes[] = {0, 1, -1, 2, 3, INT64_MAX, INT64_MIN, (int64_t)1 << 40, 64};

	return random_bits() % 8 ? (int64_t)(random_bits() % 20) : extremes[random_bits() % 9];
}

static uint64_t random_address(CUdeviceptr memory)
{
	switch (random_bits() % 12) {
	case 0:
		return 0;
	case 1:
		return random_bits();
	case 2:
		return memory + BYTES - random_bits() % 64;
	default:
		return memory + random_bits() % (BYTES / 64) * 64;
	}
}

static uint32_t random_type(uint32_t type)
{
	return random_bits() % 8 ? type : random_bits() % 34;
}

static struct blas_operand random_operand(CUdeviceptr memory, uint32_t type)
{
	return (struct blas_operand){.at = random_address(memory),
		.ld = random_bits() % 2 ? 20 : random_size(),
		.stride = random_size(),
		.type = random_type(type),
		.array = random_bits() % 16 == 0};
}

static struct blas_scalar random_scalar(CUdeviceptr memory, uint32_t type)
{
	struct blas_scalar s = {.at = random_bits() % 4 ? 0 : random_address(memory),
		.type = random_type(type),
		.vector = random_bits() % 16 == 0};

	for (int i = 0; i < 16; i++)
		s.value[i] = (unsigned char)random_bits();
	return s;
}

static struct blas_job random_job(CUdeviceptr memory, int i)
{
	static const uint32_t types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
	uint32_t type = types[i / BLAS_ROUTINES % 4];
	struct blas_job j = {.routine = (uint32_t)(i % BLAS_ROUTINES),
		.type = type,
		.op_a = random_bits() % 3,
		.op_b = random_bits() % 3,
		.fill = random_bits() % 2,
		.side = random_bits() % 2,
		.diag = random_bits() % 2,
		.hermitian = random_bits() % 2,
		.conjugate = random_bits() % 2,
		.storage = random_bits() % 4 ? 0 : random_bits() % 4,
		.inverse = random_bits() % 2,
		.wide = random_bits() % 2,
		.m = random_size(),
		.n = random_size(),
		.k = random_size(),
		.kl = random_size(),
		.ku = random_size(),
		.count = random_bits() % 4 ? 1 : random_bits() % 5,
		.alpha = random_scalar(memory, type),
		.beta = random_scalar(memory, type),
		.a = random_operand(memory, type),
		.b = random_operand(memory, type),
		.c = random_operand(memory, type),
		.d = random_operand(memory, type),
		.e = random_operand(memory, type)};

	if (j.routine == BLAS_GEMM && random_bits() % 2) {
		j.epilogue.kind = random_bits() % 1024;
		j.epilogue.transposed = random_bits() % 2;
		j.epilogue.bias = random_operand(memory, type);
		j.epilogue.aux = random_operand(memory, type);
		j.epilogue.scale_a = random_bits() % 2 ? random_address(memory) : 0;
		j.epilogue.amax_d = random_bits() % 2 ? random_address(memory) : 0;
		j.epilogue.scale_b_vector = random_bits() % 4 == 0;
	}
	return j;
}

static const char kernel[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			     ".visible .entry " BLAS_KERNEL "(.param .align 8 .b8 job[%zu])\n{\nret;\n}\n";

/* Runs jobs until one fails, which ends the context; returns the number of jobs, adds failures to *failed. */
static int run_until_failure(int first, int *failed)
{
	char text[512];
	CUcontext ctx;
	CUmodule module;
	CUfunction f;
	CUdeviceptr memory;
	CUdevice dev;

	CHECK_EQ(cuDeviceGet(&dev, 0), 0);
	CHECK_EQ(cuCtxCreate_v2(&ctx, 0, dev), 0);
	snprintf(text, sizeof text, kernel, sizeof(struct blas_job));
	CHECK_EQ(cuModuleLoadData(&module, text), 0);
	CHECK_EQ(cuModuleGetFunction(&f, module, BLAS_KERNEL), 0);
	CHECK_EQ(cuMemAlloc_v2(&memory, BYTES), 0);
	CHECK_EQ(cuMemsetD8_v2(memory, 1, BYTES), 0);
	int n = 0;
	for (CUresult r = 0; !r && !failures && first + n < JOBS; n++) {
		struct blas_job job = random_job(memory, first + n);
		void *params[] = {&job};

		CHECK_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), 0);
		r = cuCtxSynchronize();
		*failed += r != 0;
	}
	cuCtxDestroy_v2(ctx);
	return n;
}

int main(void)
{
	int failed = 0, n = 0;

	CHECK_EQ(cuInit(0), 0);
	while (n < JOBS && !failures)
		n += run_until_failure(n, &failed);
	printf("%d of %d jobs failed\n", failed, n);
	CHECK(failed > 0 && failed < n);
	return RESULT();
}
