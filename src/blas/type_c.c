/* BLAS for float _Complex. */
#define T       float _Complex
#define REAL    float
#define UPPER   C
#define LOWER   c
#define ASUM    Scasum
#define NRM2    Scnrm2
#define COMPLEX 1
#include "blas/typed.h"
