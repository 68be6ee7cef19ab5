/* rotation.h - the construction of plane rotations, for arguments in host memory (api/) and in device memory (work/). */
#pragma once

#include <math.h>
#include <stdbool.h>

/* c, s, r and z with c a + s b = r, c b - s a = 0; r replaces a, z replaces b: c and s can be found again from z. */
static inline void rotation_real(double *a, double *b, double *c, double *s)
{
	double larger = fabs(*a) > fabs(*b) ? *a : *b, r = copysign(hypot(*a, *b), larger), z = 1;

	if (r == 0) {
		*c = 1;
		*a = *b = *s = 0;
		return;
	}
	*c = *a / r;
	*s = *b / r;
	if (fabs(*a) > fabs(*b))
		z = *s;
	else if (*c != 0)
		z = 1 / *c;
	*a = r;
	*b = z;
}

/* a, b and s are complex; r replaces a. */
static inline void rotation_complex(double *a, const double *b, double *c, double *s)
{
	double size_a = hypot(a[0], a[1]), size = hypot(size_a, hypot(b[0], b[1]));

	if (size_a == 0) {
		*c = 0;
		s[0] = 1;
		s[1] = 0;
		a[0] = b[0];
		a[1] = b[1];
		return;
	}
	double re = a[0] / size_a, im = a[1] / size_a; /* the direction of a */
	*c = size_a / size;
	s[0] = (re * b[0] + im * b[1]) / size;
	s[1] = (im * b[0] - re * b[1]) / size;
	a[0] = re * size;
	a[1] = im * size;
}

/* The matrix H that `param` describes, by columns.  False: it is the identity. */
static inline bool rotation_matrix(const double *param, double *h)
{
	double flag = param[0];

	if (flag == -2)
		return false;
	h[0] = flag == 0 ? 1 : param[1];
	h[1] = flag == 1 ? -1 : param[2];
	h[2] = flag == 1 ? 1 : param[3];
	h[3] = flag == 0 ? 1 : param[4];
	return true;
}

/* Multiply row `row` of H (0: x) by 2^±12 and its weight by the inverse square, until the weight is in range. */
static inline void rotation_rescale(double *d, double *x, double *h, int row)
{
	const double step = 4096, most = step * step, least = 1 / most;

	while (*d != 0 && (fabs(*d) <= least || fabs(*d) >= most)) {
		double f = fabs(*d) <= least ? 1 / step : step;

		*d /= f * f;
		if (x)
			*x *= f;
		h[row] *= f;
		h[row + 2] *= f;
	}
}

/* The modified rotation that makes the second component of (sqrt(d1) x1, sqrt(d2) y1) zero. */
static inline void rotation_modified(double *d1, double *d2, double *x1, double y1, double *param)
{
	double p2 = *d2 * y1, p1 = *d1 * *x1, q2 = p2 * y1, q1 = p1 * *x1, h[4] = {0}, flag, old1 = *d1, old2 = *d2;

	if (*d1 < 0) {
		*d1 = *d2 = *x1 = 0;
		flag = -1;
	} else if (p2 == 0) {
		param[0] = -2;
		return;
	} else if (fabs(q1) > fabs(q2)) {
		h[0] = h[3] = 1;
		h[1] = -y1 / *x1;
		h[2] = p2 / p1;
		double u = 1 - h[2] * h[1];
		flag = 0;
		*d1 /= u;
		*d2 /= u;
		*x1 *= u;
	} else if (q2 < 0) {
		*d1 = *d2 = *x1 = 0;
		flag = -1;
	} else {
		h[0] = p1 / p2;
		h[3] = *x1 / y1;
		h[1] = -1;
		h[2] = 1;
		double u = 1 + h[0] * h[3];
		flag = 1;
		*d1 = old2 / u;
		*d2 = old1 / u;
		*x1 = y1 * u;
	}
	double before[4] = {h[0], h[1], h[2], h[3]};
	rotation_rescale(d1, x1, h, 0);
	rotation_rescale(d2, NULL, h, 1);
	for (int i = 0; i < 4; i++)
		if (h[i] != before[i])
			flag = -1;
	/* Elements that the flag implies are left as they were. */
	param[0] = flag;
	if (flag != 0) {
		param[1] = h[0];
		param[4] = h[3];
	}
	if (flag != 1) {
		param[2] = h[1];
		param[3] = h[2];
	}
}
