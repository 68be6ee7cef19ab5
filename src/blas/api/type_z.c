/* cuBLAS for double _Complex. */
#define T         double _Complex
#define REAL      double
#define TYPE      CUDA_C_64F
#define REAL_TYPE CUDA_R_64F
#define UPPER     Z
#define LOWER     z
#define ASUM      Dzasum
#define NRM2      Dznrm2
#define COMPLEX   1
#define SCAL_REAL Zdscal
#define ROT_REAL  Zdrot
#include "blas/api/typed.h"
