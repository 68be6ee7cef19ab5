/*
 * decode.h - the decoder: from a checked and analysed function to the xinst array that warps run.  Private to decode/
 * and launch.c.
 *
 * Errors are sticky: the first one is kept in d->e, and later calls return slot 0 or a dummy instruction, so that
 * callers test d->e->err only at the end.
 */
#pragma once

#include "ptx/interp/core.h"

enum {
	MAX_FRAME = 1 << 25,  /* bytes of slots */
	MAX_PARAMS = 1 << 18, /* bytes of .param memory per lane */
	MAX_LOCAL = 1 << 19,  /* bytes of .local memory per lane, as on a GPU */
	MAX_TEMPS = 16,
	CONST_BUCKETS = 64
};

struct known_const {
	uint64_t value;
	uint32_t slot, next; /* next: index of the next entry in the bucket, plus 1; 0 ends */
	uint8_t width;
};

struct decoder {
	struct interp_program *program;
	struct ptx_function *fn;
	struct xfunc *func;
	struct decode_error *e;
	uint32_t *regs;     /* by register: its slot */
	uint32_t regs_size; /* bytes of the registers' slots */
	uint32_t *map;      /* by instruction: index of its first decoded instruction */
	bool *join_at;      /* by instruction: an x_join comes before it */
	struct xinst *insts, dummy;
	uint32_t ninsts, insts_cap;
	uint8_t *consts;
	uint32_t consts_size, consts_cap;
	struct known_const *known;
	uint32_t nknown, known_cap, buckets[CONST_BUCKETS];
	struct const_reloc *relocs;
	uint32_t nrelocs, relocs_cap;
	uint32_t *lists;
	uint8_t *list_widths;
	uint32_t nlists, lists_cap;
	uint32_t temps[MAX_TEMPS], temps_used; /* temporaries; used by the current instruction */
	uint32_t sink, true_slot;
	const struct ptx_var **origins; /* checked mode: by register, see checked_origins; else NULL */
};

/* decode.c */
__attribute__((format(printf, 4, 5))) void decode_fail(
	struct decoder *d, int err, const struct ptx_inst *in, const char *fmt, ...);
uint32_t decode_var(struct decoder *d, const struct ptx_inst *in, const struct ptx_var *v, int64_t imm, unsigned width);
uint32_t decode_operand(struct decoder *d, const struct ptx_inst *in, const struct ptx_operand *o, uint8_t *width);
void decode_guard(struct decoder *d, const struct ptx_inst *in, struct xinst *x);
struct xinst *decode_emit(struct decoder *d, exec_fn run, const struct ptx_inst *in);

/* decode_slot.c; each returns a slot, or fails and returns 0. */
void decode_registers(struct decoder *d);
uint32_t decode_const(struct decoder *d, unsigned width, uint64_t v);
uint32_t decode_temporary(struct decoder *d); /* valid for the current instruction only */
uint32_t decode_sink(struct decoder *d);      /* for results that no instruction reads */
uint32_t decode_relocated(struct decoder *d, const struct ptx_var *v, int64_t addend, unsigned width);
void slot_fill(uint8_t *slot, unsigned width, uint64_t v);
void decode_no_memory(struct decoder *d);
bool decode_grow(
	struct decoder *d, void **array, uint32_t n, uint32_t *cap, size_t size); /* room for one element more */
uint32_t slot_size(unsigned width);                                               /* bytes */

/* register_allocation.c: the slot of every register, and *size, the bytes of all slots. False: no memory */
bool allocate_registers(const struct ptx_function *f, uint32_t *place, uint64_t *size);

/* decode_select.c.  The exec function; NULL: not supported, or decode_fail was called. */
exec_fn decode_select(struct decoder *d, const struct ptx_inst *in, struct xinst *x);
/* True if the registers of matrix fragments have the width that the exec function needs. */
bool decode_fragments_valid(const struct decoder *d, const struct ptx_inst *in, const struct xinst *x);

/* decode_flow.c */
void decode_bra(struct decoder *d, uint32_t i);
void decode_brx(struct decoder *d, uint32_t i);
void decode_call(struct decoder *d, const struct ptx_inst *in);
void decode_signature(struct decoder *d);
