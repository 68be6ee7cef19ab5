/* level1.h - level 1 functions: vectors.  Part of typed.h.  In a job x is operand b, y is c, results go to d. */

/* A call with a vector that is changed in place, or with two. */
static cublasStatus_t submit_vectors(struct blas *h, struct blas_job job)
{
	if (job.n <= 0)
		return CUBLAS_STATUS_SUCCESS;
	return (job.b.at || job.routine == BLAS_SCAL) && job.c.at ? blas_submit(h, &job) : CUBLAS_STATUS_INVALID_VALUE;
}

#define AXPY(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(axpy, end)( \
		cublasHandle_t h, I n, const T *alpha, const T *x, I incx, T *y, I incy) \
	{ \
		BLAS_REQUIRE(h, alpha); \
		return submit_vectors(h, JOB(.routine = BLAS_AXPY, .n = n, .b = OPERAND(x, incx), \
						 .c = OPERAND(y, incy), .alpha = SCALAR(alpha))); \
	}
BOTH(AXPY)

#define COPY_SWAP(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(copy, end)(cublasHandle_t h, I n, const T *x, I incx, T *y, I incy) \
	{ \
		BLAS_REQUIRE(h, true); \
		return submit_vectors( \
			h, JOB(.routine = BLAS_COPY, .n = n, .b = OPERAND(x, incx), .c = OPERAND(y, incy))); \
	} \
	BLAS_EXPORT cublasStatus_t CUBLAS(swap, end)(cublasHandle_t h, I n, T * x, I incx, T * y, I incy) \
	{ \
		BLAS_REQUIRE(h, true); \
		return submit_vectors( \
			h, JOB(.routine = BLAS_SWAP, .n = n, .b = OPERAND(x, incx), .c = OPERAND(y, incy))); \
	}
BOTH(COPY_SWAP)

#define SCAL_AS(name, A, scalar, I) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, const A *alpha, T *x, I incx) \
	{ \
		BLAS_REQUIRE(h, alpha); \
		if (incx <= 0) \
			return CUBLAS_STATUS_SUCCESS; \
		return submit_vectors( \
			h, JOB(.routine = BLAS_SCAL, .n = n, .c = OPERAND(x, incx), .alpha = scalar(alpha))); \
	}
#define SCAL(I, end) SCAL_AS(CUBLAS(scal, end), T, SCALAR, I)
BOTH(SCAL)
#if COMPLEX
#define SCAL_BY_REAL(I, end) SCAL_AS(JOIN(cublas, SCAL_REAL, end), REAL, REAL_SCALAR, I)
BOTH(SCAL_BY_REAL)
#endif

/* ---- reductions ---- */

static cublasStatus_t submit_reduction(struct blas *h, struct blas_job job, void *result, size_t size)
{
	if (job.n <= 0) {
		job.n = 0;
		if (h->pointers == CUBLAS_POINTER_MODE_HOST) {
			memset(result, 0, size);
			return CUBLAS_STATUS_SUCCESS;
		}
	} else if (!job.b.at || (job.routine == BLAS_DOT && !job.c.at)) {
		return CUBLAS_STATUS_INVALID_VALUE;
	}
	job.d.ld = 1;
	return blas_submit_result(h, &job, result, size);
}

#define REDUCE(name, code, I, Result, type_of_result, is_wide) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, const T *x, I incx, Result *result) \
	{ \
		BLAS_REQUIRE(h, result); \
		return submit_reduction(h, \
			JOB(.routine = code, .n = n, .b = OPERAND(x, incx), .d.type = type_of_result, \
				.wide = is_wide), \
			result, sizeof *result); \
	}
#define REDUCTIONS(I, end) \
	REDUCE(JOIN(cublas, ASUM, end), BLAS_ASUM, I, REAL, REAL_TYPE, false) \
	REDUCE(JOIN(cublas, NRM2, end), BLAS_NRM2, I, REAL, REAL_TYPE, false) \
	REDUCE(JOIN(JOIN(cublasI, LOWER, amax), end, ), BLAS_AMAX, I, I, CUDA_R_32I, sizeof(I) == 8) \
	REDUCE(JOIN(JOIN(cublasI, LOWER, amin), end, ), BLAS_AMIN, I, I, CUDA_R_32I, sizeof(I) == 8)
BOTH(REDUCTIONS)

#define DOT_AS(name, I, conj) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, const T *x, I incx, const T *y, I incy, T *result) \
	{ \
		BLAS_REQUIRE(h, result); \
		return submit_reduction(h, \
			JOB(.routine = BLAS_DOT, .n = n, .b = OPERAND(x, incx), .c = OPERAND(y, incy), .d.type = TYPE, \
				.conjugate = conj), \
			result, sizeof *result); \
	}
#if COMPLEX
#define DOTS(I, end) DOT_AS(CUBLAS(dotu, end), I, false) DOT_AS(CUBLAS(dotc, end), I, true)
#else
#define DOTS(I, end) DOT_AS(CUBLAS(dot, end), I, false)
#endif
BOTH(DOTS)

/* ---- rotations ---- */

#define ROT_AS(name, I, S, scalar) \
	BLAS_EXPORT cublasStatus_t name(cublasHandle_t h, I n, T *x, I incx, T *y, I incy, const REAL *c, const S *s) \
	{ \
		BLAS_REQUIRE(h, c &&s); \
		return submit_vectors(h, JOB(.routine = BLAS_ROT, .n = n, .b = OPERAND(x, incx), \
						 .c = OPERAND(y, incy), .alpha = REAL_SCALAR(c), .beta = scalar(s))); \
	}
#define ROT(I, end) ROT_AS(CUBLAS(rot, end), I, T, SCALAR)
BOTH(ROT)
#if COMPLEX
#define ROT_BY_REAL(I, end) ROT_AS(JOIN(cublas, ROT_REAL, end), I, REAL, REAL_SCALAR)
BOTH(ROT_BY_REAL)
#endif

/* In host pointer mode all arguments of rotg and rotmg are in host memory, so they are computed here. */
static void rotg_on_host(T *a, T *b, REAL *c, T *s)
{
#if COMPLEX
	double pa[2] = {(double)creal(*a), (double)cimag(*a)}, pb[2] = {(double)creal(*b), (double)cimag(*b)}, pc,
	       ps[2];

	rotation_complex(pa, pb, &pc, ps);
	*a = (T)CMPLX(pa[0], pa[1]);
	*s = (T)CMPLX(ps[0], ps[1]);
#else
	double pa = (double)*a, pb = (double)*b, pc, ps;

	rotation_real(&pa, &pb, &pc, &ps);
	*a = (T)pa;
	*b = (T)pb;
	*s = (T)ps;
#endif
	*c = (REAL)pc;
}

BLAS_EXPORT cublasStatus_t CUBLAS(rotg, _v2)(cublasHandle_t h, T *a, T *b, REAL *c, T *s)
{
	struct blas_job job = JOB(.routine = BLAS_ROTG, .a = OPERAND(a, 1), .b = OPERAND(b, 1),
		.c = blas_operand(c, 1, REAL_TYPE), .d = OPERAND(s, 1));

	BLAS_REQUIRE(h, a && b && c && s);
	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		return blas_submit(h, &job);
	rotg_on_host(a, b, c, s);
	return CUBLAS_STATUS_SUCCESS;
}

#if !COMPLEX
BLAS_EXPORT cublasStatus_t CUBLAS(rotmg, _v2)(cublasHandle_t h, T *d1, T *d2, T *x1, const T *y1, T *param)
{
	struct blas_job job = JOB(.routine = BLAS_ROTMG, .a = OPERAND(d1, 1), .b = OPERAND(d2, 1), .c = OPERAND(x1, 1),
		.d = OPERAND(y1, 1), .e = OPERAND(param, 1));
	double v[3], p[5];

	BLAS_REQUIRE(h, d1 && d2 && x1 && y1 && param);
	if (h->pointers == CUBLAS_POINTER_MODE_DEVICE)
		return blas_submit(h, &job);
	v[0] = (double)*d1;
	v[1] = (double)*d2;
	v[2] = (double)*x1;
	for (int i = 0; i < 5; i++)
		p[i] = (double)param[i];
	rotation_modified(&v[0], &v[1], &v[2], (double)*y1, p);
	*d1 = (T)v[0];
	*d2 = (T)v[1];
	*x1 = (T)v[2];
	for (int i = 0; i < 5; i++)
		param[i] = (T)p[i];
	return CUBLAS_STATUS_SUCCESS;
}

/* Host parameters travel in the space of alpha, beta and parameter. */
static void put_parameters(struct blas_job *job, const T *param)
{
	double p[5];

	for (int i = 0; i < 5; i++)
		p[i] = (double)param[i];
	memcpy(job->alpha.value, p, 16);
	memcpy(job->beta.value, p + 2, 16);
	job->parameter = p[4];
}

#define ROTM(I, end) \
	BLAS_EXPORT cublasStatus_t CUBLAS(rotm, end)( \
		cublasHandle_t h, I n, T * x, I incx, T * y, I incy, const T *param) \
	{ \
		struct blas_job job = JOB(.routine = BLAS_ROTM, .n = n, .b = OPERAND(x, incx), .c = OPERAND(y, incy)); \
\
		BLAS_REQUIRE(h, param); \
		if (h->pointers == CUBLAS_POINTER_MODE_DEVICE) \
			job.a = OPERAND(param, 1); \
		else \
			put_parameters(&job, param); \
		return submit_vectors(h, job); \
	}
BOTH(ROTM)
#endif
