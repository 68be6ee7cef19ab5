/*
 * The same work in C. FORM is the prefix of the names; with -fopenmp the loops run on all cores.
 *
 * Each function takes the buffers of its bench and n. The loops are as a C programmer writes them for the cache, not as
 * the kernels divide them.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NAME_(form, name) form##_##name
#define NAME(form, name)  NAME_(form, name)
#define KERNEL(name) \
	void NAME(FORM, name)(void **b, int n); \
	void NAME(FORM, name)(void **b, int n)
#define DO(x) _Pragma(#x)
#ifdef _OPENMP
#define PARALLEL(...) DO(omp parallel for __VA_ARGS__)
#else
#define PARALLEL(...)
#endif

KERNEL(vector_add)
{
	const float *x = b[0], *y = b[1];
	float *z = b[2];

	PARALLEL()
	for (int i = 0; i < n; i++)
		z[i] = x[i] + y[i];
}

KERNEL(sgemm)
{
	const float *x = b[0], *y = b[1];

	PARALLEL()
	for (int i = 0; i < n; i++) {
		float *z = (float *)b[2] + (size_t)i * n;

		memset(z, 0, (size_t)n * 4);
		for (int k = 0; k < n; k++)
			for (int j = 0; j < n; j++)
				z[j] += x[(size_t)i * n + k] * y[(size_t)k * n + j];
	}
}

/* Eight sums, so that the compiler may use vectors without reordering the additions. */
KERNEL(reduce)
{
	const float *x = b[0];
	double sum = 0;

	PARALLEL(reduction(+ : sum))
	for (int i = 0; i < n; i += 4096) {
		float part[16] = {0}, all = 0;
		int end = i + 4096 < n ? i + 4096 : n, j = i;

		for (; j + 16 <= end; j += 16)
			for (int k = 0; k < 16; k++)
				part[k] += x[j + k];
		for (; j < end; j++)
			part[0] += x[j];
		for (int k = 0; k < 16; k++)
			all += part[k];
		sum += all;
	}
	((float *)b[2])[0] = (float)sum;
}

KERNEL(scan)
{
	const uint32_t *x = b[0];
	uint32_t *out = b[1];
#ifdef _OPENMP
	uint32_t *sums = b[2], carry = 0;
	int parts = (n + 16383) / 16384;

	PARALLEL()
	for (int p = 0; p < parts; p++) {
		uint32_t s = 0;
		int end = (p + 1) * 16384 < n ? (p + 1) * 16384 : n;

		for (int i = p * 16384; i < end; i++)
			s += x[i];
		sums[p] = s;
	}
	for (int p = 0; p < parts; p++) {
		uint32_t s = sums[p];

		sums[p] = carry;
		carry += s;
	}
	PARALLEL()
	for (int p = 0; p < parts; p++) {
		uint32_t s = sums[p];
		int end = (p + 1) * 16384 < n ? (p + 1) * 16384 : n;

		for (int i = p * 16384; i < end; i++)
			out[i] = s += x[i];
	}
#else
	uint32_t s = 0;

	for (int i = 0; i < n; i++)
		out[i] = s += x[i];
#endif
}

/* The number of iterations must be the same everywhere: no fused operations. */
__attribute__((optimize("fp-contract=off"))) KERNEL(mandelbrot)
{
	uint32_t *out = b[0];

	PARALLEL(schedule(dynamic, 8))
	for (int y = 0; y < n; y++)
		for (int x = 0; x < n; x++) {
			float cr = -2.0f + x * (2.5f / n), ci = -1.25f + y * (2.5f / n), r = 0, m = 0;
			uint32_t i;

			for (i = 0; i < 256; i++) {
				float r2 = r * r, m2 = m * m;

				if (r2 + m2 > 4)
					break;
				m = 2 * r * m + ci;
				r = r2 - m2 + cr;
			}
			out[y * n + x] = i;
		}
}

KERNEL(nbody)
{
	const float *p = b[0];
	float *out = b[1];

	PARALLEL()
	for (int i = 0; i < n; i++) {
		float ax = 0, ay = 0, az = 0;

		for (int j = 0; j < n; j++) {
			float dx = p[4 * j] - p[4 * i], dy = p[4 * j + 1] - p[4 * i + 1],
			      dz = p[4 * j + 2] - p[4 * i + 2];
			float d = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), s = p[4 * j + 3] * d * d * d;

			ax += dx * s, ay += dy * s, az += dz * s;
		}
		out[4 * i] = ax, out[4 * i + 1] = ay, out[4 * i + 2] = az, out[4 * i + 3] = 0;
	}
}

static float normal_cdf(float d)
{
	float k = 1 / (1 + 0.2316419f * fabsf(d));
	float c =
		0.3989422804f * expf(-0.5f * d * d) *
		(k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1 - c : c;
}

KERNEL(black_scholes)
{
	const float *s0 = b[0], *x0 = b[1], *t0 = b[2];
	float *out = b[3];

	PARALLEL()
	for (int i = 0; i < n; i++) {
		float s = 5 + 25 * s0[i], x = 1 + 99 * x0[i], t = 0.25f + 9.75f * t0[i], v = 0.3f * sqrtf(t);
		float d1 = (logf(s / x) + (0.02f + 0.045f) * t) / v, d2 = d1 - v, e = x * expf(-0.02f * t);

		out[i] = s * normal_cdf(d1) - e * normal_cdf(d2);
		out[n + i] = e * (1 - normal_cdf(d2)) - s * (1 - normal_cdf(d1));
	}
}

KERNEL(histogram)
{
	const uint32_t *x = b[0];
	uint32_t *out = b[1];

	memset(out, 0, 1024);
	PARALLEL(reduction(+ : out[:256]))
	for (int i = 0; i < n; i++)
		out[x[i] >> 24]++;
}

KERNEL(bitonic)
{
	uint32_t *a = b[0];

	for (int size = 2; size <= n; size *= 2)
		for (int distance = size / 2; distance; distance /= 2) {
			PARALLEL()
			for (int i = 0; i < n; i++) {
				int o = i ^ distance;

				if (o > i && (a[i] > a[o]) == ((i & size) == 0)) {
					uint32_t t = a[i];

					a[i] = a[o];
					a[o] = t;
				}
			}
		}
}

KERNEL(stencil)
{
	const float *a = b[0];
	float *out = b[1];

	PARALLEL()
	for (int y = 1; y < n - 1; y++)
		for (int x = 1; x < n - 1; x++) {
			size_t i = (size_t)y * n + x;

			out[i] = 0.5f * a[i] + 0.125f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
		}
}

KERNEL(gather)
{
	const float *a = b[0];
	const uint32_t *index = b[1];
	float *out = b[2];

	PARALLEL()
	for (int i = 0; i < n; i++)
		out[i] = a[index[i]] * 2;
}

KERNEL(collatz)
{
	uint32_t *out = b[0];

	PARALLEL(schedule(dynamic, 1024))
	for (int i = 0; i < n; i++) {
		uint32_t v = (uint32_t)i + 1, steps = 0;

		while (v != 1) {
			v = v & 1 ? 3 * v + 1 : v / 2;
			steps++;
		}
		out[i] = steps;
	}
}

KERNEL(spmv)
{
	const uint32_t *rows = b[0], *columns = b[1];
	const float *values = b[2], *x = b[3];
	float *y = b[4];

	PARALLEL()
	for (int i = 0; i < n; i++) {
		float sum = 0;

		for (uint32_t k = rows[i]; k < rows[i + 1]; k++)
			sum += values[k] * x[columns[k]];
		y[i] = sum;
	}
}

KERNEL(half_gemm)
{
	const _Float16 *x = b[0], *y = b[1];

	PARALLEL()
	for (int i = 0; i < n; i++) {
		float *z = (float *)b[2] + (size_t)i * n;

		memset(z, 0, (size_t)n * 4);
		for (int k = 0; k < n; k++) {
			float f = (float)x[(size_t)i * n + k];

			for (int j = 0; j < n; j++)
				z[j] += f * (float)y[(size_t)k * n + j];
		}
	}
}

KERNEL(softmax)
{
	PARALLEL()
	for (int r = 0; r < n; r++) {
		const float *a = (const float *)b[0] + (size_t)r * 1024;
		float *out = (float *)b[1] + (size_t)r * 1024, top = a[0], sum = 0;

		for (int i = 1; i < 1024; i++)
			top = a[i] > top ? a[i] : top;
		for (int i = 0; i < 1024; i++)
			sum += out[i] = expf(a[i] - top);
		for (int i = 0; i < 1024; i++)
			out[i] /= sum;
	}
}

KERNEL(layer_norm)
{
	PARALLEL()
	for (int r = 0; r < n; r++) {
		const float *a = (const float *)b[0] + (size_t)r * 1024;
		float *out = (float *)b[1] + (size_t)r * 1024, sum = 0, square = 0, mean, scale;

		for (int i = 0; i < 1024; i++)
			sum += a[i];
		mean = sum / 1024;
		for (int i = 0; i < 1024; i++)
			square += (a[i] - mean) * (a[i] - mean);
		scale = 1 / sqrtf(square / 1024 + 1e-5f);
		for (int i = 0; i < 1024; i++)
			out[i] = (a[i] - mean) * scale;
	}
}
