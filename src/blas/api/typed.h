/*
 * typed.h - the functions that exist for each element type.  Included once by type_s.c, type_d.c, type_c.c and type_z.c,
 * which define T, TYPE and their names.  Every function checks its arguments, describes the call as a job and submits it.
 */
#include <complex.h>
#include <string.h>

#include "blas/api/blas.h"
#include "blas/rotation.h"

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
/* cublasSaxpy for axpy, where T is float. */
#define CUBLAS(op, suffix) JOIN(JOIN(cublas, UPPER, op), suffix, )

/* Both integer sizes of a routine: X(integer type, suffix of the name). */
#define BOTH(X)       X(int, _v2) X(int64_t, _v2_64)
#define BOTH_PLAIN(X) X(int, ) X(int64_t, _64) /* newer routines have no _v2 */

#define BATCH(n_of, ...) ((struct blas_job){.type = TYPE, .count = n_of, __VA_ARGS__})
#define JOB(...)         BATCH(1, __VA_ARGS__)
#define OPERAND(p, ld)   blas_operand(p, ld, TYPE)
#define SCALAR(p)        blas_scalar_of(h, p, TYPE)
#define REAL_SCALAR(p)   blas_scalar_of(h, p, REAL_TYPE)

#include "blas/api/level1.h"
#include "blas/api/level2.h"
#include "blas/api/level3.h"
#include "blas/api/batched.h"
