/*
 * typed.h - the routines that exist for each element type.  Included once by type_s.c, type_d.c, type_c.c and type_z.c,
 * which define T.  Every routine is a function of a run (work.h) that opens its operands, computes and closes them.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas/rotation.h"
#include "blas/work/work.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#if COMPLEX
#define CONJ(x)    ((T)conj(x))
#define ABS1(x)    (fabs((double)creal(x)) + fabs((double)cimag(x)))
#define NORM(x)    ((double)creal(x) * (double)creal(x) + (double)cimag(x) * (double)cimag(x))
#define WIDE       double _Complex
#define REAL_OF(x) ((T)creal(x))
#else
#define CONJ(x)    (x)
#define ABS1(x)    (fabs((double)(x)))
#define NORM(x)    ((double)(x) * (double)(x))
#define WIDE       double
#define REAL_OF(x) (x)
#endif

static T scalar_of(struct blas_run *r, const struct blas_scalar *s)
{
	return (T)blas_scalar_value(r, s);
}

static bool run_failed(const struct blas_run *r)
{
	return atomic_load(r->error);
}

#include "blas/work/level1.h"
#include "blas/work/level2.h"
#include "blas/work/level3.h"
#include "blas/work/factor.h"

blas_routine *const JOIN(blas_routines_, LOWER)[BLAS_ROUTINES] = {
	[BLAS_AXPY] = axpy,
	[BLAS_COPY] = copy,
	[BLAS_SWAP] = swap,
	[BLAS_SCAL] = scal,
	[BLAS_DOT] = dot,
	[BLAS_NRM2] = nrm2,
	[BLAS_ASUM] = asum,
	[BLAS_AMAX] = amax,
	[BLAS_AMIN] = amin,
	[BLAS_ROT] = rot,
	[BLAS_ROTG] = rotg,
#if !COMPLEX
	[BLAS_ROTM] = rotm,
	[BLAS_ROTMG] = rotmg,
#endif
	[BLAS_GEMV] = gemv,
	[BLAS_TRMV] = trmv,
	[BLAS_TRSV] = trsv,
	[BLAS_SYMV] = symv,
	[BLAS_GER] = ger,
	[BLAS_SYR] = syr,
	[BLAS_SYR2] = syr2,
	[BLAS_TPTTR] = tpttr,
	[BLAS_TRTTP] = trttp,
	[BLAS_GEMM] = blas_gemm,
	[BLAS_SYMM] = symm,
	[BLAS_SYRK] = syrk,
	[BLAS_SYR2K] = syr2k,
	[BLAS_SYRKX] = syrkx,
	[BLAS_TRMM] = trmm,
	[BLAS_TRSM] = trsm,
	[BLAS_GEAM] = geam,
	[BLAS_DGMM] = dgmm,
	[BLAS_GETRF] = getrf,
	[BLAS_GETRI] = getri,
	[BLAS_GETRS] = getrs,
	[BLAS_MATINV] = matinv,
	[BLAS_GEQRF] = geqrf,
	[BLAS_GELS] = gels,
	[BLAS_TRANSFORM] = blas_transform,
};
