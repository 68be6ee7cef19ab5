/* cuBLAS for double. */
#define T         double
#define REAL      double
#define TYPE      CUDA_R_64F
#define REAL_TYPE CUDA_R_64F
#define UPPER     D
#define LOWER     d
#define ASUM      Dasum
#define NRM2      Dnrm2
#define COMPLEX   0
#include "blas/api/typed.h"
