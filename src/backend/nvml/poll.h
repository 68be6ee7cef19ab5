/*
 * poll.h - the questions of a monitor's poll, asked together.
 *
 * A monitor asks the same things every second, one after the other, and waits for the server each time.  Here is kept
 * what the last poll asked for; when the next one begins, the first question takes the others with it:
 *
 *	a question ─▶ its answer came with another's, less than 10 ms ago?  that, once
 *	              no: had the last poll it?  it and what else that had ─▶ one exchange ─▶ answers, kept
 *	              no: by itself
 *
 * Only sensors are asked before their turn (sensor.h), each of them once for each time that it was asked for in the poll
 * before: whatever a program asks, and however, its server has at most twice as many questions, in no more exchanges.
 * A poll ends with 20 ms without a question, or when something is asked again that it had already.
 *
 * The caller locks, and says what time it is: in ms, of a clock that only goes forward.
 *
 * Trust: none in the server's answers.
 */
#pragma once

#include <stdbool.h>
#include "wire/nvml.h"
#include "wire/pack.h"

#define POLL_ANSWER 64 /* bytes of one answer, at most */

struct poll_ask {
	size_t size, expected; /* bytes; size 0: there is nothing to ask together */
	uint8_t bytes[WIRE_NVML_TOGETHER_MOST * (sizeof(struct wire_nvml_one) + WIRE_NVML_TOGETHER_ARGS)];
	uint8_t answer[WIRE_NVML_TOGETHER_MOST * (sizeof(struct wire_nvml_said) + POLL_ANSWER)];
};

/* false: from now on everything is asked by itself. */
void poll_use(bool together);

/* A question comes.  True: its answer is in `out` and `result`. */
bool poll_find(uint64_t now, unsigned op, const void *args, size_t size, unsigned nin, const struct wire_piece *out,
	unsigned nout, int *result);

/* What is to be asked in its place, with it. */
void poll_together(struct poll_ask *ask);

/* That has been answered, `expected` bytes.  False: the answer makes no sense; else poll_found has the question's. */
bool poll_take(uint64_t now, const struct poll_ask *ask);
bool poll_found(uint64_t now, const struct wire_piece *out, unsigned nout, int *result);

/* The program has its answer. */
void poll_done(uint64_t now);

/* All of it: also in a child that was forked in the midst of any of these. */
void poll_forget(void);
