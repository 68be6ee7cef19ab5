/* staged_copy.h - staged copies. */
#pragma once

#include "backend/remote/wait/wait.h"

/* ---- stage.c: bulk memory on its way up ---- */

#define STAGE_SMALL (32u << 10) /* such copies share a slab of the stream's */

/* A piece of the up arena, waiting for one if need be; it is the caller's. */
CUresult stage_take(struct stream *s, uint32_t size, struct piece *piece);
/* Post a frame with its piece, free again when the device has come past it; args start with a wire_tell. */
CUresult stage_post(struct stream *s, unsigned op, const void *args, size_t size, struct piece piece);
/* A copy of at most STAGE_SMALL bytes. */
CUresult stage_small(struct stream *s, CUdeviceptr dst, const void *src, uint32_t size);
void stage_reclaim(struct stream *s);
void stage_drop(struct stream *s); /* nothing of it is on its way any more */
void later_drop(struct stream *s); /* later.c: the same */

/* ---- later.c: copies of pinned memory that only we see, behind what may fill or read it ---- */

/* Is it such memory, and is there a function or a wait for a value that may come first? */
bool later_must(const void *host);
CUresult later_copy(struct stream *s, const CUDA_MEMCPY3D *c);

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
CUresult copier_run(struct copy_job *j);
