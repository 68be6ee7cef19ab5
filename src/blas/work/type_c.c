/* BLAS for float _Complex. */
#define T         float _Complex
#define REAL      float
#define TYPE      CUDA_C_32F
#define REAL_TYPE CUDA_R_32F
#define LOWER     c
#define PRODUCT   blas_product_s
#define COMPLEX   1
#include "blas/work/typed.h"
