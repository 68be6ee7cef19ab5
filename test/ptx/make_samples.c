/* Chooses operands: zeros, limits, subnormals, ties, infinities and NaNs first, then pseudo-random bits. */
#include "make.h"
#include <string.h>

static uint64_t noise(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Zero, one, subnormals, smallest and largest normals, infinity, NaNs, near one, half a last place. */
static uint64_t special_float(const struct format *f, unsigned n)
{
	uint64_t one = ((1ull << (f->ebits - 1)) - 1) << f->mbits, ulp = 1ull << f->mbits;
	uint64_t inf = ((1ull << f->ebits) - 1) << f->mbits, sign = 1ull << (f->ebits + f->mbits);
	const uint64_t v[] = {0, sign, one, one | sign, 1, ulp - 1, ulp, sign | 1, inf - 1, sign | (inf - 1), inf,
		inf | sign, inf | ulp / 2, inf | 1, one + 1, one - 1, one + ulp / 2, one - ulp,
		one - (uint64_t)(f->mbits + 1) * ulp, sign | (one - (uint64_t)(f->mbits + 1) * ulp),
		(one - (uint64_t)(f->mbits + 1) * ulp) + 1, sign | ulp, sign | (ulp - 1),
		one + (uint64_t)(f->mbits + 1) * ulp + 1};

	return v[n % (sizeof v / sizeof v[0])];
}

static uint64_t sample_float(const struct format *f, unsigned which, unsigned i)
{
	uint64_t bits = 1 + f->ebits + f->mbits, one = ((1ull << (f->ebits - 1)) - 1) << f->mbits;
	uint64_t r = noise(i * 8 + which + 77), near;

	if (i < 24)
		return special_float(f, which == 0 ? i : (i * (which == 1 ? 7 : 5) + which) % 24);
	if (i < 32) /* one, and half its last place or a little more or less */
		return which == 0 ? one + i % 4 : special_float(f, 18 + i % 3);
	if (i < 40) { /* of comparable size, so that sums cancel and products stay */
		near = one + ((r & 7) << f->mbits) - (4ull << f->mbits);
		return near | (r >> 8 & ((1ull << f->mbits) - 1)) | (r >> 60 & 1) << (bits - 1);
	}
	return bits == 64 ? r : r & ((1ull << bits) - 1);
}

static uint64_t sample_int(unsigned bits, unsigned which, unsigned i)
{
	uint64_t top = 1ull << (bits - 1), all = top | (top - 1), r = noise(i * 8 + which);
	const uint64_t v[] = {
		0, 1, all, top, top - 1, 2, all - 1, top + 1, 0x55555555aaaaaaaa, 3, 10, all / 3, 31, 32, 33, 64};
	unsigned n = sizeof v / sizeof v[0];

	if (i < 2 * n)
		return all & v[which == 0 ? i % n : (i * (which == 1 ? 3 : 5) + (i >= n ? 1 : 0) + which) % n];
	if (i < 40)
		return all & r >> 40; /* small */
	return all & r;
}

uint64_t sample(const char *type, unsigned which, unsigned i)
{
	const struct format *f = format_named(type);

	if (!strcmp(type, "pred"))
		return ((which == 1 ? 0x53a1c97eu : 0x9d2c5680u) >> i % 32 ^ i / 32) & 1;
	if (f)
		return sample_float(f, which, i);
	if (!strcmp(type, "f16x2"))
		return sample_float(&F16, which, i) | sample_float(&F16, which, (i * 5 + 3) % 48) << 16;
	if (!strcmp(type, "bf16x2"))
		return sample_float(&BF16, which, i) | sample_float(&BF16, which, (i * 5 + 3) % 48) << 16;
	return sample_int(size_named(type), which, i);
}
