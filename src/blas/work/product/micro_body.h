/*
 * micro_body.h - the innermost loop of products: a block of MR × NR sums.  Included by micro.c for each type and each size
 * of vectors, which define NAME, R, BYTES, NR and TARGET.
 *
 *	a	depth × MR, in rows of MR		c	+= a' b, in columns of ld
 *	b	depth × NR, in rows of NR
 */
#define VECTOR JOIN_NAMES(NAME, _vector)
#define LANES  (BYTES / sizeof(R))

typedef R VECTOR __attribute__((vector_size(BYTES), aligned(sizeof(R)), may_alias));

TARGET static void NAME(int64_t depth, const void *a_at, const void *b_at, void *c_at, int64_t ld)
{
	const R *a = a_at, *b = b_at;
	R *c = c_at;
	VECTOR sums[NR][2];

#pragma GCC unroll 16
	for (int j = 0; j < NR; j++)
		sums[j][0] = sums[j][1] = (VECTOR){0};
	for (int64_t l = 0; l < depth; l++, a += 2 * LANES, b += NR) {
		VECTOR a0 = *(const VECTOR *)a, a1 = *(const VECTOR *)(a + LANES);

#pragma GCC unroll 16
		for (int j = 0; j < NR; j++) {
			sums[j][0] += a0 * b[j];
			sums[j][1] += a1 * b[j];
		}
	}
#pragma GCC unroll 16
	for (int j = 0; j < NR; j++) {
		*(VECTOR *)(c + j * ld) += sums[j][0];
		*(VECTOR *)(c + j * ld + LANES) += sums[j][1];
	}
}
#undef VECTOR
#undef LANES
#undef NAME
#undef R
#undef BYTES
#undef NR
#undef TARGET
