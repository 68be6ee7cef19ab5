/* Products with sums in float. */
#define R             float
#define PRODUCT       blas_product_s
#define READ_NUMBERS  blas_read_s
#define WRITE_NUMBERS blas_write_s
#define EPILOGUE      epilogue_apply
#include "blas/work/work.h"

static void epilogue_apply(const struct blas_product *p, float *v, float *c, int64_t row, int64_t j, int64_t n)
{
	blas_epilogue_column(p, v, c, row, j, n);
}

#include "blas/work/product/product.h"
