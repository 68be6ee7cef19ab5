/* cuBLAS for float. */
#define T         float
#define REAL      float
#define TYPE      CUDA_R_32F
#define REAL_TYPE CUDA_R_32F
#define UPPER     S
#define LOWER     s
#define ASUM      Sasum
#define NRM2      Snrm2
#define COMPLEX   0
#include "blas/api/typed.h"
