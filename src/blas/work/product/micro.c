/* The innermost loops of products, for the vectors of each processor. */
#include "blas/work/product/micro.h"

#define JOIN_NAMES_(a, b) a##b
#define JOIN_NAMES(a, b)  JOIN_NAMES_(a, b)

#ifdef __x86_64__
/* 2 × 12 sums, two vectors of a: 26 of 32 registers. */
#define NAME   micro_s_64
#define R      float
#define BYTES  64
#define NR     12
#define TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#include "blas/work/product/micro_body.h"
#define NAME   micro_d_64
#define R      double
#define BYTES  64
#define NR     12
#define TARGET __attribute__((target("arch=x86-64-v4,prefer-vector-width=512")))
#include "blas/work/product/micro_body.h"

/* 2 × 6 sums, two vectors of a: 15 of 16 registers with the number of b. */
#define NAME   micro_s_32
#define R      float
#define BYTES  32
#define NR     6
#define TARGET __attribute__((target("arch=x86-64-v3")))
#include "blas/work/product/micro_body.h"
#define NAME   micro_d_32
#define R      double
#define BYTES  32
#define NR     6
#define TARGET __attribute__((target("arch=x86-64-v3")))
#include "blas/work/product/micro_body.h"
#endif

#define NAME  micro_s_16
#define R     float
#define BYTES 16
#define NR    4
#define TARGET
#include "blas/work/product/micro_body.h"
#define NAME  micro_d_16
#define R     double
#define BYTES 16
#define NR    4
#define TARGET
#include "blas/work/product/micro_body.h"

struct micro micro_choose(bool wide)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("x86-64-v4"))
		return wide ? (struct micro){micro_d_64, 16, 12} : (struct micro){micro_s_64, 32, 12};
	if (__builtin_cpu_supports("x86-64-v3"))
		return wide ? (struct micro){micro_d_32, 8, 6} : (struct micro){micro_s_32, 16, 6};
#endif
	return wide ? (struct micro){micro_d_16, 4, 4} : (struct micro){micro_s_16, 8, 4};
}
