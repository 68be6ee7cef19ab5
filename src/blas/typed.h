/*
 * typed.h - the routines that exist for each element type.  Included once by type_s.c, type_d.c, type_c.c and type_z.c,
 * which define T.
 *
 * Every routine has three parts: a struct of its arguments, a function that works on memory, and
 * the exported names, with int sizes and with 64 bits.
 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "blas/blas.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
/* cublasSaxpy for axpy, where T is float. */
#define CUBLAS(op, suffix) JOIN(JOIN(cublas, UPPER, op), suffix, )
#define GEMM               JOIN(blas_gemm_, LOWER, )

/* Both integer sizes of a routine: X(integer type, suffix of the name). */
#define BOTH(X)       X(int, _v2) X(int64_t, _v2_64)
#define BOTH_PLAIN(X) X(int, ) X(int64_t, _64) /* newer routines have no _v2 */

/* Variants for several processors, chosen at load time, which is too early for ThreadSanitizer. */
#if defined __SANITIZE_THREAD__ || !defined __x86_64__
#define FOR_EACH_CPU
#else
#define FOR_EACH_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#if COMPLEX
#define CONJ(x) ((T)conj(x))
#define ABS1(x) ((REAL)(fabs((double)creal(x)) + fabs((double)cimag(x))))
#define NORM(x) ((double)creal(x) * (double)creal(x) + (double)cimag(x) * (double)cimag(x))
#else
#define CONJ(x) (x)
#define ABS1(x) ((REAL)fabs((double)(x)))
#define NORM(x) ((double)(x) * (double)(x))
#endif

static inline T scalar_value(const struct blas_scalar *s)
{
	return *(const T *)blas_value(s);
}

/* The first element of a vector: with a negative step it is walked from its end. */
static inline int64_t first_index(int64_t n, int64_t inc)
{
	return inc < 0 ? (1 - n) * inc : 0;
}

#include "blas/level1.h"
#include "blas/level2.h"
#include "blas/level3.h"
