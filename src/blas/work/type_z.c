/* BLAS for double _Complex. */
#define T         double _Complex
#define REAL      double
#define TYPE      CUDA_C_64F
#define REAL_TYPE CUDA_R_64F
#define LOWER     z
#define PRODUCT   blas_product_d
#define COMPLEX   1
#include "blas/work/typed.h"
