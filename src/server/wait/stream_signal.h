/*
 * stream_signal.h - tell the client that a stream has reached a point, by writing a word.
 *
 * The device writes the word itself where it reaches the link's words; elsewhere a wait thread does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "abi/cuda.h"

struct piece;
struct session;

#define FOLLOWERS 32

/*
 * A follower is a stream of the worker's that waits for one event and then writes a word, so that the word is written
 * when the event completes and not later.  A follower that still waits is not used for another event, which could
 * complete first.
 */
struct follower {
	CUcontext context; /* NULL: not created yet */
	CUstream stream;
	uint32_t word, value; /* the signal it was given last */
};

struct followers {
	struct follower slot[FOLLOWERS];
};

/* May the client name this word? */
bool signal_word_valid(struct session *s, uint32_t word);

/*
 * Sets the word when `stream` reaches this point.  `piece` (may be NULL) of the down arena then holds its bytes.
 * A failure is reported as an async error, and the word is set all the same: the client must not wait for ever.
 */
void signal_stream(struct session *s, CUstream stream, uint32_t word, uint32_t value, const struct piece *piece);

/* Sets the word now. */
void signal_now(struct session *s, uint32_t word, uint32_t value);

/* The context has ended, and the followers in it: sets the words that they will not write any more. */
void signal_context_ended(struct session *s, CUcontext context);
