/*
 * layout.h - the layout of shared memory and of frames, byte for byte.
 *
 *	control:	page 0: cursors and sleep flags | board: 8192 x u64 | words, 64 bytes apart
 *	lane:		page 0: cursors and sleep flags | up ring | down ring
 *
 * A frame is a head, a payload rounded up to 8 bytes, and its pieces; in a ring it starts on a cache line. Ring pages are
 * mapped twice in a row, so no frame wraps. Cursors count bytes and never decrease.
 *
 * The board maps tickets to lanes: slot (ticket mod 8192) holds ticket + 1 and the lane's number. Writing the slot
 * publishes the frame, so the reader of all lanes polls a single slot. A client draws a ticket only while fewer than
 * 8192 - 1024 frames are unread, so no slot is overwritten before it is read.
 *
 * A flag is odd while a thread sleeps on it (a futex: wait.h). The sleeper sets the flag and checks its condition again
 * before it sleeps; the other side changes the condition, then checks the flag, clears it and wakes. All four accesses
 * are sequentially consistent, so at least one of the two sees the other.
 */
#pragma once

#include <stdatomic.h>
#include "transport/transport.h"

#define LINE        64
#define BOARD_SLOTS 8192u
#define LANE_BITS   16
#define RING_MIN    (16u << 10)
#define RING_MAX    (16u << 20)
#define WORDS_MAX   65536u

enum frame_kind {
	FRAME_PLAIN = 1,
	FRAME_WORD, /* op is the index of the word, ticket its value */
	FRAME_BEAT, /* over TCP: a heartbeat, nothing but a head */
};

struct frame_head {
	uint32_t payload; /* bytes; the only length in the head */
	uint32_t op;
	uint64_t ticket;
	uint16_t lane;
	uint8_t npieces;
	uint8_t kind;
	uint32_t marks; /* over TCP: marks behind the pieces, if extra connections carry the bytes; else 0 */
};

struct control {
	_Alignas(2 * LINE) _Atomic uint64_t done;         /* written by the reader: tickets taken */
	_Alignas(2 * LINE) _Atomic uint32_t reader_sleep; /* flag: the reader waits for a frame */
	_Alignas(2 * LINE) _Atomic uint32_t space_sleep;  /* flag: a client thread waits for room */
};

struct lane_control {
	_Alignas(2 * LINE) _Atomic uint64_t up_head;     /* written by the reader */
	_Alignas(2 * LINE) _Atomic uint64_t down_tail;   /* written by the server */
	_Alignas(2 * LINE) _Atomic uint64_t down_head;   /* written by the client */
	_Alignas(2 * LINE) _Atomic uint32_t reply_sleep; /* flag: the client waits for a reply */
	_Alignas(2 * LINE) _Atomic uint32_t room_sleep;  /* flag: the server waits for room in the down ring */
};

struct word {
	_Alignas(WORD_STRIDE) _Atomic uint32_t value;
	_Atomic uint32_t sleep;
};

_Static_assert(sizeof(struct frame_head) == 24, "the head is part of the protocol");
_Static_assert(sizeof(struct word) == WORD_STRIDE, "words lie WORD_STRIDE apart");
_Static_assert(sizeof(struct control) <= 4096 && sizeof(struct lane_control) <= 4096, "one page each");
_Static_assert(BOARD_SLOTS > 2 * LINK_LANES, "room for one frame of every lane, and many more");

static inline uint32_t frame_bytes(uint32_t payload, unsigned npieces)
{
	return sizeof(struct frame_head) + ((payload + 7u) & ~7u) + npieces * sizeof(struct piece);
}

/* Bytes of a frame in a ring. */
static inline uint32_t record_bytes(uint32_t payload, unsigned npieces)
{
	return (frame_bytes(payload, npieces) + LINE - 1) & ~(LINE - 1u);
}

#define load_relaxed(p)     atomic_load_explicit(p, memory_order_relaxed)
#define load_acquire(p)     atomic_load_explicit(p, memory_order_acquire)
#define load_ordered(p)     atomic_load_explicit(p, memory_order_seq_cst)
#define store_relaxed(p, v) atomic_store_explicit(p, v, memory_order_relaxed)
#define store_release(p, v) atomic_store_explicit(p, v, memory_order_release)
#define store_ordered(p, v) atomic_store_explicit(p, v, memory_order_seq_cst)
