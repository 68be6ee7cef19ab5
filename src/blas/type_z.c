/* BLAS for double _Complex. */
#define T       double _Complex
#define REAL    double
#define UPPER   Z
#define LOWER   z
#define ASUM    Dzasum
#define NRM2    Dznrm2
#define COMPLEX 1
#include "blas/typed.h"
