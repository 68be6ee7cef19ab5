/* BLAS for double. */
#define T       double
#define REAL    double
#define UPPER   D
#define LOWER   d
#define ASUM    Dasum
#define NRM2    Dnrm2
#define COMPLEX 0
#include "blas/typed.h"
