/* level1.h - level 1 routines: vectors.  Part of typed.h. */

struct vectors {
	int64_t n, incx, incy;
	struct blas_scalar alpha, beta;
	void *x, *y;
	void *result;
};

static cublasStatus_t queue_vectors(struct blas *h, blas_work *work, struct vectors v, bool wait)
{
	if (!h)
		return CUBLAS_STATUS_NOT_INITIALIZED;
	if (v.n <= 0 && !v.result)
		return CUBLAS_STATUS_SUCCESS;
	if (!v.x)
		return CUBLAS_STATUS_INVALID_VALUE;
	return blas_queue(h, work, &v, sizeof v, wait);
}

/* Loops over the vectors; X and Y are their elements i. */
#define WALK(v) \
	for (int64_t i = 0, ix = first_index((v)->n, (v)->incx), iy = first_index((v)->n, (v)->incy); i < (v)->n; \
		i++, ix += (v)->incx, iy += (v)->incy)
#define X(v) (((T *)(v)->x)[ix])
#define Y(v) (((T *)(v)->y)[iy])

static void axpy(const void *args)
{
	const struct vectors *v = args;
	T alpha = scalar_value(&v->alpha);

	WALK(v)
	Y(v) += alpha * X(v);
}

static void copy(const void *args)
{
	const struct vectors *v = args;

	WALK(v)
	Y(v) = X(v);
}

static void swap(const void *args)
{
	const struct vectors *v = args;

	WALK(v)
	{
		T t = X(v);

		X(v) = Y(v);
		Y(v) = t;
	}
}

static void scal(const void *args)
{
	const struct vectors *v = args;
	T alpha = scalar_value(&v->alpha);

	WALK(v)
	X(v) *= alpha;
}

#if COMPLEX
static void scal_real(const void *args)
{
	const struct vectors *v = args;
	REAL alpha = *(const REAL *)blas_value(&v->alpha);

	WALK(v)
	X(v) *= alpha;
}

static void dotc(const void *args)
{
	const struct vectors *v = args;
	double _Complex sum = 0;

	WALK(v)
	sum += conj((double _Complex)X(v)) * (double _Complex)Y(v);
	*(T *)v->result = (T)sum;
}
#else
static void rot(const void *args)
{
	const struct vectors *v = args;
	T c = scalar_value(&v->alpha), s = scalar_value(&v->beta);

	WALK(v)
	{
		T x = X(v), y = Y(v);

		X(v) = c * x + s * y;
		Y(v) = c * y - s * x;
	}
}
#endif

static void dot(const void *args)
{
	const struct vectors *v = args;
#if COMPLEX
	double _Complex sum = 0;
#else
	double sum = 0;
#endif

	WALK(v)
	sum += (__typeof__(sum))X(v) * Y(v);
	*(T *)v->result = (T)sum;
}

static void asum(const void *args)
{
	const struct vectors *v = args;
	double sum = 0;

	WALK(v)
	sum += ABS1(X(v));
	*(REAL *)v->result = (REAL)sum;
}

static void nrm2(const void *args)
{
	const struct vectors *v = args;
	double sum = 0, most = 0;

	WALK(v)
	{
		sum += NORM(X(v));
		most = fmax(most, (double)ABS1(X(v)));
	}
	/* If squares exceed the range of double, scale the elements first. */
	if (!(sum < 1e300 && sum > 1e-280) && most > 0 && most < INFINITY) {
		sum = 0;
		WALK(v)
		sum += NORM(X(v) / (REAL)most);
		*(REAL *)v->result = (REAL)(most * sqrt(sum));
		return;
	}
	*(REAL *)v->result = (REAL)sqrt(sum);
}

/* Index, from 1, of the first element with the largest (or least) absolute value; 0: empty vector. */
static int64_t find_extreme(const struct vectors *v, bool least)
{
	int64_t best = 0;
	REAL best_value = 0;

	if (v->n < 1 || v->incx < 1)
		return 0;
	WALK(v)
	{
		REAL a = ABS1(X(v));

		if (!i || (least ? a < best_value : a > best_value)) {
			best_value = a;
			best = i;
		}
	}
	return best + 1;
}

#define EXTREME(name, I, least) \
	static void name(const void *args) \
	{ \
		const struct vectors *v = args; \
		*(I *)v->result = (I)find_extreme(v, least); \
	}
EXTREME(amax_int, int, false)
EXTREME(amin_int, int, true)
EXTREME(amax_int64_t, int64_t, false)
EXTREME(amin_int64_t, int64_t, true)

/* ---- exported functions ---- */

#define AXPY(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(axpy, end)( \
		cublasHandle_t h, I n, const T *alpha, const T *x, I incx, T *y, I incy) \
	{ \
		if (!h || !alpha || !y) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		return queue_vectors(h, axpy, \
			(struct vectors){.n = n, \
				.incx = incx, \
				.incy = incy, \
				.x = (T *)x, \
				.y = y, \
				.alpha = blas_scalar(h, alpha, sizeof(T))}, \
			false); \
	}
BOTH(AXPY)

#define COPY_SWAP(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(copy, end)(cublasHandle_t h, I n, const T *x, I incx, T *y, I incy) \
	{ \
		return !y ? CUBLAS_STATUS_INVALID_VALUE \
			  : queue_vectors(h, copy, \
				    (struct vectors){.n = n, .incx = incx, .incy = incy, .x = (T *)x, .y = y}, false); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(swap, end)(cublasHandle_t h, I n, T * x, I incx, T * y, I incy) \
	{ \
		return !y ? CUBLAS_STATUS_INVALID_VALUE \
			  : queue_vectors(h, swap, \
				    (struct vectors){.n = n, .incx = incx, .incy = incy, .x = x, .y = y}, false); \
	}
BOTH(COPY_SWAP)

#define SCAL_AS(name, work, A, I) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, const A *alpha, T *x, I incx) \
	{ \
		if (!h || !alpha) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		return queue_vectors(h, work, \
			(struct vectors){.n = n, .incx = incx, .x = x, .alpha = blas_scalar(h, alpha, sizeof(A))}, \
			false); \
	}
#define SCAL(I, end) SCAL_AS(CUBLAS(scal, end), scal, T, I)
BOTH(SCAL)

/* A reduction of one or two vectors to a number, in host memory by default. */
#define REDUCE(name, work, I, Result, vector_arguments, ...) \
	BLAS_EXPORT cublasStatus_t name vector_arguments \
	{ \
		if (!h || !result) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		if (n <= 0 && blas_waits(h)) { \
			*result = 0; \
			return CUBLAS_STATUS_SUCCESS; \
		} \
		return queue_vectors(h, work, \
			(struct vectors){.n = n, .incx = incx, .x = (T *)x, .result = result, __VA_ARGS__}, \
			blas_waits(h)); \
	}
#define ONE(I, Result) (cublasHandle_t h, I n, const T *x, I incx, Result *result)
#define TWO(I, Result) (cublasHandle_t h, I n, const T *x, I incx, const T *y, I incy, Result *result)
#define REDUCTIONS(I, end) \
	REDUCE(JOIN(cublas, ASUM, end), asum, I, REAL, ONE(I, REAL), .y = NULL) \
	REDUCE(JOIN(cublas, NRM2, end), nrm2, I, REAL, ONE(I, REAL), .y = NULL) \
	REDUCE(JOIN(JOIN(cublasI, LOWER, amax), end, ), amax_##I, I, I, ONE(I, I), .y = NULL) \
	REDUCE(JOIN(JOIN(cublasI, LOWER, amin), end, ), amin_##I, I, I, ONE(I, I), .y = NULL)
BOTH(REDUCTIONS)

#if COMPLEX
#define DOTS(I, end) \
	REDUCE(CUBLAS(dotu, end), dot, I, T, TWO(I, T), .y = (T *)y, .incy = incy) \
	REDUCE(CUBLAS(dotc, end), dotc, I, T, TWO(I, T), .y = (T *)y, .incy = incy)
BOTH(DOTS)
#define LOWER_REAL        JOIN(REAL_LETTER_, UPPER, )
#define REAL_LETTER_C     Csscal
#define REAL_LETTER_Z     Zdscal
#define SCAL_REAL(I, end) SCAL_AS(JOIN(cublas, LOWER_REAL, end), scal_real, REAL, I)
BOTH(SCAL_REAL)
#else
#define DOTS(I, end) REDUCE(CUBLAS(dot, end), dot, I, T, TWO(I, T), .y = (T *)y, .incy = incy)
BOTH(DOTS)
#define ROT(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(rot, end)( \
		cublasHandle_t h, I n, T * x, I incx, T * y, I incy, const T *c, const T *s) \
	{ \
		if (!h || !c || !s || !y) \
			return h ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED; \
		return queue_vectors(h, rot, \
			(struct vectors){.n = n, \
				.incx = incx, \
				.incy = incy, \
				.x = x, \
				.y = y, \
				.alpha = blas_scalar(h, c, sizeof(T)), \
				.beta = blas_scalar(h, s, sizeof(T))}, \
			false); \
	}
BOTH(ROT)
#endif
