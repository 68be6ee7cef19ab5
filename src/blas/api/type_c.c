/* cuBLAS for float _Complex. */
#define T             float _Complex
#define REAL          float
#define TYPE          CUDA_C_32F
#define REAL_TYPE     CUDA_R_32F
#define UPPER         C
#define LOWER         c
#define ASUM          Scasum
#define NRM2          Scnrm2
#define COMPLEX       1
#define COMPLEX_FLOAT 1
#define SCAL_REAL     Csscal
#define ROT_REAL      Csrot
#include "blas/api/typed.h"
