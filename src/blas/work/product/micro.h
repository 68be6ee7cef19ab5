/* micro.h - the innermost loop of products, chosen for this processor. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct micro {
	/* c += a' b: `rows` × `cols` sums over `depth` elements; see micro_body.h. */
	void (*add)(int64_t depth, const void *a, const void *b, void *c, int64_t ld);
	int rows, cols;
};

struct micro micro_choose(bool wide); /* for double; else for float */
