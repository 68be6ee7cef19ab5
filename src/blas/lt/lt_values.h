/* lt_values.h - the bits of cublasLtEpilogue_t, the vendor's values. */
#pragma once

enum {
	LT_DEFAULT = 1,
	LT_RELU = 2,
	LT_BIAS = 4,
	LT_DRELU = 8,
	LT_BGRAD = 16, /* the sums of the rows of D go to the bias pointer */
	LT_GELU = 32,
	LT_DGELU = 64,
	LT_AUX = 128,
	LT_BGRADA = 256, /* the sums of the rows of op(A) go to the bias pointer */
	LT_BGRADB = 512  /* the sums of the columns of op(B) */
};
