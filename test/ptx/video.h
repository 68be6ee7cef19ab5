/*
 * video.h - a video instruction as a test sees it, and what it must give.
 *
 * The model is written from the PTX manual's pseudo-code and shares nothing with the interpreter, whose
 * answers it judges.  Where an H200 was seen to do otherwise (vmad), it does as that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum video_op { ADD, SUB, ABSDIFF, MIN, MAX, AVRG, SHL, SHR, MAD, SET };

/* Parts of a word: all of it, a byte, a half. */
struct part {
	unsigned bits; /* 32, 8, 16 */
	unsigned at;   /* 0..3, 0..1 */
};

struct video {
	enum video_op op;
	unsigned elements; /* 1, 2 or 4 */
	bool sign[3];      /* of the result, a and b; vset: the first is not written */
	bool sat, wrap, po;
	unsigned shift; /* vmad: 0, 7 or 15 */
	char second;    /* 0, or + < > with c */
	char compare;   /* vset: = ! < > l g */
	bool minus[3];  /* vmad: signs of a, b, c */
	bool merge;     /* scalar: the result goes into part[0] of c */
	struct part part[3];
	bool selected[3];      /* several elements: mask, select[0] and [1] are written */
	bool mask[4];          /* which elements of the result */
	unsigned select[2][4]; /* of a's and b's elements, numbered through */
};

/* a, b and c to the result. */
uint32_t video_model(const struct video *v, uint32_t a, uint32_t b, uint32_t c);
