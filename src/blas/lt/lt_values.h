/* lt_values.h - the bits of cublasLtEpilogue_t, the vendor's values. */
#pragma once

#include <stdbool.h>

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

enum { LT_FILL_FULL = 2 }; /* cublasFillMode_t: both triangles */

/* The combinations of these bits that exist. */
static inline bool lt_epilogue_known(int epilogue)
{
	switch (epilogue) {
	case LT_DEFAULT:
	case LT_RELU:
	case LT_RELU | LT_AUX:
	case LT_BIAS:
	case LT_RELU | LT_BIAS:
	case LT_RELU | LT_AUX | LT_BIAS:
	case LT_DRELU | LT_AUX:
	case LT_DRELU | LT_AUX | LT_BGRAD:
	case LT_GELU:
	case LT_GELU | LT_AUX:
	case LT_GELU | LT_BIAS:
	case LT_GELU | LT_AUX | LT_BIAS:
	case LT_DGELU | LT_AUX:
	case LT_DGELU | LT_AUX | LT_BGRAD:
	case LT_BGRADA:
	case LT_BGRADB:
		return true;
	default:
		return false;
	}
}
