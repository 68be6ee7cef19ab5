/*
 * Gangway's cuBLAS against references in double: every routine of levels 1 to 3 and the batched factorizations, in all
 * types, with all operations, odd sizes and leading dimensions, steps of both signs, and scalars in host and device
 * memory.  Device memory is reached by copies only, so the test also runs on a device in another process.
 */
#include "test/blas/numerics.h"

#include <math.h>

bool on_device; /* the pointer mode */

/* ---- numbers ---- */

double number(void)
{
	static uint32_t state = 1;

	state = state * 1664525 + 1013904223;
	return (double)(int32_t)state / (1u << 31);
}

void compare(const char *what, const cplx *got, const cplx *want, int n, double tolerance)
{
	for (int i = 0; i < n; i++)
		if (!(cabs(got[i] - want[i]) <= tolerance * (1 + cabs(want[i])))) {
			fprintf(stderr, "%s: element %d is %g%+gi, not %g%+gi\n", what, i, creal(got[i]), cimag(got[i]),
				creal(want[i]), cimag(want[i]));
			failures++;
			return;
		}
}

/* ---- references: matrices are full, in columns of LD ---- */

static cplx applied(const cplx *a, int op, int i, int j)
{
	return op == OP_N ? a[j * LD + i] : op == OP_T ? a[i * LD + j] : conj(a[i * LD + j]);
}

void reference_product(
	int ta, int tb, int m, int n, int k, cplx alpha, const cplx *a, const cplx *b, cplx beta, cplx *c)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			cplx sum = 0;

			for (int l = 0; l < k; l++)
				sum += applied(a, ta, i, l) * applied(b, tb, l, j);
			c[j * LD + i] = alpha * sum + (beta == 0 ? 0 : beta * c[j * LD + i]);
		}
}

void reference_symmetric(const cplx *a, int n, int fill, bool hermitian, cplx *full)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++) {
			bool stored = fill == UPPER_ ? i <= j : i >= j;
			cplx v = stored ? a[j * LD + i] : a[i * LD + j];

			full[j * LD + i] = hermitian && i == j ? creal(v) : hermitian && !stored ? conj(v) : v;
		}
}

void reference_triangle(const cplx *a, int n, int fill, int diag, cplx *full)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			full[j * LD + i] = i == j && diag == UNIT               ? 1
					   : (fill == UPPER_ ? i <= j : i >= j) ? a[j * LD + i]
										: 0;
}

/* Elements outside the band are 0. */
void reference_band(cplx *a, int m, int n, int below, int above)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			if (i - j > below || j - i > above)
				a[j * LD + i] = 0;
}

/* The band storage of a full matrix, in columns of LD. */
void store_band(const cplx *a, int m, int n, int below, int above, cplx *band)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			if (i - j <= below && j - i <= above)
				band[j * LD + above + i - j] = a[j * LD + i];
}

void store_packed(const cplx *a, int n, int fill, cplx *packed)
{
	for (int j = 0; j < n; j++)
		for (int i = fill == UPPER_ ? 0 : j; i < (fill == UPPER_ ? j + 1 : n); i++)
			*packed++ = a[j * LD + i];
}

/* The matrix after a call that changes one triangle: the other one is as before. */
void keep_triangle(cplx *want, const cplx *before, int n, int fill)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++)
			if (fill == UPPER_ ? i > j : i < j)
				want[j * LD + i] = before[j * LD + i];
}

#define T         float
#define REAL      float
#define LETTER    S
#define LOWER     s
#define COMPLEX   0
#define TOLERANCE 2e-4
#define NRM2      Snrm2
#define ASUM      Sasum
#include "test/blas/numerics_typed.h"
#define T         double
#define REAL      double
#define LETTER    D
#define LOWER     d
#define COMPLEX   0
#define TOLERANCE 1e-11
#define NRM2      Dnrm2
#define ASUM      Dasum
#include "test/blas/numerics_typed.h"
#define T         float complex
#define REAL      float
#define LETTER    C
#define LOWER     c
#define COMPLEX   1
#define TOLERANCE 4e-4
#define NRM2      Scnrm2
#define ASUM      Scasum
#include "test/blas/numerics_typed.h"
#define T         double complex
#define REAL      double
#define LETTER    Z
#define LOWER     z
#define COMPLEX   1
#define TOLERANCE 1e-11
#define NRM2      Dznrm2
#define ASUM      Dzasum
#include "test/blas/numerics_typed.h"

int main(void)
{
	handle h;

	CHECK_EQ(cublasCreate_v2(&h), 0);
	if (failures)
		return RESULT();
	for (int mode = 0; mode < 2; mode++) {
		on_device = mode;
		CHECK_EQ(cublasSetPointerMode_v2(h, mode), 0);
		all_S(h);
		all_D(h);
		all_C(h);
		all_Z(h);
	}
	CHECK_EQ(cublasDestroy_v2(h), 0);
	return RESULT();
}
