/*
 * block.h - copies of blocks between any two kinds of memory.
 *
 * All of CUDA's ways to say "copy" other than a plain run of bytes come down to CUDA_MEMCPY3D_PEER.
 */
#pragma once

#include "backend/remote/remote.h"

/* `peer`: the sides' contexts count.  `wait`: as the synchronous calls do. */
CUresult block_copy(const CUDA_MEMCPY3D_PEER *p, bool peer, CUstream stream, bool wait);
CUresult block_copy3d(const CUDA_MEMCPY3D *p, CUstream stream, bool wait);
