/* access.h - one access to memory by the lanes of a warp: its addresses and their check.  Private to the emitters. */
#pragma once

#include "ptx/jit/compile/compile.h"

struct access_plan {
	const struct xinst *x;
	enum access access;
	const struct ptx_operand *value; /* a register or a vector of registers */
	bool store;
	unsigned bytes; /* of an element in memory */
	unsigned n;     /* elements */
	unsigned align; /* log2 of the size of one lane's access */
	uint32_t site;  /* NO_SLOT, or the access site */
	bool is_signed;
	LLVMValueRef scalar; /* address or offset of lane 0; NULL: it is a vector */
	LLVMValueRef vector;
	int64_t stride; /* between lanes; 0: uniform */
	LLVMValueRef mask;
};

static inline unsigned access_bytes(const struct access_plan *p) /* of one lane */
{
	return p->bytes * p->n;
}

/* Reads the address operand, of `bits`; false: not in this form. */
bool access_address(struct compiler *c, struct access_plan *p, const struct ptx_operand *o, unsigned bits);
uint64_t access_span(const struct access_plan *p); /* bytes from the first one of any lane to the last */
/* True (i1) if the addresses of all lanes in the mask are accessible and aligned. */
LLVMValueRef access_check(struct compiler *c, struct access_plan *p);
/* A pointer, or a vector of them. base: NULL for addresses; offsets have been checked. */
LLVMValueRef access_pointer(struct compiler *c, LLVMValueRef base, LLVMValueRef offset);
/* Charges the budget for an access by which a kernel may wait. */
void access_charge(struct compiler *c);

/* ---- access_move.c: data, once the addresses have been checked ------------------------------------- */

/* True if the processor has masked accesses, gathers and scatters for elements of this size. */
bool access_has_masked(const struct compiler *c, unsigned bytes);
bool access_has_gather(const struct compiler *c, unsigned bytes);
void access_write_element(struct compiler *c, const struct access_plan *p, unsigned e, LLVMValueRef v);
void access_move_dense(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_load_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_store_interleaved(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_load_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_store_uniform(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_move_scattered(struct compiler *c, const struct access_plan *p, LLVMValueRef at);
void access_move_halves(struct compiler *c, const struct access_plan *p, LLVMValueRef base, bool dense);
