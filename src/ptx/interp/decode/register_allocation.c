/*
 * Registers to slots.  A compiler's PTX names a new register for nearly every value, so a slot for each would
 * make a frame of many kilobytes, most of it dead at any time, and no cache would hold those of a block.
 * Registers that never live at the same time share a slot.
 *
 *	%r1  |----|			a register occupies its slot from the first place, in the order of
 *	%r2     |------|		the text, where it is live to the last; %r3 gets that of %r1
 *	%r3          |----|
 *
 * Lanes in different places of the code do not disturb each other: every lane has its own element of the slot,
 * and each follows a path of its own, along which at most one of the sharers is live.
 */
#include "ptx/interp/decode/decode.h"

#include <stdlib.h>
#include <string.h>

enum { NO_REG = UINT32_MAX, WIDTHS = W128 + 1 };

struct slot_assignment {
	const struct ptx_function *f;
	uint32_t *first, *last; /* by register: where it is live; first > last: nowhere */
	uint32_t *starting;     /* by instruction: the registers that start there, a list through next_start */
	uint32_t *ending;       /* the same of those that end */
	uint32_t *next_start, *next_end;
	uint32_t *next_free; /* by register: the next in a list of those whose slot is free */
	uint32_t free[WIDTHS];
	uint32_t at; /* the instruction being looked at */
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

/* Parameters and results that are registers belong to the caller, too. */
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

/* An instruction's sources and results are never given one slot: the last use comes before the first write
 * only if each lane is done before the next, which not every instruction promises. */
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

/* One for each, where nothing is known of their lives. */
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
