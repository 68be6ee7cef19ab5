/* Products with sums in double. */
#define R             double
#define PRODUCT       blas_product_d
#define READ_NUMBERS  blas_read_d
#define WRITE_NUMBERS blas_write_d
#define EPILOGUE      epilogue_apply
#include "blas/work/work.h"

/* The only epilogues of double that the vendor's library has are computed in float. */
static void epilogue_apply(const struct blas_product *p, double *v, double *c, int64_t row, int64_t j, int64_t n)
{
	float s[256], t[256];

	for (int64_t i = 0; i < n; i++) {
		s[i] = (float)v[i];
		t[i] = c ? (float)c[i] : 0;
	}
	blas_epilogue_column(p, s, c ? t : NULL, row, j, n);
	for (int64_t i = 0; i < n; i++)
		v[i] = s[i];
}

#include "blas/work/product/product.h"
