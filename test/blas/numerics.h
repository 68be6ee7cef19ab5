/* numerics.h - the references of numerics.c; see there. */
#pragma once

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "test/blas/blas.h"

enum { LD = 67, MOST = LD * LD };

typedef double complex cplx;

extern bool on_device;
double number(void);
void compare(const char *what, const cplx *got, const cplx *want, int n, double tolerance);
void reference_product(
	int ta, int tb, int m, int n, int k, cplx alpha, const cplx *a, const cplx *b, cplx beta, cplx *c);
void reference_symmetric(const cplx *a, int n, int fill, bool hermitian, cplx *full);
void reference_triangle(const cplx *a, int n, int fill, int diag, cplx *full);
void reference_band(cplx *a, int m, int n, int below, int above);
void store_band(const cplx *a, int m, int n, int below, int above, cplx *band);
void store_packed(const cplx *a, int n, int fill, cplx *packed);
void keep_triangle(cplx *want, const cplx *before, int n, int fill);
