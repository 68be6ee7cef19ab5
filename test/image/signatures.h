/*
 * signatures.h - kernels with many kinds of parameters. nvcc compiles them (signatures.cu), and the C compiler turns them
 * into structs, whose offsetof is the expected layout: CUDA lays out parameters like the members of a struct.
 *
 * The includer defines K(name, members), F(type, name) for the first parameter and P for the others.
 */
#pragma once

struct mixed {
	char c;
	double d;
	short s;
};
struct three {
	char c[3];
};
struct wide {
	float v[4];
} __attribute__((aligned(16)));
struct nested {
	struct three t;
	struct mixed m[2];
	int i;
};
struct large {
	char data[3000];
};
struct huge {
	int data[1500];
};

/* clang-format off */
#define ALL_SIGNATURES \
	K(one_char, F(char, a)) \
	K(two, F(void *, a) P(char, b)) \
	K(ladder, F(char, a) P(short, b) P(int, c) P(double, d) P(char, e)) \
	K(scalars, F(float, a) P(double, b) P(long long, c) P(unsigned char, d) P(unsigned short, e)) \
	K(structs, F(struct three, a) P(struct mixed, b) P(struct three, c) P(int, d) P(struct wide, e)) \
	K(deep, F(int, a) P(struct nested, b) P(void *, c)) \
	K(pointers, F(int *, a) P(const float *, b) P(void **, c) P(int, d)) \
	K(big, F(int, a) P(struct large, b) P(double, c)) \
	K(beyond_4k, F(char, a) P(struct huge, b) P(void *, c) P(struct large, d)) \
	K(many, F(char, a) P(int, b) P(char, c) P(double, d) P(char, e) P(short, f) P(char, g) P(void *, h) \
		P(char, i) P(struct three, j) P(char, k) P(float, l) P(char, m) P(struct wide, n) P(char, o))
/* clang-format on */

#define SHARED_WORDS 100
