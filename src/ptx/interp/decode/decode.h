/* decode.h - the state of decoding one function.  Shared by decode*.c and slots.c, of nobody else's
 * interest. */
#pragma once

#include "ptx/interp/core.h"

enum {
	MAX_FRAME = 1 << 25,  /* bytes of slots */
	MAX_PARAMS = 1 << 18, /* bytes of .param memory a lane */
	MAX_LOCAL = 1 << 19,  /* of .local memory, as on a GPU */
	MAX_TEMPS = 16,
	CONST_BUCKETS = 64
};

struct known_const {
	uint64_t value;
	uint32_t slot, next; /* next: one more than the index of another in the bucket; 0 ends */
	uint8_t width;
};

struct decoder {
	struct interp_program *program;
	struct ptx_function *fn;
	struct xfunc *func;
	struct decode_error *e;
	uint32_t *regs; /* slot by register */
	uint32_t regs_size;
	uint32_t *map; /* instruction -> decoded instruction */
	bool *join_at; /* by instruction */
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
	uint32_t temps[MAX_TEMPS], temps_used, sink, true_slot;
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
uint32_t decode_temporary(struct decoder *d); /* for the next instruction alone */
uint32_t decode_sink(struct decoder *d);      /* what nobody reads */
uint32_t decode_relocated(struct decoder *d, const struct ptx_var *v, int64_t addend, unsigned width);
void fill_slot(uint8_t *slot, unsigned width, uint64_t v);
void decode_no_memory(struct decoder *d);
bool decode_grow(struct decoder *d, void **array, uint32_t n, uint32_t *cap, size_t size); /* room for one more */
uint32_t slot_size(unsigned width);

/* slots.c: a place for every register, in bytes from the start of the frame, and how many bytes that takes.
 * false: no memory. */
bool slots_assign(const struct ptx_function *f, uint32_t *place, uint64_t *size);

/* decode_select.c.  NULL: not supported, or decode_fail has been called. */
exec_fn decode_select(struct decoder *d, const struct ptx_inst *in, struct xinst *x);
bool decode_fragments_good(const struct decoder *d, const struct ptx_inst *in, const struct xinst *x);

/* decode_flow.c */
void decode_bra(struct decoder *d, uint32_t i);
void decode_brx(struct decoder *d, uint32_t i);
void decode_call(struct decoder *d, const struct ptx_inst *in);
void decode_signature(struct decoder *d);
