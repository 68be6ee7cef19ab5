/*
 * Assigns slots to registers.  Compilers use a new register for nearly every value: one slot each would make frames of
 * many kilobytes, mostly dead, that no cache holds for all warps of a block.  Registers that are never live at the same
 * time therefore share a slot.
 *
 *	%r1  |----|			a register occupies its slot from the first instruction, in text order,
 *	%r2     |------|		where it is live to the last; %r3 gets the slot of %r1
 *	%r3          |----|
 *
 * Lanes at different places in the code do not disturb each other: each lane has its own element of the slot, and on
 * the path of one lane at most one of the sharing registers is live.
 */
#include "ptx/interp/decode/decode.h"

#include <stdlib.h>
#include <string.h>

enum { NO_REG = UINT32_MAX, WIDTHS = W128 + 1 };

struct slot_assignment {
	const struct ptx_function *f;
	uint32_t *first, *last; /* by register: the range in which it is live; first > last: nowhere */
	uint32_t *starting;     /* by instruction: the registers whose range starts there, a list through next_start */
	uint32_t *ending;       /* by instruction: those whose range ends there, a list through next_end */
	uint32_t *next_start, *next_end;
	uint32_t *next_free;   /* by register: the next register whose slot is free */
	uint32_t free[WIDTHS]; /* by width: the first register whose slot is free */
	uint32_t at;           /* the current instruction */
};

static void extend_range(struct slot_assignment *a, uint32_t r, uint32_t at)
{
	if (at < a->first[r])
		a->first[r] = at;
	if (at > a->last[r])
		a->last[r] = at;
}

static void note_register(void *data, uint32_t r)
{
	struct slot_assignment *a = data;

	extend_range(a, r, a->at);
}

static void extend_ranges(struct slot_assignment *a, const uint64_t *set, uint32_t at)
{
	for (uint32_t i = 0; i < (a->f->nregs + 63) / 64; i++)
		for (uint64_t m = set[i]; m; m &= m - 1)
			extend_range(a, i * 64 + (uint32_t)__builtin_ctzll(m), at);
}

/* Parameters and results in registers are live in the whole function: the caller writes and reads them. */
static void extend_signature(struct slot_assignment *a, struct ptx_var **vars, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (vars[i]->reg == PTX_NOREG || vars[i]->reg >= a->f->nregs)
			continue;
		extend_range(a, vars[i]->reg, 0);
		extend_range(a, vars[i]->reg, a->f->ninsts - 1);
	}
}

static void find_live_ranges(struct slot_assignment *a)
{
	const struct ptx_function *f = a->f;

	for (uint32_t i = 0; i < f->nregs; i++) {
		a->first[i] = NO_REG;
		a->last[i] = 0;
	}
	for (a->at = 0; a->at < f->ninsts; a->at++)
		ptx_inst_regs(&f->insts[a->at], note_register, note_register, a);
	for (uint32_t i = 0; i < f->nblocks; i++) {
		extend_ranges(a, f->blocks[i].live_in, f->blocks[i].first);
		extend_ranges(a, f->blocks[i].live_out, f->blocks[i].end - 1);
	}
	extend_signature(a, f->params, f->nparams);
	extend_signature(a, f->rets, f->nrets);
}

static void list_ranges(struct slot_assignment *a)
{
	for (uint32_t i = 0; i < a->f->ninsts; i++)
		a->starting[i] = a->ending[i] = NO_REG;
	for (uint32_t r = 0; r < a->f->nregs; r++) {
		if (a->first[r] == NO_REG)
			continue;
		a->next_start[r] = a->starting[a->first[r]];
		a->starting[a->first[r]] = r;
		a->next_end[r] = a->ending[a->last[r]];
		a->ending[a->last[r]] = r;
	}
}

/* A result never shares a slot with a source of the same instruction: not every exec function finishes a lane before it
 * reads the next one. */
static uint64_t assign_slots(struct slot_assignment *a, uint32_t *place)
{
	const struct ptx_function *f = a->f;
	uint64_t size = 0;

	for (uint32_t i = 0; i < WIDTHS; i++)
		a->free[i] = NO_REG;
	for (uint32_t i = 0; i < f->ninsts; i++) {
		for (uint32_t r = a->starting[i]; r != NO_REG; r = a->next_start[r]) {
			unsigned width = slot_width(f->regs[r].type);
			uint32_t reuse = a->free[width];

			if (reuse != NO_REG) {
				a->free[width] = a->next_free[reuse];
				place[r] = place[reuse];
			} else {
				place[r] = (uint32_t)size;
				size += slot_size(width);
			}
		}
		for (uint32_t r = a->ending[i]; r != NO_REG; r = a->next_end[r]) {
			unsigned width = slot_width(f->regs[r].type);

			a->next_free[r] = a->free[width];
			a->free[width] = r;
		}
	}
	return size;
}

/* Without liveness information every register gets its own slot. */
static uint64_t assign_one_slot_each(const struct ptx_function *f, uint32_t *place)
{
	uint64_t size = 0;

	for (uint32_t r = 0; r < f->nregs; r++) {
		place[r] = (uint32_t)size;
		size += slot_size(slot_width(f->regs[r].type));
	}
	return size;
}

bool allocate_registers(const struct ptx_function *f, uint32_t *place, uint64_t *size)
{
	size_t regs = f->nregs, insts = f->ninsts;
	struct slot_assignment a = {.f = f};
	uint32_t *all;

	for (uint32_t i = 0; i < f->nblocks; i++) {
		if (!f->blocks[i].live_in) {
			*size = assign_one_slot_each(f, place);
			return true;
		}
	}
	all = calloc(regs * 5 + insts * 2 + 1, sizeof(*all));
	if (!all)
		return false;
	a.first = all;
	a.last = a.first + regs;
	a.next_start = a.last + regs;
	a.next_end = a.next_start + regs;
	a.next_free = a.next_end + regs;
	a.starting = a.next_free + regs;
	a.ending = a.starting + insts;
	find_live_ranges(&a);
	list_ranges(&a);
	*size = assign_slots(&a, place);
	free(all);
	return true;
}
