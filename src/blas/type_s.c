/* BLAS for float. */
#define T       float
#define REAL    float
#define UPPER   S
#define LOWER   s
#define ASUM    Sasum
#define NRM2    Snrm2
#define COMPLEX 0
#include "blas/typed.h"
