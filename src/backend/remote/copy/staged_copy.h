/* staged_copy.h - staged copies. */
#pragma once

#include "backend/remote/wait/wait.h"

/* ---- stage.c: bulk memory on its way up ---- */

#define STAGING_SMALL (32u << 10) /* such copies share a slab of the stream's */

/* A piece of the up arena, waiting for one if need be; it is the caller's. */
CUresult staging_take(struct stream *s, uint32_t size, struct piece *piece);
/* Post a frame with its piece, free again when the device has come past it; args start with a wire_tell. */
CUresult staging_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece);
/* A copy of at most STAGING_SMALL bytes. */
CUresult staging_post_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size);
void staging_reclaim(struct stream *s);
void staging_drop(struct stream *s);       /* nothing of it is on its way any more */
void deferred_copy_drop(struct stream *s); /* later.c: the same */

/* ---- later.c: copies of pinned memory that only we see, behind what may fill or read it ---- */

/* Is it such memory, and is there a function or a wait for a value that may come first? */
bool deferred_copy_needed(const void *host);
CUresult deferred_copy_post(struct stream *s, const CUDA_MEMCPY3D *c);

/* ---- copier.c: large copies by several threads ---- */

struct copy_job {
	struct copy_job *next;
	CUresult (*chunk)(struct copy_job *j, unsigned index);
	unsigned count;
	unsigned inside; /* helpers at work on it */
	const _Atomic(uint64_t) *context;
	_Atomic(unsigned) taken;
	_Atomic(CUresult) error;
};

/* Runs chunk() for all indices, some of them on other threads; returns when all have returned. */
CUresult copy_threads_run(struct copy_job *j);
