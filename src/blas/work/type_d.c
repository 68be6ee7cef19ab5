/* BLAS for double. */
#define T         double
#define REAL      double
#define TYPE      CUDA_R_64F
#define REAL_TYPE CUDA_R_64F
#define LOWER     d
#define PRODUCT   blas_product_d
#define COMPLEX   0
#include "blas/work/typed.h"
