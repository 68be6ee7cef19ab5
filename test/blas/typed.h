/* typed.h - tests the routines of one type T against simple loops.  Included for each type. */

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c)  JOIN_(a, b, c)
#define BLAS(op)       JOIN(JOIN(cublas, LETTER, op), _v2, )
#define PLAIN(op)      JOIN(cublas, LETTER, op)
#define TEST(name)     JOIN(name, _, LETTER)

int BLAS(axpy)(handle, int, const T *, const T *, int, T *, int);
int BLAS(scal)(handle, int, const T *, T *, int);
int BLAS(copy)(handle, int, const T *, int, T *, int);
int BLAS(swap)(handle, int, T *, int, T *, int);
int BLAS(DOT)(handle, int, const T *, int, const T *, int, T *);
int JOIN(cublas, NRM2, _v2)(handle, int, const T *, int, REAL *);
int JOIN(cublas, ASUM, _v2)(handle, int, const T *, int, REAL *);
int JOIN(cublas, AMAX, _v2)(handle, int, const T *, int, int *);
int BLAS(gemv)(handle, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(GER)(handle, int, int, const T *, const T *, int, const T *, int, T *, int);
int BLAS(trsv)(handle, int, int, int, int, const T *, int, T *, int);
int BLAS(trmv)(handle, int, int, int, int, const T *, int, T *, int);
int BLAS(gemm)(handle, int, int, int, int, int, const T *, const T *, int, const T *, int, const T *, T *, int);
int BLAS(trsm)(handle, int, int, int, int, int, int, const T *, const T *, int, T *, int);
int PLAIN(gemmBatched)(handle, int, int, int, int, int, const T *, const T *const *, int, const T *const *, int,
	const T *, T *const *, int, int);
int PLAIN(gemmStridedBatched)(handle, int, int, int, int, int, const T *, const T *, int, long long, const T *, int,
	long long, const T *, T *, int, long long, int);
int PLAIN(geam)(handle, int, int, int, int, const T *, const T *, int, const T *, const T *, int, T *, int);

int PLAIN(getrfBatched)(handle, int, T *const *, int, int *, int *, int);

enum { TEST(LD) = 310 };
#define LD TEST(LD)

static T TEST(number)(void)
{
	T v = (REAL)(rand() % 19 - 9) / 4;

#if COMPLEX
	v += (REAL)(rand() % 19 - 9) / 4 * (REAL)1 * I;
#endif
	return v;
}

static void TEST(fill)(T *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = TEST(number)();
}

static bool TEST(close_to)(T a, T b, double scale)
{
	return cabs((double complex)(a - b)) <= TOLERANCE * (scale + cabs((double complex)b));
}

/* Element (i, j) of op(A). */
static T TEST(element)(const T *a, int ld, int op, int i, int j)
{
	T v = op == OP_N ? a[j * ld + i] : a[i * ld + j];

	return op == OP_C ? (T)conj(v) : v;
}

static bool TEST(same)(const T *got, const T *want, int n, double scale, const char *what)
{
	for (int i = 0; i < n; i++)
		if (!TEST(close_to)(got[i], want[i], scale)) {
			fprintf(stderr, "%s: element %d is %g, not %g\n", what, i, (double)creal(got[i]),
				(double)creal(want[i]));
			failures++;
			return false;
		}
	return true;
}

static void TEST(vectors)(handle h)
{
	enum { N = 77 };
	static const int steps[][2] = {{1, 1}, {2, 3}, {-1, 1}, {2, -2}};
	T *x = device_alloc(N * 3 * sizeof(T)), *y = device_alloc(N * 3 * sizeof(T)), alpha = TEST(number)(), sum, got,
	  was[N * 3];
	REAL r, norm, abs_sum;
	int best, at;

	for (unsigned s = 0; s < 4; s++) {
		int dx = steps[s][0], dy = steps[s][1], x0 = dx < 0 ? (1 - N) * dx : 0, y0 = dy < 0 ? (1 - N) * dy : 0;

		TEST(fill)(x, N * 3);
		TEST(fill)(y, N * 3);
		memcpy(was, y, sizeof was);
		CHECK_EQ(BLAS(axpy)(h, N, &alpha, x, dx, y, dy), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		for (int i = 0; i < N; i++)
			was[y0 + i * dy] += alpha * x[x0 + i * dx];
		TEST(same)(y, was, N * 3, 1, "axpy");
		sum = 0;
		for (int i = 0; i < N; i++)
			sum += x[x0 + i * dx] * y[y0 + i * dy];
		CHECK_EQ(BLAS(DOT)(h, N, x, dx, y, dy, &got), 0);
		CHECK(TEST(close_to)(got, sum, 100));
		CHECK_EQ(BLAS(copy)(h, N, x, dx, y, dy), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		for (int i = 0; i < N; i++)
			CHECK(y[y0 + i * dy] == x[x0 + i * dx]);
	}
	norm = abs_sum = 0;
	best = 0;
	for (int i = 0; i < N; i++) {
		REAL a = (REAL)(fabs(creal(x[2 * i])) + fabs(cimag(x[2 * i])));

		norm += (REAL)(creal(x[2 * i]) * creal(x[2 * i]) + cimag(x[2 * i]) * cimag(x[2 * i]));
		abs_sum += a;
		best = a > (REAL)(fabs(creal(x[2 * best])) + fabs(cimag(x[2 * best]))) ? i : best;
	}
	CHECK_EQ(JOIN(cublas, NRM2, _v2)(h, N, x, 2, &r), 0);
	CHECK(fabs((double)r - sqrt((double)norm)) < TOLERANCE * 10);
	CHECK_EQ(JOIN(cublas, ASUM, _v2)(h, N, x, 2, &r), 0);
	CHECK(fabs((double)(r - abs_sum)) < TOLERANCE * 1000);
	CHECK_EQ(JOIN(cublas, AMAX, _v2)(h, N, x, 2, &at), 0);
	CHECK_EQ(at, best + 1);
	CHECK_EQ(JOIN(cublas, AMAX, _v2)(h, 0, x, 2, &at), 0);
	CHECK_EQ(at, 0);
	memcpy(was, x, sizeof was);
	CHECK_EQ(BLAS(scal)(h, N, &alpha, x, 3), 0);
	CHECK_EQ(BLAS(swap)(h, N, x, 1, y, 1), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	for (int i = 0; i < N; i++)
		CHECK(TEST(close_to)(y[i], i % 3 ? was[i] : alpha * was[i], 1));
	cuMemFree_v2((CUdeviceptr)x);
	cuMemFree_v2((CUdeviceptr)y);
}

static void TEST(matrix_vector)(handle h)
{
	enum { M = 37, N = 23 };
	static T want[M * 50];
	T *a = device_alloc(M * 50 * sizeof(T)), *x = device_alloc(200 * sizeof(T)), *y = device_alloc(200 * sizeof(T));
	T alpha = TEST(number)() + 1, beta = TEST(number)() + 1, one = 1, zero = 0;

	for (int op = OP_N; op <= OP_C; op++) {
		int rows = op == OP_N ? M : N, cols = op == OP_N ? N : M;

		TEST(fill)(a, M * 50);
		TEST(fill)(x, 200);
		TEST(fill)(y, 200);
		for (int i = 0; i < rows; i++) {
			want[i] = beta * y[2 * i];
			for (int j = 0; j < cols; j++)
				want[i] += alpha * TEST(element)(a, M + 1, op, i, j) * x[(cols - 1 - j) * 3];
		}
		CHECK_EQ(BLAS(gemv)(h, op, M, N, &alpha, a, M + 1, x, -3, &beta, y, 2), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		for (int i = 0; i < rows; i++)
			CHECK(TEST(close_to)(y[2 * i], want[i], 100));
		/* beta 0: the old contents do not matter, even NaN */
		y[0] = (T)NAN;
		CHECK_EQ(BLAS(gemv)(h, op, M, N, &zero, a, M + 1, x, 1, &zero, y, 1), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		CHECK(y[0] == (T)0);
	}
	TEST(fill)(x, 200);
	TEST(fill)(y, 200);
	memcpy(want, a, M * 50 * sizeof(T));
	for (int j = 0; j < N; j++)
		for (int i = 0; i < M; i++)
			want[j * M + i] += alpha * x[2 * i] * y[j];
	CHECK_EQ(BLAS(GER)(h, M, N, &alpha, x, 2, y, 1, a, M), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	TEST(same)(a, want, M * 50, 10, "ger");

	/* x -> op(A) x and back */
	for (int i = 0; i < N; i++)
		a[i * (M + 1)] = 9 + i % 3;
	for (int fill = 0; fill < 2; fill++)
		for (int op = OP_N; op <= OP_C; op++)
			for (int diag = 0; diag < 2; diag++) {
				T b[N];

				for (int i = 0; i < N * M; i++)
					if (i % M != i / M)
						a[i] = TEST(number)() / 8;
				TEST(fill)(x, 200);
				memcpy(b, x, sizeof b);
				CHECK_EQ(BLAS(trmv)(h, fill, op, diag, N, a, M, x, 1), 0);
				CHECK_EQ(cuCtxSynchronize(), 0);
				CHECK(!TEST(close_to)(x[N / 2], b[N / 2], 0) || diag);
				CHECK_EQ(BLAS(trsv)(h, fill, op, diag, N, a, M, x, 1), 0);
				CHECK_EQ(cuCtxSynchronize(), 0);
				TEST(same)(x, b, N, 100, "trsv");
			}
	CHECK_EQ(BLAS(gemv)(h, OP_N, M, N, &one, a, M - 1, x, 1, &one, y, 1), 7);
	CHECK_EQ(BLAS(gemv)(h, OP_N, M, N, &one, a, M, x, 0, &one, y, 1), 7);
	CHECK_EQ(BLAS(gemv)(h, 3, M, N, &one, a, M, x, 1, &one, y, 1), 7);
	CHECK_EQ(BLAS(gemv)(NULL, OP_N, M, N, &one, a, M, x, 1, &one, y, 1), 1);
}

static void TEST(product)(const T *a, int ta, const T *b, int tb, int m, int n, int k, T alpha, T beta, T *c)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			T sum = 0;

			for (int l = 0; l < k; l++)
				sum += TEST(element)(a, LD, ta, i, l) * TEST(element)(b, LD, tb, l, j);
			c[j * LD + i] = alpha * sum + beta * c[j * LD + i];
		}
}

static void TEST(matrices)(handle h)
{
	static const int sizes[][3] = {{1, 1, 1}, {5, 7, 3}, {300, 70, 140}, {33, 130, 257}, {4, 4, 0}};
	T *a = device_alloc(LD * LD * sizeof(T)), *b = device_alloc(LD * LD * sizeof(T)),
	  *c = device_alloc(LD * LD * sizeof(T));
	T *want = malloc(LD * LD * sizeof(T)), alpha = TEST(number)() + 1, beta = TEST(number)() + 1, one = 1, zero = 0;
	T **lists = device_alloc(3 * 2 * sizeof *lists);

	TEST(fill)(a, LD * LD);
	TEST(fill)(b, LD * LD);
	for (unsigned s = 0; s < 5; s++)
		for (int ops = 0; ops < (s == 1 ? 9 : 3); ops++) {
			int m = sizes[s][0], n = sizes[s][1], k = sizes[s][2], ta = ops % 3,
			    tb = s == 1 ? ops / 3 : (ops + 1) % 3;

			TEST(fill)(c, LD * LD);
			memcpy(want, c, LD * LD * sizeof(T));
			TEST(product)(a, ta, b, tb, m, n, k, alpha, beta, want);
			CHECK_EQ(BLAS(gemm)(h, ta, tb, m, n, k, &alpha, a, LD, b, LD, &beta, c, LD), 0);
			CHECK_EQ(cuCtxSynchronize(), 0);
			TEST(same)(c, want, LD * LD, k + 1, "gemm");
		}
	/* Batches of two, by pointers and by strides. */
	for (int how = 0; how < 2; how++) {
		T *parts[2][3] = {{a, b, c}, {a + 20, b + 30, c + 40 * LD}};

		TEST(fill)(c, LD * LD);
		memcpy(want, c, LD * LD * sizeof(T));
		for (int i = 0; i < 2; i++)
			TEST(product)(
				parts[i][0], OP_N, parts[i][1], OP_T, 9, 8, 7, alpha, beta, want + (parts[i][2] - c));
		for (int i = 0; i < 6; i++)
			lists[i] = parts[i % 2][i / 2];
		if (how)
			CHECK_EQ(PLAIN(gemmBatched)(h, OP_N, OP_T, 9, 8, 7, &alpha, (const T *const *)lists, LD,
					 (const T *const *)(lists + 2), LD, &beta, lists + 4, LD, 2),
				0);
		else
			CHECK_EQ(PLAIN(gemmStridedBatched)(h, OP_N, OP_T, 9, 8, 7, &alpha, a, LD, 20, b, LD, 30, &beta,
					 c, LD, 40 * LD, 2),
				0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		TEST(same)(c, want, LD * LD, 10, how ? "gemmBatched" : "gemmStridedBatched");
	}
	/* op(A) X = alpha B: the product must be alpha B. */
	for (int i = 0; i < LD * LD; i++)
		a[i] = i % LD == i / LD ? (T)(12 + i % 5) : TEST(number)() / 8;
	for (int kind = 0; kind < 2 * 2 * 3 * 2; kind++) {
		int side = kind % 2, fill = kind / 2 % 2, op = kind / 4 % 3, diag = kind / 12,
		    size = side == LEFT ? 21 : 17;
		T *t = malloc(LD * LD * sizeof(T));

		for (int j = 0; j < size; j++)
			for (int i = 0; i < size; i++)
				t[j * LD + i] = i == j && diag == UNIT                  ? (T)1
						: (i > j) == (fill == LOWER_) || i == j ? a[j * LD + i]
											: (T)0;
		TEST(fill)(c, LD * LD);
		memcpy(b, c, LD * LD * sizeof(T));
		memset(want, 0, LD * LD * sizeof(T));
		CHECK_EQ(BLAS(trsm)(h, side, fill, op, diag, 21, 17, &alpha, a, LD, c, LD), 0);
		CHECK_EQ(cuCtxSynchronize(), 0);
		if (side == LEFT)
			TEST(product)(t, op, c, OP_N, 21, 17, 21, 1, 0, want);
		else
			TEST(product)(c, OP_N, t, op, 21, 17, 17, 1, 0, want);
		for (int j = 0; j < 17; j++)
			for (int i = 0; i < 21; i++)
				if (!TEST(close_to)(want[j * LD + i], alpha * b[j * LD + i], 100)) {
					fprintf(stderr, "trsm, kind %d\n", kind);
					failures++;
					i = 21;
					j = 17;
				}
		free(t);
	}
	CHECK_EQ(PLAIN(geam)(h, OP_T, OP_C, 12, 15, &alpha, a, LD, &beta, b, LD, c, LD), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	for (int i = 0; i < 12 * 15; i++)
		CHECK(TEST(close_to)(c[i / 12 * LD + i % 12],
			alpha * TEST(element)(a, LD, OP_T, i % 12, i / 12) +
				beta * TEST(element)(b, LD, OP_C, i % 12, i / 12),
			10));
	CHECK_EQ(BLAS(gemm)(h, OP_N, OP_N, 9, 8, 7, &one, a, 8, b, 7, &zero, c, 9), 7);
	CHECK_EQ(BLAS(gemm)(h, OP_N, OP_N, 0, 8, 7, &one, a, 1, b, 7, &zero, c, 9), 0);
	free(want);
}

/* L U, with the row exchanges undone, is the original; with and without pivots; the second matrix is singular. */
static void TEST(factors)(handle h, bool pivoting)
{
	enum { N = 12, COUNT = 2, STEP = 15 };
	T *a = device_alloc(COUNT * N * STEP * sizeof *a), **list = device_alloc(COUNT * sizeof *list),
	  was[COUNT][N * STEP];
	int *pivots = device_alloc(COUNT * N * sizeof *pivots), *info = device_alloc(COUNT * sizeof *info);

	TEST(fill)(a, COUNT * N * STEP);
	for (int k = 0; k < COUNT; k++) {
		list[k] = a + k * N * STEP;
		for (int i = 0; i < N; i++)
			list[k][i * STEP + i] += pivoting ? 0 : 100;
	}
	for (int i = 0; i < N; i++)
		list[1][3 * STEP + i] = 0;
	memcpy(was, a, sizeof was);
	CHECK_EQ(PLAIN(getrfBatched)(h, N, list, STEP, pivoting ? pivots : NULL, info, COUNT), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK(info[0] == 0 && info[1] == 4);
	for (int j = 0; j < N; j++) {
		T col[N];

		for (int i = 0; i < N; i++) {
			col[i] = 0;
			for (int k = 0; k <= i && k <= j; k++)
				col[i] += (k == i ? 1 : a[k * STEP + i]) * a[j * STEP + k];
		}
		for (int i = N - 1; pivoting && i >= 0; i--) {
			T t = col[i];

			col[i] = col[pivots[i] - 1];
			col[pivots[i] - 1] = t;
		}
		for (int i = 0; i < N; i++)
			CHECK(TEST(close_to)(col[i], was[0][j * STEP + i], 1000));
	}
	CHECK_EQ(PLAIN(getrfBatched)(h, N, list, N - 1, NULL, info, COUNT), 7);
	CHECK_EQ(PLAIN(getrfBatched)(h, N, NULL, N, NULL, info, COUNT), 7);
}
#undef LD
