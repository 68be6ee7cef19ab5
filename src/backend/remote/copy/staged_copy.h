/*
 * staged_copy.h - copies between the device and host memory that the worker cannot reach: pageable memory, and over TCP
 * pinned memory.
 *
 * The bytes travel through a piece of an arena.  A copy that is larger than its piece is made part by part (block.h):
 *
 *	up	take a piece ─▶ pack rows into it ─▶ post the copy ─▶ the device reads it ─▶ free the piece
 *	down	take a piece ─▶ post the copy ─▶ the device writes it ─▶ unpack rows from it ─▶ free the piece
 *
 * There are three ways to make a staged copy.  They share struct staged_copy and staged_copy_move, and differ in when
 * the steps are done, and by which thread:
 *
 *			immediate		deferred			in a graph
 *			---------		--------			----------
 *	used for	pageable memory; and	pinned memory, when a host	all staged copies in a graph
 *			pinned memory that	function or a value wait may	or a captured stream
 *			nothing else fills	have to come first
 *	created by	staged_copy_up,		deferred_copy_post		graph_copy_create
 *			staged_copy_down,				(graph/graph_copy.h)
 *			copy.c
 *	lives		on the caller's stack	until its callback has run	until graph and executable
 *								graphs are gone
 *	piece		one for each part	one for each stream and		one for each copy
 *						direction
 *	bytes move	during the call, on	when the stream gets there,	at each launch, on the
 *			the calling thread	on the callback thread		callback thread
 *			and copy threads
 *	piece freed	up: when the stream's	with the stream:		with the copy
 *			word says that the	deferred_copy_drop
 *			device has read it
 *			(staging.c)
 *			down: before return
 *
 * A stream's copy_lock is held from a copy's first part to its last.
 */
#pragma once

#include "backend/remote/copy/block.h"

struct staged_copy {
	struct block block;
	bool up;            /* host memory to device; else device to host memory */
	struct piece piece; /* deferred and graph copies: where their parts are staged, one after another; size 0: none,
			       both sides are host memory */
};

void staged_copy_init(struct staged_copy *c, const struct block *b);
void staged_copy_init_linear(
	struct staged_copy *c, bool up, CUdeviceptr device, const void *host, size_t size, size_t part_max);
/* Both sides are host memory: nothing is staged. */
bool staged_copy_is_local(const struct staged_copy *c);
/* Moves the bytes of a part between host memory and the piece, in the copy's direction; or all bytes if it is local. */
void staged_copy_move(const struct staged_copy *c, const struct part *p, struct piece piece);

/* ---- staged_copy.c: immediate copies ---- */

/* All parts, one after another.  Up: the host memory is the caller's again on return.  Down: the bytes have arrived. */
CUresult staged_copy_up(const struct staged_copy *c, struct stream *s);
CUresult staged_copy_down(const struct staged_copy *c, struct stream *s);
/* Parts alone, for copies by several threads. */
CUresult staged_part_up(const struct staged_copy *c, const struct part *p, struct stream *s);
/* Posts the copy of a part to `piece`; the stream's word has *value when the bytes are there. */
CUresult staged_part_post_down(
	const struct staged_copy *c, const struct part *p, struct piece piece, struct stream *s, uint32_t *value);
/* Takes a piece of the down arena.  Waits only for other threads' copies, which end by themselves. */
CUresult staged_piece_take_down(uint32_t size, struct piece *piece);

/* Makes the copy later: as a node of the stream's capture, or as a deferred copy. */
CUresult staged_copy_defer(struct stream *s, const CUDA_MEMCPY3D *c);

/* ---- staging.c: pieces of the up arena that the device has yet to read ---- */

#define STAGING_SMALL (32u << 10) /* copies up to this size share a slab of the stream */

/* A piece, which belongs to the caller; waits until one is free. */
CUresult staging_take(struct stream *s, uint32_t size, struct piece *piece);
/* Posts a frame, whose args start with a wire_signal, with its piece; the piece is freed when the device has read it. */
CUresult staging_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece);
/* A whole copy of at most STAGING_SMALL bytes. */
CUresult staging_copy_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size);
void staging_reclaim(struct stream *s); /* frees the pieces that the device has read */
void staging_drop(struct stream *s);    /* frees all: nothing is in flight any more */

/* Pieces that are kept for long, by deferred and graph copies.  The more there are, the smaller they get. */
#define KEPT_PIECE_MIN (BLOCK_PART_MAX / 64)

size_t kept_piece_size(bool up); /* the size to ask for now */
bool kept_piece_take(bool up, size_t size, struct piece *piece);
void kept_piece_give(bool up, struct piece piece);

/* ---- deferred_copy.c ---- */

/* Is this pinned memory that the worker cannot reach, and may a host function or a value wait have to come first? */
bool deferred_copy_needed(const void *host);
CUresult deferred_copy_post(struct stream *s, const CUDA_MEMCPY3D *c);
void deferred_copy_drop(struct stream *s); /* frees the stream's pieces: nothing is in flight any more */

/* ---- block_copy.c ---- */

/* `peer`: the contexts of the sides count.  `wait`: as the synchronous entry points do. */
CUresult block_copy(const CUDA_MEMCPY3D_PEER *p, bool peer, CUstream stream, bool wait);
CUresult block_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool wait);

/* ---- copy_threads.c: large copies by several threads ---- */

struct copy_job {
	struct copy_job *next;
	CUresult (*chunk)(struct copy_job *j, unsigned index);
	unsigned count;   /* chunks */
	unsigned helpers; /* copy threads at work on it */
	const _Atomic(uint64_t) *context;
	_Atomic(unsigned) taken; /* chunks handed out */
	_Atomic(CUresult) error;
};

/* Calls chunk() for all indices, some of them on other threads; returns when all calls have returned. */
CUresult copy_threads_run(struct copy_job *j);
/* Ends the threads.  No copy may be under way. */
void copy_threads_stop(struct copy_state *s);

/* ---- copy.c ---- */

void copy_forget_thread(void); /* the thread has moved to another client */
