/*
 * wire.h - what a call looks like as bytes.
 *
 *	frame up	| wire_request | struct wire_cuX | in-arrays, each padded to 8 |
 *	frame down	| wire_reply   | out-values and out-arrays, each padded to 8   |
 *
 * Both ends are LP64 and little-endian (the hello refuses others), so that a struct travels as it is.  Both sides compute
 * the sizes of arrays from the arguments, by the same rule: no length travels twice.  Handles are numbers that the server
 * gives out (server/session/handles.h); device addresses travel as they are.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "abi/cuda.h"
#include "gen/cuda_wire.h"
#include "wire/code.h"
#include "wire/graph.h"

/* First in every frame up. */
struct wire_request {
	uint64_t context; /* the current context of the calling thread; 0: none */
};

/* In place of a context: it has ended, or the thread runs a callback.  The server does not make such calls. */
#define WIRE_CONTEXT_ENDED    (~0ull - 1)
#define WIRE_CONTEXT_CALLBACK (~0ull)

/* First in every frame down. */
struct wire_reply {
	int32_t result;
	int32_t value; /* of an NVML call: its return value; the out-values follow whatever it is (wire/nvml.h) */
};

/*
 * The server counts failed posted calls in a word of each context, and in word 0 for calls without a context: the count
 * in the upper half, the latest result in the lower.  Other words belong to streams and events and count what is done.
 */
#define WIRE_ERROR_WORD             0
#define WIRE_MIRROR_WORD            1 /* over TCP: grows when mirrors have changed, before the word that the client waits for */
#define WIRE_ERROR_COUNT(n, result) ((uint32_t)(n) << 16 | (uint16_t)(result))

/* Operations beside the entry points of CUDA: ops.def lists them.  Smaller numbers are those of api/cuda.api. */
enum wire_op {
#define OP(number, op, serve, reply) op = number,
#include "wire/ops.def"
#undef OP
	WIRE_OPS_END
};

#define WIRE_OPS_FIRST WIRE_DEVICES
#define WIRE_OPS       (WIRE_OPS_END - WIRE_OPS_FIRST)

/* ended: errors of the context are no longer counted, and its word is not written until it gets a new one. */
struct wire_context {
	uint64_t context;
	uint32_t word; /* WIRE_ERROR_WORD: the context has no word of its own */
	uint32_t ended;
};

/* A client that has lost its worker must not use handles of that worker with a new one: their generations differ. */
struct wire_renew {
	uint32_t generation; /* handles of this session have higher ones; below 2^24 */
	uint32_t unused;
};

/* Both are handles of one kind: a primary context or a kernel, which outlive a reset. */
struct wire_alias {
	uint64_t former, now;
};

#define WIRE_ALIASES (1u << 17) /* at most */

/* Behind these heads: launch parameters. */
struct wire_launch {
	uint64_t function, stream;
	uint32_t grid[3], block[3], shared;
	uint32_t cooperative;
	uint32_t attributes; /* CUlaunchAttribute that follow */
	uint32_t params;     /* bytes of parameters behind those */
	uint32_t prints;     /* the kernel may call printf */
	uint32_t unused;
};

/* The word to write when the operation is done, and its value; word 0: none.  The first member of each struct that has it. */
struct wire_signal {
	uint32_t word, value;
};

/* Up: from the frame's piece of the arena, or from shared memory.  Down: to them. */
struct wire_copy {
	struct wire_signal done;
	uint64_t device; /* its address */
	uint64_t host;   /* an address in shared memory; 0: the arena */
	uint64_t size;
	uint64_t stream;
	uint32_t offset; /* down: in the arena */
};

enum wire_side_kind {
	WIRE_SIDE_DEVICE, /* what: an address */
	WIRE_SIDE_SHARED, /* what: an address in shared memory */
	WIRE_SIDE_ARRAY,  /* what: its number */
	WIRE_SIDE_BULK,   /* what: an offset in the up (source) or down (destination) arena; rows are packed */
	WIRE_SIDE_LATER,  /* the same, but a host call before or after it moves the bytes */
};

struct wire_side {
	uint32_t kind, lod;
	uint64_t what;
	uint64_t x, y, z, pitch, height;
	uint64_t context; /* of copies between devices; else 0 */
};

struct wire_block {
	struct wire_signal done;
	struct wire_side src, dst;
	uint64_t width, height, depth; /* bytes, rows, slices */
	uint64_t stream;
	uint32_t peer; /* the contexts of the sides are valid */
};

/* Attributes of a pointer: 64-bit values, in the order of CUpointer_attribute. */
#define WIRE_POINTER_ATTRS 32

struct wire_pointer_ask {
	uint64_t address;
	uint32_t set, value; /* set: CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first */
};

struct wire_pointer {
	int32_t result[WIRE_POINTER_ATTRS];
	uint64_t value[WIRE_POINTER_ATTRS];
};

struct wire_texture {
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC texture;
	CUDA_RESOURCE_VIEW_DESC view;
	uint32_t surface, has_view;
};

/* Arguments of all four calls; those that a call lacks are 0.  The server encodes addresses and never follows them. */
enum wire_tensor_kind { WIRE_TENSOR_TILED, WIRE_TENSOR_IM2COL, WIRE_TENSOR_WIDE, WIRE_TENSOR_REPLACE };

#define WIRE_TENSOR_RANK 5

struct wire_tensor {
	uint32_t kind, type, rank, has_strides;
	uint64_t address;
	uint64_t dim[WIRE_TENSOR_RANK], stride[WIRE_TENSOR_RANK];
	uint32_t box[WIRE_TENSOR_RANK], step[WIRE_TENSOR_RANK];
	int32_t lower[WIRE_TENSOR_RANK], upper[WIRE_TENSOR_RANK];
	uint32_t channels, pixels, interleave, mode, swizzle, promotion, fill, unused;
	uint64_t map[16]; /* the map whose address is replaced */
};

struct wire_pool {
	uint64_t pool, value;
	uint32_t attribute, set;
};

/* object is a number: of an allocation (CUmemGenericAllocationHandle) or a pool; id names the descriptor. */
struct wire_share {
	uint64_t object, id, flags;
	uint32_t pool, type;
};

struct wire_mirror {
	uint64_t address, size;
	uint32_t
		variable; /* a variable of a module, in memory of the driver; else host memory that was mapped for the client */
	uint32_t clear; /* host memory may hold bytes of an earlier mirror: the server clears it */
};

#define WIRE_MIRROR_BYTES (64u << 10)

/* The reply to WIRE_MIRROR_DOWN; runs follow, each with its bytes, padded. */
struct wire_mirrored {
	uint64_t cursor;
	uint32_t runs, more; /* more: ask again, from cursor on */
};

struct wire_run {
	uint64_t address, size;
};

/* Host memory at the same address on both sides; id names the descriptor (link_send_fd); 0: the server's own memory. */
struct wire_host {
	uint64_t address, size, id;
};

enum wire_sync_kind { WIRE_SYNC_STREAM, WIRE_SYNC_EVENT, WIRE_SYNC_CONTEXT };

struct wire_sync {
	uint32_t kind;
	uint32_t word, value;
	uint64_t what; /* the stream's or event's number */
};

static inline size_t wire_pad(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/* SIZE_MAX / 2 on overflow: no frame is that large. */
static inline size_t wire_bytes(size_t count, size_t size)
{
	return count > SIZE_MAX / 2 / size ? SIZE_MAX / 2 : count * size;
}

/*
 * The bytes of a struct whose first word has its size below and its version above; `ours` is the size we know.
 * A word that cannot be one, or a size far from ours: the word alone, which whoever reads it will refuse.
 */
static inline size_t wire_sized(const void *p, size_t ours)
{
	uint32_t version;

	memcpy(&version, p, sizeof version);
	size_t size = version & 0xffffff;
	return size < sizeof version || size > 2 * ours + 64 || version >> 24 > 16 ? sizeof version : size;
}

/* A string with its NUL. */
static inline uint32_t wire_text(const char *s)
{
	size_t n = strlen(s) + 1;

	return n < UINT32_MAX ? n : UINT32_MAX;
}

/* An array that goes with a call. */
struct wire_piece {
	void *data;
	size_t size;
};
