/* BLAS for float. */
#define T         float
#define REAL      float
#define TYPE      CUDA_R_32F
#define REAL_TYPE CUDA_R_32F
#define LOWER     s
#define PRODUCT   blas_product_s
#define COMPLEX   0
#include "blas/work/typed.h"
