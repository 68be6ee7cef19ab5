/* Conversion between the types of elements and the two types of sums, float and double. */
#include <math.h>
#include <string.h>

#include "blas/work/work.h"

unsigned blas_type_size(uint32_t type)
{
	switch (type) {
	case CUDA_R_8I:
	case CUDA_R_8U:
	case CUDA_R_8F_E4M3:
	case CUDA_R_8F_E5M2:
		return 1;
	case CUDA_R_16F:
	case CUDA_R_16BF:
	case CUDA_C_8I:
		return 2;
	case CUDA_R_32F:
	case CUDA_R_32I:
	case CUDA_C_16F:
	case CUDA_C_16BF:
		return 4;
	case CUDA_R_64F:
	case CUDA_C_32F:
		return 8;
	case CUDA_C_64F:
		return 16;
	default:
		return 0;
	}
}

bool blas_type_complex(uint32_t type)
{
	return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_16BF ||
	       type == CUDA_C_8I;
}

uint32_t blas_type_real(uint32_t type)
{
	switch (type) {
	case CUDA_C_32F:
		return CUDA_R_32F;
	case CUDA_C_64F:
		return CUDA_R_64F;
	case CUDA_C_16F:
		return CUDA_R_16F;
	case CUDA_C_16BF:
		return CUDA_R_16BF;
	case CUDA_C_8I:
		return CUDA_R_8I;
	default:
		return type;
	}
}

/* ---- small floats ---- */

static inline float bf16_to_float(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof f);
	return f;
}

/* Rounds to nearest even. */
static inline uint16_t float_to_bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof u);
	return f != f ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float e5m2_to_float(uint8_t v)
{
	uint16_t bits = (uint16_t)(v << 8); /* the upper half of an f16 */
	_Float16 h;

	memcpy(&h, &bits, sizeof h);
	return (float)h;
}

/* E4M3 has no infinities; all bits set is the only NaN. */
static float e4m3_to_float(uint8_t v)
{
	int exponent = v >> 3 & 15, mantissa = v & 7;
	float f = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);

	if ((v & 0x7f) == 0x7f)
		f = NAN;
	return v & 0x80 ? -f : f;
}

/* Rounds to nearest even; values beyond the range become the largest one, as in the vendor's library. */
static uint8_t float_to_fp8(float f, int mantissa_bits, int bias, float largest, uint8_t nan)
{
	float a = fabsf(f), scaled;
	uint8_t sign = signbit(f) ? 0x80 : 0;
	int exponent, steps;

	if (f != f)
		return nan;
	if (a > largest)
		a = largest;
	if (a == 0)
		return sign;
	frexpf(a, &exponent);
	exponent--; /* a is in [2^exponent, 2^(exponent + 1)) */
	if (exponent < 1 - bias)
		exponent = 1 - bias; /* subnormal */
	scaled = ldexpf(a, mantissa_bits - exponent);
	steps = (int)rintf(scaled); /* includes the hidden bit; a carry moves into the exponent */
	return (uint8_t)(sign | (((exponent + bias - 1) << mantissa_bits) + steps));
}

static inline float e4m3_read(uint8_t v)
{
	return e4m3_to_float(v);
}

static inline uint8_t float_to_e4m3(float f)
{
	return float_to_fp8(f, 3, 7, 448, 0x7f);
}

static inline uint8_t float_to_e5m2(float f)
{
	return float_to_fp8(f, 2, 15, 57344, 0x7f);
}

/* Integers saturate. */
static inline double saturate_to(double v, double least, double most)
{
	return v < least ? least : v > most ? most : nearbyint(v);
}

/* ---- arrays ---- */

#define COPY(T, expression) \
	{ \
		const T *f = from; \
\
		if (step == 1) \
			for (int64_t i = 0; i < n; i++) { \
				T v = f[i]; \
				to[i] = expression; \
			} \
		else \
			for (int64_t i = 0; i < n; i++) { \
				T v = f[i * step]; \
				to[i] = expression; \
			} \
	} \
	break

#define READ(name, R) \
	FOR_EACH_CPU void name(R *to, const void *from, uint32_t type, int64_t step, int64_t n) \
	{ \
		switch (type) { \
		case CUDA_R_64F: \
			COPY(double, (R)v); \
		case CUDA_R_32F: \
			COPY(float, v); \
		case CUDA_R_32I: \
			COPY(int32_t, (R)v); \
		case CUDA_R_8I: \
			COPY(int8_t, v); \
		case CUDA_R_8U: \
			COPY(uint8_t, v); \
		case CUDA_R_16BF: \
			COPY(uint16_t, bf16_to_float(v)); \
		case CUDA_R_16F: \
			COPY(_Float16, (R)(float)v); \
		case CUDA_R_8F_E4M3: \
			COPY(uint8_t, e4m3_read(v)); \
		case CUDA_R_8F_E5M2: \
			COPY(uint8_t, e5m2_to_float(v)); \
		} \
	}
READ(blas_read_s, float)
READ(blas_read_d, double)

#define PUT(T, expression) \
	{ \
		T *t = to; \
\
		for (int64_t i = 0; i < n; i++) \
			t[i * step] = (T)(expression); \
	} \
	break

#define WRITE(name, R) \
	FOR_EACH_CPU void name(void *to, uint32_t type, int64_t step, const R *from, int64_t n) \
	{ \
		switch (type) { \
		case CUDA_R_64F: \
			PUT(double, from[i]); \
		case CUDA_R_32F: \
			PUT(float, from[i]); \
		case CUDA_R_32I: \
			PUT(int32_t, saturate_to((double)from[i], INT32_MIN, INT32_MAX)); \
		case CUDA_R_8I: \
			PUT(int8_t, saturate_to((double)from[i], INT8_MIN, INT8_MAX)); \
		case CUDA_R_8U: \
			PUT(uint8_t, saturate_to((double)from[i], 0, UINT8_MAX)); \
		case CUDA_R_16BF: \
			PUT(uint16_t, float_to_bf16((float)from[i])); \
		case CUDA_R_16F: \
			PUT(_Float16, (float)from[i]); \
		case CUDA_R_8F_E4M3: \
			PUT(uint8_t, float_to_e4m3((float)from[i])); \
		case CUDA_R_8F_E5M2: \
			PUT(uint8_t, float_to_e5m2((float)from[i])); \
		} \
	}
WRITE(blas_write_s, float)
WRITE(blas_write_d, double)
