// Checksums of the results of NVIDIA's libraries, one line per library. test/gpu/libraries.sh compares these lines
// natively and through Gangway. The program also checks every result against the expected value.
//
//	nvcc -arch=native -o libraries libraries.cu -lcublas -lcublasLt -lcufft -lcusolver -lcusparse -lcurand
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

#define MUST(call)                                                                                                   \
	do {                                                                                                         \
		int status_ = (int)(call);                                                                           \
		if (status_ != 0) {                                                                                  \
			fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, status_);                \
			exit(1);                                                                                     \
		}                                                                                                    \
	} while (0)

static unsigned failures;

static void expect(bool good, const char *what)
{
	if (!good) {
		printf("WRONG: %s\n", what);
		failures++;
	}
}

static uint64_t hash(const void *bytes, size_t count)
{
	uint64_t h = 14695981039346656037u;
	for (size_t i = 0; i < count; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
	return h;
}

template <typename T> struct device {
	T *at = nullptr;
	size_t count;
	explicit device(size_t n) : count(n) { MUST(cudaMalloc((void **)&at, n * sizeof(T))); }
	explicit device(const std::vector<T> &v) : device(v.size())
	{
		MUST(cudaMemcpy(at, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	}
	~device() { MUST(cudaFree(at)); }
	std::vector<T> read() const
	{
		std::vector<T> v(count);
		MUST(cudaMemcpy(v.data(), at, count * sizeof(T), cudaMemcpyDeviceToHost));
		return v;
	}
};

template <typename T> static std::vector<T> numbers(size_t n)
{
	std::vector<T> v(n);
	uint32_t x = 12345;
	for (T &e : v) {
		x = x * 1664525u + 1013904223u;
		e = (T)((x >> 8) % 2001) / 1000 - 1;
	}
	return v;
}

static void gemm()
{
	const int n = 257;
	std::vector<float> a = numbers<float>(n * n), b = numbers<float>(n * n);
	device<float> da(a), db(b), dc(n * n);
	cublasHandle_t handle;
	float one = 1, zero = 0;
	MUST(cublasCreate(&handle));
	MUST(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da.at, n, db.at, n, &zero, dc.at, n));
	std::vector<float> c = dc.read();
	double worst = 0, sum = 0;
	for (int i = 0; i < n; i++) {
		double want = 0;
		for (int k = 0; k < n; k++)
			want += (double)a[i + (size_t)k * n] * b[k + 3 * (size_t)n];
		worst = fmax(worst, fabs(want - c[i + 3 * (size_t)n]));
	}
	float dot;
	MUST(cublasSdot(handle, n * n, da.at, 1, db.at, 1, &dot));
	for (int i = 0; i < n * n; i++)
		sum += (double)a[i] * b[i];
	expect(worst < 1e-3 && fabs(sum - dot) < 0.1, "cuBLAS");
	MUST(cublasDestroy(handle));
	printf("cublas %016lx %.9g\n", hash(c.data(), c.size() * sizeof c[0]), dot);
}

static void fft()
{
	const int n = 4096, batch = 16;
	std::vector<float> values = numbers<float>(2 * n * batch);
	device<float> data(values);
	cufftHandle plan;
	MUST(cufftPlan1d(&plan, n, CUFFT_C2C, batch));
	MUST(cufftExecC2C(plan, (cufftComplex *)data.at, (cufftComplex *)data.at, CUFFT_FORWARD));
	std::vector<float> there = data.read();
	MUST(cufftExecC2C(plan, (cufftComplex *)data.at, (cufftComplex *)data.at, CUFFT_INVERSE));
	std::vector<float> back = data.read();
	double worst = 0;
	for (size_t i = 0; i < back.size(); i++)
		worst = fmax(worst, fabs(back[i] / n - values[i]));
	expect(worst < 1e-4, "cuFFT");
	MUST(cufftDestroy(plan));
	printf("cufft %016lx\n", hash(there.data(), there.size() * sizeof there[0]));
}

static void solve()
{
	const int n = 200;
	std::vector<double> a = numbers<double>(n * n), x(n, 1.0), b(n, 0.0);
	for (int i = 0; i < n; i++) {
		a[i + (size_t)i * n] += n;
		for (int k = 0; k < n; k++)
			b[i] += a[i + (size_t)k * n] * x[k];
	}
	device<double> da(a), db(b);
	device<int> pivots(n), info(1);
	cusolverDnHandle_t handle;
	int room;
	MUST(cusolverDnCreate(&handle));
	MUST(cusolverDnDgetrf_bufferSize(handle, n, n, da.at, n, &room));
	device<double> work(room);
	MUST(cusolverDnDgetrf(handle, n, n, da.at, n, work.at, pivots.at, info.at));
	MUST(cusolverDnDgetrs(handle, CUBLAS_OP_N, n, 1, da.at, n, pivots.at, db.at, n, info.at));
	std::vector<double> got = db.read();
	double worst = 0;
	for (int i = 0; i < n; i++)
		worst = fmax(worst, fabs(got[i] - 1));
	expect(worst < 1e-10 && info.read()[0] == 0, "cuSOLVER");
	MUST(cusolverDnDestroy(handle));
	printf("cusolver %016lx\n", hash(got.data(), got.size() * sizeof got[0]));
}

static void sparse()
{
	const int n = 1000;
	std::vector<int> rows(n + 1), columns;
	std::vector<float> values, x(n, 2.0f);
	for (int i = 0; i < n; i++) { // three diagonals
		for (int k = i - 1; k <= i + 1; k++)
			if (k >= 0 && k < n) {
				columns.push_back(k);
				values.push_back(k == i ? 2.0f : -1.0f);
			}
		rows[i + 1] = (int)columns.size();
	}
	device<int> drows(rows), dcolumns(columns);
	device<float> dvalues(values), dx(x), dy(n);
	cusparseHandle_t handle;
	cusparseSpMatDescr_t matrix;
	cusparseDnVecDescr_t vx, vy;
	float one = 1, zero = 0;
	size_t room;
	MUST(cusparseCreate(&handle));
	MUST(cusparseCreateCsr(&matrix, n, n, (int64_t)values.size(), drows.at, dcolumns.at, dvalues.at,
	                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
	MUST(cusparseCreateDnVec(&vx, n, dx.at, CUDA_R_32F));
	MUST(cusparseCreateDnVec(&vy, n, dy.at, CUDA_R_32F));
	MUST(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, vx, &zero, vy,
	                             CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &room));
	device<char> work(room + 1);
	MUST(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, vx, &zero, vy, CUDA_R_32F,
	                  CUSPARSE_SPMV_ALG_DEFAULT, work.at));
	std::vector<float> y = dy.read();
	expect(y[0] == 2 && y[n / 2] == 0 && y[n - 1] == 2, "cuSPARSE");
	MUST(cusparseDestroySpMat(matrix));
	MUST(cusparseDestroyDnVec(vx));
	MUST(cusparseDestroyDnVec(vy));
	MUST(cusparseDestroy(handle));
	printf("cusparse %016lx\n", hash(y.data(), y.size() * sizeof y[0]));
}

static void dice()
{
	const size_t n = 100000;
	device<float> values(n);
	curandGenerator_t generator;
	MUST(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
	MUST(curandSetPseudoRandomGeneratorSeed(generator, 42));
	MUST(curandGenerateUniform(generator, values.at, n));
	std::vector<float> v = values.read();
	double sum = 0;
	for (float x : v)
		sum += x;
	expect(fabs(sum / n - 0.5) < 0.01, "cuRAND");
	MUST(curandDestroyGenerator(generator));
	printf("curand %016lx\n", hash(v.data(), v.size() * sizeof v[0]));
}

static void sorted()
{
	std::vector<float> v = numbers<float>(100000);
	thrust::device_vector<float> d(v.begin(), v.end());
	thrust::sort(d.begin(), d.end());
	thrust::copy(d.begin(), d.end(), v.begin());
	bool good = true;
	for (size_t i = 1; i < v.size(); i++)
		good = good && v[i - 1] <= v[i];
	expect(good, "Thrust");
	printf("thrust %016lx\n", hash(v.data(), v.size() * sizeof v[0]));
}

int main()
{
	gemm();
	fft();
	solve();
	sparse();
	dice();
	sorted();
	return failures != 0;
}
