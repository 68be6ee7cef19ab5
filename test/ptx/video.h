/*
 * video.h - a model of the video instructions, for the test ptx-video.
 *
 * The model follows the pseudo-code of the PTX manual and shares no code with the interpreter.  Where an H200 differs
 * from the manual (vmad), the model follows the H200.
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
	bool sign[3];      /* of the result, a and b; vset has no result type */
	bool sat, wrap, po;
	unsigned shift; /* vmad: 0, 7 or 15 */
	char second;    /* 0, or + < > with c */
	char compare;   /* vset: = ! < > l g */
	bool minus[3];  /* vmad: signs of a, b, c */
	bool merge;     /* scalar: the result replaces part[0] of c */
	struct part part[3];
	bool selected[3];      /* several elements: the text has mask, select[0], select[1] */
	bool mask[4];          /* the elements of the result that are written */
	unsigned select[2][4]; /* element numbers: those of a, then those of b */
};

/* The result for a, b and c. */
uint32_t video_model(const struct video *v, uint32_t a, uint32_t b, uint32_t c);
