/*
 * runtime.h - declarations of the runtime test.
 *
 * build.sh builds the program with nvcc in several ways (static, shared, per-thread default stream, device-linked). All
 * variants must behave the same. Each part prints one line when it completes.
 */
#pragma once

#include <cuda_runtime.h>
#include "test/check.h"
#include "test/process/launches.h"

struct mixed {
	char tag;
	short half;
	double weight;
	int list[3];
};

/* part.cu, a second translation unit with its own code and variables. Each function returns the number of failures. */
int part_launch(int *out, int value, cudaStream_t stream);
int part_variables(void);
int part_check_launches(void);

#ifdef RDC
/* Device code that crosses translation units; needs the device linker. */
extern __device__ int part_counter;
__device__ int part_twice(int x);
#endif
