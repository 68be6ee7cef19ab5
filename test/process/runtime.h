/*
 * runtime.h - declarations of the runtime test.
 *
 * The program is built with nvcc in several ways (static, shared, per-thread default stream, device-linked)
 * and must behave the same in each.  Every part prints one line when it is done.
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

/* part.cu: a second translation unit with code and variables of its own.  All return a number of failures. */
int part_launch(int *out, int value, cudaStream_t stream);
int part_variables(void);
int part_check_launches(void);

#ifdef RDC
/* Across translation units on the device: needs the device linker. */
extern __device__ int part_counter;
__device__ int part_twice(int x);
#endif
