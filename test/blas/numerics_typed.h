/* numerics_typed.h - the tests of one element type.  Included by numerics.c, which defines T, LETTER and so on. */
#ifndef JOIN
#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
#endif
#define BLAS(op)  JOIN(JOIN(cublas, LETTER, op), _v2, )
#define PLAIN(op) JOIN(cublas, LETTER, op)
#define NAMED(x)  JOIN(x, _, LETTER)
#if COMPLEX
#define TO_T(v) ((T)(v))
#else
#define TO_T(v) ((T)creal(v))
#endif
#define AMAX JOIN(cublasI, LOWER, amax_v2)
#define AMIN JOIN(cublasI, LOWER, amin_v2)

/* ---- prototypes ---- */

int BLAS(axpy)(handle, int, const T *, const T *, int, T *, int);
int JOIN(JOIN(cublas, LETTER, axpy), _v2_64, )(handle, int64_t, const T *, const T *, int64_t, T *, int64_t);
int BLAS(copy)(handle, int, const T *, int, T *, int);
int BLAS(swap)(handle, int, T *, int, T *, int);
int BLAS(scal)(handle, int, const T *, T *, int);
int BLAS(rot)(handle, int, T *, int, T *, int, const REAL *, const T *);
int BLAS(rotg)(handle, T *, T *, REAL *, T *);
int JOIN(cublas, NRM2, _v2)(handle, int, const T *, int, REAL *);
int JOIN(cublas, ASUM, _v2)(handle, int, const T *, int, REAL *);
int AMAX(handle, int, const T *, int, int *);
int AMIN(handle, int, const T *, int, int *);
int BLAS(gemv)(handle, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(gbmv)(handle, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(trmv)(handle, int, int, int, int, const T *, int, T *, int);
int BLAS(tbmv)(handle, int, int, int, int, int, const T *, int, T *, int);
int BLAS(tpmv)(handle, int, int, int, int, const T *, T *, int);
int BLAS(trsv)(handle, int, int, int, int, const T *, int, T *, int);
int BLAS(tbsv)(handle, int, int, int, int, int, const T *, int, T *, int);
int BLAS(tpsv)(handle, int, int, int, int, const T *, T *, int);
int BLAS(symv)(handle, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(syr)(handle, int, int, const T *, const T *, int, T *, int);
int BLAS(syr2)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int PLAIN(tpttr)(handle, int, int, const T *, T *, int);
int PLAIN(trttp)(handle, int, int, const T *, int, T *);
int BLAS(gemm)(handle, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int JOIN(JOIN(cublas, LETTER, gemm), _v2_64, )(handle, int, int, int64_t, int64_t, int64_t, const T *, const T *,
	int64_t, const T *, int64_t, const T *, T *, int64_t);
int BLAS(symm)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(syrk)(handle, int, int, int, int, const T *, const T *, int, const T *, T *, int);
int BLAS(syr2k)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int PLAIN(syrkx)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(trmm)(handle, int, int, int, int, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(trsm)(handle, int, int, int, int, int, int, const T *, const T *, int, T *, int);
int PLAIN(trsmBatched)(handle, int, int, int, int, int, int, const T *, T **, int, T **, int, int);
int PLAIN(geam)(handle, int, int, int, int, const T *, const T *, int, const T *, const T *, int, T *, int);
int PLAIN(dgmm)(handle, int, int, int, const T *, int, const T *, int, T *, int);
int PLAIN(getrfBatched)(handle, int, T **, int, int *, int *, int);
int PLAIN(getriBatched)(handle, int, T **, int, const int *, T **, int, int *, int);
int PLAIN(getrsBatched)(handle, int, int, int, T **, int, const int *, T **, int, int *, int);
int PLAIN(matinvBatched)(handle, int, T **, int, T **, int, int *, int);
int PLAIN(geqrfBatched)(handle, int, int, T **, int, T **, int *, int);
int PLAIN(gelsBatched)(handle, int, int, int, int, T **, int, T **, int, int *, int *, int);
#if COMPLEX
#define DOT  dotu
#define SYM2 hemv
int BLAS(dotu)(handle, int, const T *, int, const T *, int, T *);
int BLAS(dotc)(handle, int, const T *, int, const T *, int, T *);
int BLAS(geru)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(gerc)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(hemv)(handle, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(hbmv)(handle, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(hpmv)(handle, int, int, const T *, const T *, const T *, int, const T *, T *, int);
int BLAS(her)(handle, int, int, const REAL *, const T *, int, T *, int);
int BLAS(her2)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(hpr)(handle, int, int, const REAL *, const T *, int, T *);
int BLAS(hpr2)(handle, int, int, const T *, const T *, int, const T *, int, T *);
int BLAS(hemm)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(herk)(handle, int, int, int, int, const REAL *, const T *, int, const REAL *, T *, int);
int BLAS(her2k)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const REAL *, T *, int);
int PLAIN(herkx)(handle, int, int, int, int, const T *, const T *, int, const T *, int, const REAL *, T *, int);
int PLAIN(gemm3m)(handle, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
#define BANDED     BLAS(hbmv)
#define PACKED     BLAS(hpmv)
#define PACKED_1   BLAS(hpr)
#define PACKED_2   BLAS(hpr2)
#define RANK_ALPHA REAL
#else
#define DOT        dot
int BLAS(dot)(handle, int, const T *, int, const T *, int, T *);
int BLAS(ger)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(sbmv)(handle, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(spmv)(handle, int, int, const T *, const T *, const T *, int, const T *, T *, int);
int BLAS(spr)(handle, int, int, const T *, const T *, int, T *);
int BLAS(spr2)(handle, int, int, const T *, const T *, int, const T *, int, T *);
int BLAS(rotm)(handle, int, T *, int, T *, int, const T *);
int BLAS(rotmg)(handle, T *, T *, T *, const T *, T *);
#define BANDED     BLAS(sbmv)
#define PACKED     BLAS(spmv)
#define PACKED_1   BLAS(spr)
#define PACKED_2   BLAS(spr2)
#define RANK_ALPHA T
#endif

/* ---- device memory ---- */

/* Four matrices, and scalars behind them. */
static T *NAMED(memory)[4], *NAMED(scalars);
static cplx NAMED(a)[MOST], NAMED(b)[MOST], NAMED(c)[MOST], NAMED(want)[MOST], NAMED(full)[MOST], NAMED(other)[MOST];
#define MA   NAMED(a)
#define MB   NAMED(b)
#define MC   NAMED(c)
#define WANT NAMED(want)
#define FULL NAMED(full)
#define MORE NAMED(other)
#define DA   NAMED(memory)[0]
#define DB   NAMED(memory)[1]
#define DC   NAMED(memory)[2]
#define DD   NAMED(memory)[3]

static void NAMED(put)(T *to, const cplx *v)
{
	static T t[MOST];

	for (int i = 0; i < MOST; i++)
		t[i] = TO_T(v[i]);
	CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)to, t, sizeof t), 0);
}

/* Random numbers that T holds exactly, here and on the device. */
static void NAMED(make)(T *to, cplx *v)
{
	for (int i = 0; i < MOST; i++)
		v[i] = (cplx)TO_T(CMPLX(number(), COMPLEX ? number() : 0));
	NAMED(put)(to, v);
}

static void NAMED(expect)(const char *what, const T *from, const cplx *want, double factor)
{
	static T t[MOST];
	static cplx got[MOST];

	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(cuMemcpyDtoH_v2(t, (CUdeviceptr)from, sizeof t), 0);
	for (int i = 0; i < MOST; i++)
		got[i] = (cplx)t[i];
	compare(what, got, want, MOST, TOLERANCE * factor);
}
#define EXPECT(what, from) NAMED(expect)(what, from, WANT, 1)

/* A scalar in the memory of the pointer mode.  which: 0 or 1. */
static const T *NAMED(scalar)(cplx v, int which)
{
	static T here[2];

	here[which] = TO_T(v);
	if (!on_device)
		return &here[which];
	CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)(NAMED(scalars) + which), &here[which], sizeof(T)), 0);
	return NAMED(scalars) + which;
}
#define SCALAR NAMED(scalar)
/* The same for a real number: it lies in the real part. */
#define REAL_SCALAR(v, which) ((const REAL *)SCALAR(creal(v), which))

/* The result of a reduction. */
static double complex NAMED(result)(const void *at, bool real)
{
	T v = 0;
	REAL r = 0;

	if (real)
		CHECK_EQ(on_device ? cuMemcpyDtoH_v2(&r, (CUdeviceptr)at, sizeof r) : (memcpy(&r, at, sizeof r), 0), 0);
	else
		CHECK_EQ(on_device ? cuMemcpyDtoH_v2(&v, (CUdeviceptr)at, sizeof v) : (memcpy(&v, at, sizeof v), 0), 0);
	return real ? (cplx)r : (cplx)v;
}

/* ---- level 1 ---- */

static int NAMED(place)(int n, int step, int i)
{
	return step > 0 ? i * step : (i - n + 1) * step;
}
#define AT(step, i) NAMED(place)(n, step, i)

static void NAMED(vectors)(handle h)
{
	static const int steps[][2] = {{1, 1}, {2, 3}, {-1, 2}, {-2, -3}}, sizes[] = {0, 1, 5, 64, 1001};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));

	for (int k = 0; k < 20; k++) {
		int n = sizes[k / 4], dx = steps[k % 4][0], dy = steps[k % 4][1];

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		memcpy(WANT, MB, sizeof WANT);
		for (int i = 0; i < n; i++)
			WANT[AT(dy, i)] += alpha * MA[AT(dx, i)];
		CHECK_EQ(BLAS(axpy)(h, n, SCALAR(alpha, 0), DA, dx, DB, dy), 0);
		EXPECT("axpy", DB);
		memcpy(MB, WANT, sizeof MB);
		for (int i = 0; i < n; i++)
			WANT[AT(dy, i)] += alpha * MA[AT(dx, i)];
		CHECK_EQ(JOIN(JOIN(cublas, LETTER, axpy), _v2_64, )(h, n, SCALAR(alpha, 0), DA, dx, DB, dy), 0);
		EXPECT("axpy_64", DB);
		memcpy(MB, WANT, sizeof MB);
		NAMED(put)(DB, MB);
		/* rot */
		static cplx x[MOST];
		double c = 0.5;
		memcpy(x, MA, sizeof x);
		for (int i = 0; i < n; i++) {
			x[AT(dx, i)] = c * MA[AT(dx, i)] + beta * MB[AT(dy, i)];
			WANT[AT(dy, i)] = c * MB[AT(dy, i)] - conj(beta) * MA[AT(dx, i)];
		}
		CHECK_EQ(BLAS(rot)(h, n, DA, dx, DB, dy, REAL_SCALAR(c, 0), SCALAR(beta, 1)), 0);
		EXPECT("rot", DB);
		memcpy(WANT, x, sizeof x);
		EXPECT("rot", DA);
		/* copy, swap, scal */
		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		memcpy(WANT, MB, sizeof WANT);
		for (int i = 0; i < n; i++)
			WANT[AT(dy, i)] = MA[AT(dx, i)];
		CHECK_EQ(BLAS(copy)(h, n, DA, dx, DB, dy), 0);
		EXPECT("copy", DB);
		NAMED(put)(DB, MB);
		CHECK_EQ(BLAS(swap)(h, n, DA, dx, DB, dy), 0);
		EXPECT("swap", DB);
		memcpy(WANT, MA, sizeof WANT);
		for (int i = 0; i < n; i++)
			WANT[AT(dx, i)] = MB[AT(dy, i)];
		EXPECT("swap", DA);
		NAMED(put)(DA, MA);
		memcpy(WANT, MA, sizeof WANT);
		for (int i = 0; i < n && dx > 0; i++)
			WANT[AT(dx, i)] *= alpha;
		CHECK_EQ(BLAS(scal)(h, n, SCALAR(alpha, 0), DA, dx), 0);
		EXPECT("scal", DA);
	}
}

static void NAMED(reductions)(handle h)
{
	static const int steps[][2] = {{1, 1}, {2, 3}, {-1, 2}, {-2, -3}}, sizes[] = {0, 1, 5, 64, 1001};
	T here;

	for (int k = 0; k < 20; k++) {
		int n = sizes[k / 4], dx = steps[k % 4][0], dy = steps[k % 4][1], most = 0, least = 0, index = -1;
		T *result = on_device ? NAMED(scalars) : &here;
		cplx dot = 0, dotc = 0, got;
		double norm = 0, sum = 0;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		for (int i = 0; i < n; i++) {
			cplx x = MA[AT(dx, i)], y = MB[AT(dy, i)];
			double size = fabs(creal(x)) + fabs(cimag(x)),
			       most_size = fabs(creal(MA[AT(dx, most)])) + fabs(cimag(MA[AT(dx, most)])),
			       least_size = fabs(creal(MA[AT(dx, least)])) + fabs(cimag(MA[AT(dx, least)]));

			dot += x * y;
			dotc += conj(x) * y;
			norm += creal(x) * creal(x) + cimag(x) * cimag(x);
			sum += size;
			most = size > most_size ? i : most;
			least = size < least_size ? i : least;
		}
		CHECK_EQ(BLAS(DOT)(h, n, DA, dx, DB, dy, result), 0);
		got = NAMED(result)(result, false);
		compare("dot", &got, &dot, 1, TOLERANCE * 10);
#if COMPLEX
		CHECK_EQ(BLAS(dotc)(h, n, DA, dx, DB, dy, result), 0);
		got = NAMED(result)(result, false);
		compare("dotc", &got, &dotc, 1, TOLERANCE * 10);
#endif
		CHECK_EQ(JOIN(cublas, NRM2, _v2)(h, n, DA, dx, (REAL *)result), 0);
		got = NAMED(result)(result, true);
		dot = sqrt(norm);
		compare("nrm2", &got, &dot, 1, TOLERANCE);
		CHECK_EQ(JOIN(cublas, ASUM, _v2)(h, n, DA, dx, (REAL *)result), 0);
		got = NAMED(result)(result, true);
		dot = sum;
		compare("asum", &got, &dot, 1, TOLERANCE);
		for (int low = 0; low < 2; low++) {
			int *at = on_device ? (int *)NAMED(scalars) : &index;

			CHECK_EQ((low ? AMIN : AMAX)(h, n, DA, dx, at), 0);
			if (on_device)
				CHECK_EQ(cuMemcpyDtoH_v2(&index, (CUdeviceptr)at, sizeof index), 0);
			CHECK_EQ(index, n < 1 || dx < 1 ? 0 : (low ? least : most) + 1);
		}
	}
}

/* A rotation turns (a, b) into (r, 0). */
static void NAMED(rotations)(handle h)
{
	static const double pairs[][4] = {{3, 0, 4, 0}, {-1, 2, 5, 1}, {5, -3, 1, 1}, {0, 0, 2, 1}, {2, 1, 0, 0}};

	for (int k = 0; k < 5; k++) {
		cplx a = (cplx)TO_T(CMPLX(pairs[k][0], pairs[k][1])), b = (cplx)TO_T(CMPLX(pairs[k][2], pairs[k][3]));
		T v[4] = {TO_T(a), TO_T(b), 0, 0}, *at = v;
		REAL c = 0;

		if (on_device) {
			at = NAMED(scalars);
			CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)at, v, sizeof v), 0);
		}
		CHECK_EQ(BLAS(rotg)(h, at, at + 1, (REAL *)(at + 2), at + 3), 0);
		if (on_device)
			CHECK_EQ(cuMemcpyDtoH_v2(v, (CUdeviceptr)at, sizeof v), 0);
		memcpy(&c, v + 2, sizeof c);
		cplx got[] = {(cplx)c * a + (cplx)v[3] * b, (cplx)c * b - conj((cplx)v[3]) * a},
		     want[] = {(cplx)v[0], 0};
		compare("rotg", got, want, 2, TOLERANCE);
	}
#if !COMPLEX
	for (int k = 0; k < 8; k++) {
		double d1 = k == 6 ? 1e-9 : 2 + number(), d2 = k == 7 ? 1e9 : 2 + number(), x1 = number() + 2,
		       y1 = k % 2 ? number() : 3 + number();
		T v[16] = {(T)d1, (T)d2, (T)x1, (T)y1}, *at = v, *param = v + 4;

		if (on_device) {
			at = NAMED(scalars);
			CHECK_EQ(cuMemcpyHtoD_v2((CUdeviceptr)at, v, sizeof v), 0);
		}
		CHECK_EQ(BLAS(rotmg)(h, at, at + 1, at + 2, at + 3, at + 4), 0);
		/* applied to (x1, y1) it gives (the new x1, 0) */
		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		MA[0] = x1 = (double)(T)x1;
		MB[0] = y1 = (double)(T)y1;
		NAMED(put)(DA, MA);
		NAMED(put)(DB, MB);
		CHECK_EQ(BLAS(rotm)(h, 5, DA, 1, DB, 1, at + 4), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		if (on_device)
			CHECK_EQ(cuMemcpyDtoH_v2(v, (CUdeviceptr)at, sizeof v), 0);
		double f = (double)param[0], h11 = f == 0 ? 1 : (double)param[1], h21 = f == 1 ? -1 : (double)param[2],
		       h12 = f == 1 ? 1 : (double)param[3], h22 = f == 0 ? 1 : (double)param[4];
		CHECK(fabs(h11 * x1 + h12 * y1 - (double)v[2]) < TOLERANCE * 10 * (1 + fabs((double)v[2])));
		CHECK(fabs(h21 * x1 + h22 * y1) < TOLERANCE * 10 * (1 + fabs(h21 * x1)));
		/* The weighted lengths are the same. */
		double before = (double)(T)d1 * x1 * x1 + (double)(T)d2 * y1 * y1,
		       after = (double)v[0] * (double)v[2] * (double)v[2];
		CHECK(fabs(before - after) < TOLERANCE * 10 * before);
		memcpy(WANT, MA, sizeof WANT);
		for (int i = 0; i < 5; i++)
			WANT[i] = h11 * MA[i] + h12 * MB[i];
		EXPECT("rotm", DA);
	}
#endif
}

/* ---- level 2 ---- */

/* want = y after y = alpha op(FULL) x + beta y, for vectors with these steps in A (the matrix), B (x) and C (y). */
static void NAMED(want_product)(int op, int m, int n, cplx alpha, cplx beta, int dx, int dy)
{
	int rows = op == OP_N ? m : n, cols = op == OP_N ? n : m;

	memcpy(WANT, MC, sizeof WANT);
	for (int i = 0; i < rows; i++) {
		cplx sum = 0;

		for (int j = 0; j < cols; j++)
			sum += (op == OP_N          ? FULL[j * LD + i]
				       : op == OP_T ? FULL[i * LD + j]
						    : conj(FULL[i * LD + j])) *
			       MB[NAMED(place)(cols, dx, j)];
		WANT[NAMED(place)(rows, dy, i)] = alpha * sum + beta * MC[NAMED(place)(rows, dy, i)];
	}
}

static void NAMED(matrix_vector)(handle h)
{
	static const int sizes[][2] = {{1, 1}, {5, 9}, {37, 23}, {LD, LD}};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));
	const int kl = 3, ku = 2;

	for (int s = 0; s < 4 * 3; s++) {
		int m = sizes[s / 3][0], n = sizes[s / 3][1], op = s % 3, dx = s % 2 ? 1 : -2, dy = s % 3 ? 3 : 1;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		memcpy(FULL, MA, sizeof FULL);
		NAMED(want_product)(op, m, n, alpha, beta, dx, dy);
		CHECK_EQ(BLAS(gemv)(h, op, m, n, SCALAR(alpha, 0), DA, LD, DB, dx, SCALAR(beta, 1), DC, dy), 0);
		EXPECT("gemv", DC);
		NAMED(put)(DC, MC);
		reference_band(FULL, m, n, kl, ku);
		memcpy(MORE, MA, sizeof MORE);
		store_band(FULL, m, n, kl, ku, MORE);
		NAMED(put)(DA, MORE);
		NAMED(want_product)(op, m, n, alpha, beta, dx, dy);
		CHECK_EQ(BLAS(gbmv)(h, op, m, n, kl, ku, SCALAR(alpha, 0), DA, LD, DB, dx, SCALAR(beta, 1), DC, dy), 0);
		EXPECT("gbmv", DC);
		/* A += alpha x y' */
		NAMED(put)(DC, MC);
		NAMED(put)(DA, MA);
		for (int conjugate = 0; conjugate <= COMPLEX; conjugate++) {
			memcpy(WANT, MA, sizeof WANT);
			for (int j = 0; j < n; j++)
				for (int i = 0; i < m; i++) {
					cplx y = MC[NAMED(place)(n, dy, j)];

					WANT[j * LD + i] +=
						alpha * MB[NAMED(place)(m, dx, i)] * (conjugate ? conj(y) : y);
				}
			NAMED(put)(DA, MA);
#if COMPLEX
			CHECK_EQ((conjugate ? BLAS(gerc) : BLAS(geru))(
					 h, m, n, SCALAR(alpha, 0), DB, dx, DC, dy, DA, LD),
				0);
#else
			CHECK_EQ(BLAS(ger)(h, m, n, SCALAR(alpha, 0), DB, dx, DC, dy, DA, LD), 0);
#endif
			EXPECT("ger", DA);
		}
	}
}

static void NAMED(symmetric_vector)(handle h)
{
	static const int sizes[] = {1, 6, 41};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));
	const int k = 2;

	for (int s = 0; s < 6; s++) {
		int n = sizes[s / 2], fill = s % 2, dx = fill ? 1 : -2, dy = fill ? 3 : 1;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		for (int hermitian = 0; hermitian <= COMPLEX; hermitian++) {
			reference_symmetric(MA, n, fill, hermitian, FULL);
			NAMED(want_product)(OP_N, n, n, alpha, beta, dx, dy);
			NAMED(put)(DC, MC);
#if COMPLEX
			CHECK_EQ((hermitian ? BLAS(hemv) : BLAS(symv))(
					 h, fill, n, SCALAR(alpha, 0), DA, LD, DB, dx, SCALAR(beta, 1), DC, dy),
				0);
#else
			CHECK_EQ(BLAS(symv)(h, fill, n, SCALAR(alpha, 0), DA, LD, DB, dx, SCALAR(beta, 1), DC, dy), 0);
#endif
			EXPECT("symv", DC);
		}
		/* packed, then banded: Hermitian for complex numbers */
		memcpy(MORE, MA, sizeof MORE);
		store_packed(MA, n, fill, MORE);
		NAMED(put)(DA, MORE);
		NAMED(put)(DC, MC);
		CHECK_EQ(PACKED(h, fill, n, SCALAR(alpha, 0), DA, DB, dx, SCALAR(beta, 1), DC, dy), 0);
		EXPECT("packed symv", DC);
		NAMED(put)(DC, MC);
		memcpy(MORE, MA, sizeof MORE);
		store_band(MA, n, n, fill == UPPER_ ? 0 : k, fill == UPPER_ ? k : 0, MORE);
		NAMED(put)(DA, MORE);
		reference_band(FULL, n, n, k, k);
		NAMED(want_product)(OP_N, n, n, alpha, beta, dx, dy);
		CHECK_EQ(BANDED(h, fill, n, k, SCALAR(alpha, 0), DA, LD, DB, dx, SCALAR(beta, 1), DC, dy), 0);
		EXPECT("banded symv", DC);
	}
}

/* want = A after the update of one triangle by alpha x x', or alpha x y' and its mirror image. */
static void NAMED(want_update)(int n, int fill, bool hermitian, bool two, cplx alpha, int dx, int dy)
{
	memcpy(WANT, MA, sizeof WANT);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < n; i++) {
			cplx xi = MB[AT(dx, i)], xj = MB[AT(dx, j)], yi = MC[AT(dy, i)], yj = MC[AT(dy, j)],
			     *w = &WANT[j * LD + i];

			if (hermitian && i == j)
				*w = creal(*w);
			if (two)
				*w += alpha * xi * (hermitian ? conj(yj) : yj) +
				      (hermitian ? conj(alpha) * conj(xj) : alpha * xj) * yi;
			else
				*w += alpha * xi * (hermitian ? conj(xj) : xj);
		}
	keep_triangle(WANT, MA, n, fill);
}

static void NAMED(updates)(handle h)
{
	static const int sizes[] = {1, 6, 41};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5));

	for (int s = 0; s < 6; s++) {
		int n = sizes[s / 2], fill = s % 2, dx = fill ? 1 : -2, dy = fill ? 3 : 1;

		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		NAMED(make)(DA, MA);
		NAMED(want_update)(n, fill, false, false, alpha, dx, dy);
		CHECK_EQ(BLAS(syr)(h, fill, n, SCALAR(alpha, 0), DB, dx, DA, LD), 0);
		EXPECT("syr", DA);
		NAMED(put)(DA, MA);
		NAMED(want_update)(n, fill, false, true, alpha, dx, dy);
		CHECK_EQ(BLAS(syr2)(h, fill, n, SCALAR(alpha, 0), DB, dx, DC, dy, DA, LD), 0);
		EXPECT("syr2", DA);
#if COMPLEX
		NAMED(put)(DA, MA);
		NAMED(want_update)(n, fill, true, true, alpha, dx, dy);
		CHECK_EQ(BLAS(her2)(h, fill, n, SCALAR(alpha, 0), DB, dx, DC, dy, DA, LD), 0);
		EXPECT("her2", DA);
		NAMED(put)(DA, MA);
		NAMED(want_update)(n, fill, true, false, creal(alpha), dx, dy);
		CHECK_EQ(BLAS(her)(h, fill, n, REAL_SCALAR(alpha, 0), DB, dx, DA, LD), 0);
		EXPECT("her", DA);
#endif
		for (int two = 0; two < 2; two++) {
			NAMED(want_update)(n, fill, COMPLEX, two, two ? alpha : creal(alpha), dx, dy);
			store_packed(WANT, n, fill, memcpy(MORE, MA, sizeof MORE));
			memcpy(WANT, MORE, sizeof WANT);
			store_packed(MA, n, fill, memcpy(MORE, MA, sizeof MORE));
			NAMED(put)(DA, MORE);
			if (two)
				CHECK_EQ(PACKED_2(h, fill, n, SCALAR(alpha, 0), DB, dx, DC, dy, DA), 0);
			else
				CHECK_EQ(PACKED_1(h, fill, n, (const RANK_ALPHA *)SCALAR(creal(alpha), 0), DB, dx, DA),
					0);
			EXPECT("packed update", DA);
		}
		/* to full storage and back */
		NAMED(put)(DA, MORE);
		NAMED(put)(DD, MC);
		memcpy(WANT, MA, sizeof WANT);
		keep_triangle(WANT, MC, n, fill);
		for (int j = 0; j < LD; j++)
			for (int i = 0; i < LD; i++)
				if (i >= n || j >= n)
					WANT[j * LD + i] = MC[j * LD + i];
		CHECK_EQ(PLAIN(tpttr)(h, fill, n, DA, DD, LD), 0);
		EXPECT("tpttr", DD);
		NAMED(put)(DA, MA);
		memcpy(WANT, MORE, sizeof WANT);
		CHECK_EQ(PLAIN(trttp)(h, fill, n, DD, LD, DA), 0);
		EXPECT("trttp", DA);
	}
}

/* x -> op(A) x against the reference, and back by the solution, in all three forms of storage. */
static void NAMED(triangle_vector)(handle h)
{
	const int n = 23, k = 4;

	for (int kind = 0; kind < 3 * 2 * 3 * 2; kind++) {
		int form = kind % 3, fill = kind / 3 % 2, op = kind / 6 % 3, diag = kind / 18, dx = kind % 2 ? 1 : -2;
		int below = fill == UPPER_ ? 0 : k, above = fill == UPPER_ ? k : 0;

		NAMED(make)(DA, MA);
		for (int i = 0; i < MOST; i++)
			MA[i] = i / LD == i % LD ? MA[i] + 2 : (cplx)TO_T(MA[i] / 16);
		NAMED(make)(DC, MC);
		memcpy(MB, MC, sizeof MB);
		if (form == 1)
			reference_band(MA, n, n, below, above);
		reference_triangle(MA, n, fill, diag, FULL);
		memcpy(MORE, MA, sizeof MORE);
		if (form == 1)
			store_band(MA, n, n, below, above, MORE);
		if (form == 2)
			store_packed(MA, n, fill, MORE);
		NAMED(put)(DA, MORE);
		NAMED(want_product)(op, n, n, 1, 0, dx, dx);
		CHECK_EQ(form == 0   ? BLAS(trmv)(h, fill, op, diag, n, DA, LD, DC, dx)
			 : form == 1 ? BLAS(tbmv)(h, fill, op, diag, n, k, DA, LD, DC, dx)
				     : BLAS(tpmv)(h, fill, op, diag, n, DA, DC, dx),
			0);
		EXPECT("triangle times x", DC);
		memcpy(WANT, MC, sizeof WANT);
		CHECK_EQ(form == 0   ? BLAS(trsv)(h, fill, op, diag, n, DA, LD, DC, dx)
			 : form == 1 ? BLAS(tbsv)(h, fill, op, diag, n, k, DA, LD, DC, dx)
				     : BLAS(tpsv)(h, fill, op, diag, n, DA, DC, dx),
			0);
		EXPECT("solution of a triangle", DC);
	}
}

/* ---- level 3 ---- */

static void NAMED(products)(handle h)
{
	static const int sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {33, 2, 64}, {40, 61, LD}, {LD, 13, 0}, {64, 64, 64}};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));

	for (int s = 0; s < 6 * 9; s++) {
		int m = sizes[s / 9][0], n = sizes[s / 9][1], k = sizes[s / 9][2], ta = s % 3, tb = s / 3 % 3;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		memcpy(WANT, MC, sizeof WANT);
		reference_product(ta, tb, m, n, k, alpha, MA, MB, beta, WANT);
		CHECK_EQ(BLAS(gemm)(h, ta, tb, m, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD), 0);
		EXPECT("gemm", DC);
		NAMED(put)(DC, MC);
		CHECK_EQ(JOIN(JOIN(cublas, LETTER, gemm), _v2_64, )(
				 h, ta, tb, m, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD),
			0);
		EXPECT("gemm_64", DC);
#if COMPLEX
		NAMED(put)(DC, MC);
		CHECK_EQ(PLAIN(gemm3m)(h, ta, tb, m, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD),
			0);
		EXPECT("gemm3m", DC);
#endif
		memcpy(WANT, MC, sizeof WANT);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++)
				WANT[j * LD + i] = alpha * applied(MA, ta, i, j) + beta * applied(MB, tb, i, j);
		NAMED(put)(DC, MC);
		CHECK_EQ(PLAIN(geam)(h, ta, tb, m, n, SCALAR(alpha, 0), DA, LD, SCALAR(beta, 1), DB, LD, DC, LD), 0);
		EXPECT("geam", DC);
		memcpy(WANT, MC, sizeof WANT);
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++)
				WANT[j * LD + i] = MA[j * LD + i] * MB[s % 2 ? 2 * j : 2 * i];
		NAMED(put)(DC, MC);
		CHECK_EQ(PLAIN(dgmm)(h, s % 2 ? RIGHT : LEFT, m, n, DA, LD, DB, 2, DC, LD), 0);
		EXPECT("dgmm", DC);
	}
}

static void NAMED(symmetric_products)(handle h)
{
	static const int sizes[][2] = {{1, 1}, {6, 9}, {41, 30}};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));

	for (int s = 0; s < 3 * 4 * (1 + COMPLEX); s++) {
		int m = sizes[s % 3][0], n = sizes[s % 3][1], side = s / 3 % 2, fill = s / 6 % 2;
		bool hermitian = s / 12;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		memcpy(WANT, MC, sizeof WANT);
		reference_symmetric(MA, side == LEFT ? m : n, fill, hermitian, FULL);
		reference_product(OP_N, OP_N, m, n, side == LEFT ? m : n, alpha, side == LEFT ? FULL : MB,
			side == LEFT ? MB : FULL, beta, WANT);
#if COMPLEX
		CHECK_EQ((hermitian ? BLAS(hemm) : BLAS(symm))(
				 h, side, fill, m, n, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD),
			0);
#else
		CHECK_EQ(BLAS(symm)(h, side, fill, m, n, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD), 0);
#endif
		EXPECT("symm", DC);
	}
}

/* one triangle of want = alpha op(A) op(B)' + beta C, and for `both` the mirror image of the product as well */
static void NAMED(want_rank)(
	int n, int k, int op, int fill, bool hermitian, const cplx *b, cplx alpha, cplx beta, bool both)
{
	int turned = hermitian ? OP_C : OP_T;

	memcpy(WANT, MC, sizeof WANT);
	for (int i = 0; hermitian && i < n; i++)
		WANT[i * LD + i] = creal(WANT[i * LD + i]);
	reference_product(op, op == OP_N ? turned : OP_N, n, n, k, alpha, MA, b, beta, WANT);
	if (both)
		reference_product(
			op, op == OP_N ? turned : OP_N, n, n, k, hermitian ? conj(alpha) : alpha, b, MA, 1, WANT);
	for (int i = 0; hermitian && i < n; i++)
		WANT[i * LD + i] = creal(WANT[i * LD + i]);
	keep_triangle(WANT, MC, n, fill);
}

static void NAMED(rank_updates)(handle h)
{
	static const int sizes[][2] = {{1, 1}, {6, 9}, {41, 30}, {LD, 5}};
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5)), beta = (cplx)TO_T(CMPLX(0.25, -0.5));

	for (int s = 0; s < 4 * 4; s++) {
		int n = sizes[s / 4][0], k = sizes[s / 4][1], fill = s % 2, op = s / 2 % 2;

		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, false, MA, alpha, beta, false);
		CHECK_EQ(BLAS(syrk)(h, fill, op, n, k, SCALAR(alpha, 0), DA, LD, SCALAR(beta, 1), DC, LD), 0);
		EXPECT("syrk", DC);
		NAMED(put)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, false, MB, alpha, beta, true);
		CHECK_EQ(BLAS(syr2k)(h, fill, op, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD), 0);
		EXPECT("syr2k", DC);
		NAMED(put)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, false, MB, alpha, beta, false);
		CHECK_EQ(PLAIN(syrkx)(h, fill, op, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, SCALAR(beta, 1), DC, LD), 0);
		EXPECT("syrkx", DC);
#if COMPLEX
		op = op ? OP_C : OP_N;
		NAMED(put)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, true, MA, creal(alpha), creal(beta), false);
		CHECK_EQ(BLAS(herk)(h, fill, op, n, k, REAL_SCALAR(alpha, 0), DA, LD, REAL_SCALAR(beta, 1), DC, LD), 0);
		EXPECT("herk", DC);
		NAMED(put)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, true, MB, alpha, creal(beta), true);
		CHECK_EQ(BLAS(her2k)(h, fill, op, n, k, SCALAR(alpha, 0), DA, LD, DB, LD, REAL_SCALAR(beta, 1), DC, LD),
			0);
		EXPECT("her2k", DC);
		NAMED(put)(DC, MC);
		NAMED(want_rank)(n, k, op, fill, true, MA, alpha * conj(alpha), creal(beta), false);
		CHECK_EQ(PLAIN(herkx)(h, fill, op, n, k, SCALAR(alpha * conj(alpha), 0), DA, LD, DA, LD,
				 REAL_SCALAR(beta, 1), DC, LD),
			0);
		EXPECT("herkx", DC);
#endif
	}
}

static void NAMED(triangles)(handle h)
{
	cplx alpha = (cplx)TO_T(CMPLX(0.75, 0.5));
	CUdeviceptr list;
	T *both[2];

	CHECK_EQ(cuMemAlloc_v2(&list, sizeof both), 0);
	for (int s = 0; s < 2 * 2 * 3 * 2 * 2; s++) {
		int side = s % 2, fill = s / 2 % 2, op = s / 4 % 3, diag = s / 12 % 2, m = s / 24 ? 65 : 7,
		    n = s / 24 ? 51 : 12, size = side == LEFT ? m : n;

		NAMED(make)(DA, MA);
		for (int i = 0; i < MOST; i++)
			MA[i] = i / LD == i % LD ? MA[i] + 2 : (cplx)TO_T(MA[i] / 32);
		NAMED(put)(DA, MA);
		NAMED(make)(DB, MB);
		NAMED(make)(DC, MC);
		memcpy(WANT, MC, sizeof WANT);
		reference_triangle(MA, size, fill, diag, FULL);
		if (side == LEFT)
			reference_product(op, OP_N, m, n, m, alpha, FULL, MB, 0, WANT);
		else
			reference_product(OP_N, op, m, n, n, alpha, MB, FULL, 0, WANT);
		CHECK_EQ(BLAS(trmm)(h, side, fill, op, diag, m, n, SCALAR(alpha, 0), DA, LD, DB, LD, DC, LD), 0);
		EXPECT("trmm", DC);
		/* in place, and back: the solution of op(A) X = (1 / alpha) (alpha op(A) B) */
		NAMED(put)(DC, MB);
		CHECK_EQ(BLAS(trmm)(h, side, fill, op, diag, m, n, SCALAR(alpha, 0), DA, LD, DC, LD, DC, LD), 0);
		CHECK_EQ(BLAS(trsm)(h, side, fill, op, diag, m, n, SCALAR(1 / alpha, 1), DA, LD, DC, LD), 0);
		memcpy(WANT, MB, sizeof WANT);
		NAMED(expect)("trsm", DC, WANT, 4);
		both[0] = DA;
		CHECK_EQ(cuMemcpyHtoD_v2(list, both, sizeof both / 2), 0);
		both[1] = DC;
		CHECK_EQ(cuMemcpyHtoD_v2(list + 8, both + 1, sizeof both / 2), 0);
		CHECK_EQ(BLAS(trmm)(h, side, fill, op, diag, m, n, SCALAR(alpha, 0), DA, LD, DC, LD, DC, LD), 0);
		CHECK_EQ(PLAIN(trsmBatched)(h, side, fill, op, diag, m, n, SCALAR(1 / alpha, 1), (T **)list, LD,
				 (T **)(list + 8), LD, 1),
			0);
		NAMED(expect)("trsmBatched", DC, WANT, 4);
	}
	cuMemFree_v2(list);
}

/* ---- factorizations: two matrices, at the start of memories 0 and 1; results in 2 and 3 ---- */

static void NAMED(factorizations)(handle h)
{
	enum { N = 29, M = 40, SIDES = 3 };
	T *pointers[4] = {DA, DB, DC, DD};
	CUdeviceptr lists, ints;
	int info[2] = {-1, -1}, host_info = -1;

	CHECK_EQ(cuMemAlloc_v2(&lists, sizeof pointers), 0);
	CHECK_EQ(cuMemAlloc_v2(&ints, 1024), 0);
	CHECK_EQ(cuMemcpyHtoD_v2(lists, pointers, sizeof pointers), 0);
	T **in = (T **)lists, **out = (T **)(lists + 16);
	int *device_info = (int *)ints, *pivots = (int *)(ints + 16);

	/* A * inverse = 1, by getrf and getri, and by matinv */
	for (int direct = 0; direct < 2; direct++) {
		NAMED(make)(DA, MA);
		NAMED(make)(DB, MB);
		if (direct)
			CHECK_EQ(PLAIN(matinvBatched)(h, N, in, LD, out, LD, device_info, 2), 0);
		else {
			CHECK_EQ(PLAIN(getrfBatched)(h, N, in, LD, pivots, device_info, 2), 0);
			CHECK_EQ(PLAIN(getriBatched)(h, N, in, LD, pivots, out, LD, device_info, 2), 0);
		}
		NAMED(put)(DA, MA);
		const T *zero = SCALAR(0, 1), *one = SCALAR(1, 0);
		NAMED(put)(DB, MB);
		CHECK_EQ(BLAS(gemm)(h, OP_N, OP_N, N, N, N, one, DA, LD, DC, LD, zero, DB, LD), 0);
		CHECK_EQ(cuMemcpyDtoH_v2(info, ints, sizeof info), 0);
		CHECK(!info[0] && !info[1]);
		memcpy(WANT, MB, sizeof WANT);
		for (int j = 0; j < N; j++)
			for (int i = 0; i < N; i++)
				WANT[j * LD + i] = i == j;
		NAMED(expect)("inverse", DB, WANT, 100);
	}
	/* op(A) X = C */
	for (int op = OP_N; op <= OP_C; op++) {
		NAMED(make)(DA, MA);
		NAMED(make)(DC, MC);
		CHECK_EQ(PLAIN(getrfBatched)(h, N, in, LD, pivots, device_info, 1), 0);
		CHECK_EQ(PLAIN(getrsBatched)(h, op, N, SIDES, in, LD, pivots, out, LD, &host_info, 1), 0);
		CHECK_EQ(host_info, 0);
		NAMED(put)(DA, MA);
		NAMED(put)(DD, MC);
		CHECK_EQ(BLAS(gemm)(h, op, OP_N, N, SIDES, N, SCALAR(1, 0), DA, LD, DC, LD, SCALAR(0, 1), DD, LD), 0);
		memcpy(WANT, MC, sizeof WANT);
		NAMED(expect)("getrs", DD, WANT, 100);
	}
	/* least squares: A' (A X - C) = 0 */
	NAMED(make)(DA, MA);
	NAMED(make)(DC, MC);
	CHECK_EQ(PLAIN(gelsBatched)(h, OP_N, M, N, SIDES, in, LD, out, LD, &host_info, device_info, 1), 0);
	NAMED(put)(DA, MA);
	NAMED(put)(DD, MC);
	CHECK_EQ(BLAS(gemm)(h, OP_N, OP_N, M, SIDES, N, SCALAR(1, 0), DA, LD, DC, LD, SCALAR(-1, 1), DD, LD), 0);
	NAMED(make)(DB, MB);
	CHECK_EQ(BLAS(gemm)(h, OP_C, OP_N, N, SIDES, M, SCALAR(1, 0), DA, LD, DD, LD, SCALAR(0, 1), DB, LD), 0);
	memcpy(WANT, MB, sizeof WANT);
	for (int j = 0; j < SIDES; j++)
		memset(WANT + j * LD, 0, N * sizeof *WANT);
	NAMED(expect)("gels", DB, WANT, 100);
	/* R' R = A' A */
	NAMED(make)(DA, MA);
	CHECK_EQ(PLAIN(geqrfBatched)(h, M, N, in, LD, out, &host_info, 1), 0);
	NAMED(make)(DB, MB);
	NAMED(put)(DD, MA);
	T *r = DA;
	CHECK_EQ(BLAS(gemm)(h, OP_C, OP_N, N, N, M, SCALAR(1, 0), DD, LD, DD, LD, SCALAR(0, 1), DB, LD), 0);
	static T t[MOST];
	CHECK_EQ(cuMemcpyDtoH_v2(t, (CUdeviceptr)r, sizeof t), 0);
	for (int j = 0; j < LD; j++)
		for (int i = 0; i < LD; i++)
			FULL[j * LD + i] = i <= j ? (cplx)t[j * LD + i] : 0;
	memcpy(WANT, MB, sizeof WANT);
	reference_product(OP_C, OP_N, N, N, N, 1, FULL, FULL, 0, WANT);
	NAMED(expect)("geqrf", DB, WANT, 100);
	cuMemFree_v2(lists);
	cuMemFree_v2(ints);
}

static void NAMED(all)(handle h)
{
	CUdeviceptr p;

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(cuMemAlloc_v2(&p, MOST * sizeof(T)), 0);
		NAMED(memory)[i] = (T *)p;
	}
	CHECK_EQ(cuMemAlloc_v2(&p, 16 * sizeof(T)), 0);
	NAMED(scalars) = (T *)p;
	NAMED(vectors)(h);
	NAMED(reductions)(h);
	NAMED(rotations)(h);
	NAMED(matrix_vector)(h);
	NAMED(symmetric_vector)(h);
	NAMED(updates)(h);
	NAMED(triangle_vector)(h);
	NAMED(products)(h);
	NAMED(symmetric_products)(h);
	NAMED(rank_updates)(h);
	NAMED(triangles)(h);
	NAMED(factorizations)(h);
	for (int i = 0; i < 4; i++)
		cuMemFree_v2((CUdeviceptr)NAMED(memory)[i]);
	cuMemFree_v2((CUdeviceptr)NAMED(scalars));
}

#undef T
#undef REAL
#undef LETTER
#undef LOWER
#undef COMPLEX
#undef TOLERANCE
#undef NRM2
#undef ASUM
#undef BLAS
#undef PLAIN
#undef NAMED
#undef TO_T
#undef AMAX
#undef AMIN
#undef DOT
#undef SYM2
#undef BANDED
#undef PACKED
#undef PACKED_1
#undef PACKED_2
#undef RANK_ALPHA
#undef MA
#undef MB
#undef MC
#undef WANT
#undef FULL
#undef MORE
#undef DA
#undef DB
#undef DC
#undef DD
#undef EXPECT
#undef SCALAR
#undef REAL_SCALAR
#undef AT
