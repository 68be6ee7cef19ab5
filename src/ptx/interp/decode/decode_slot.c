/*
 * Slots of a frame: registers, constants, addresses and temporaries.  Each slot holds a value for all lanes.
 *
 *	frame:	| registers | constants, addresses, temporaries |
 *		0           regs_size                           frame_size
 */
#include "ptx/interp/decode/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void decode_no_memory(struct decoder *d)
{
	decode_fail(d, -ENOMEM, NULL, "out of memory");
}

bool decode_grow(struct decoder *d, void **array, uint32_t n, uint32_t *cap, size_t size)
{
	void *p;

	if (n < *cap)
		return true;
	p = realloc(*array, (size_t)(*cap ? *cap * 2 : 64) * size);
	if (!p) {
		decode_no_memory(d);
		return false;
	}
	*array = p;
	*cap = *cap ? *cap * 2 : 64;
	return true;
}

uint32_t slot_size(unsigned width)
{
	return width == WPRED ? 64 : 32u << width;
}

void decode_registers(struct decoder *d)
{
	uint64_t size;

	if (!allocate_registers(d->fn, d->regs, &size))
		decode_no_memory(d);
	else if (size > MAX_FRAME)
		decode_fail(d, -ENOTSUP, NULL, "%s has too many registers", d->fn->name);
	d->regs_size = (uint32_t)size;
}

/* Adds a zeroed slot after the registers. */
static uint32_t new_slot(struct decoder *d, unsigned width)
{
	uint32_t at = d->consts_size, size = slot_size(width);
	uint8_t *p;

	if (at + size > MAX_FRAME) {
		decode_fail(d, -ENOTSUP, NULL, "%s has too many constants", d->fn->name);
		return 0;
	}
	if (at + size > d->consts_cap) {
		p = realloc(d->consts, (size_t)(at + size) * 2);
		if (!p) {
			decode_no_memory(d);
			return 0;
		}
		d->consts = p;
		d->consts_cap = (at + size) * 2;
	}
	memset(d->consts + at, 0, size);
	d->consts_size += size;
	return d->regs_size + at;
}

void slot_fill(uint8_t *slot, unsigned width, uint64_t v)
{
	for (unsigned i = 0; i < LANES; i++) {
		if (width == W16)
			((uint16_t *)slot)[i] = (uint16_t)v;
		else if (width == W32)
			((uint32_t *)slot)[i] = (uint32_t)v;
		else if (width == W64)
			((uint64_t *)slot)[i] = v;
		else if (width == W128)
			((uint64_t *)slot)[2 * i] = v;
	}
	if (width == WPRED)
		*(uint32_t *)slot = v ? ALL_LANES : 0;
}

uint32_t decode_const(struct decoder *d, unsigned width, uint64_t v)
{
	uint32_t bucket = (uint32_t)((v ^ v >> 32) * 2654435761u >> 26) & (CONST_BUCKETS - 1);
	struct known_const *c;

	for (uint32_t i = d->buckets[bucket]; i; i = d->known[i - 1].next)
		if (d->known[i - 1].value == v && d->known[i - 1].width == width)
			return d->known[i - 1].slot;
	if (!decode_grow(d, (void **)&d->known, d->nknown, &d->known_cap, sizeof(*d->known)))
		return 0;
	c = &d->known[d->nknown++];
	c->value = v;
	c->width = (uint8_t)width;
	c->slot = new_slot(d, width);
	c->next = d->buckets[bucket];
	d->buckets[bucket] = d->nknown;
	if (!d->e->err)
		slot_fill(d->consts + (c->slot - d->regs_size), width, v);
	return c->slot;
}

uint32_t decode_temporary(struct decoder *d)
{
	if (d->temps_used == MAX_TEMPS) {
		decode_fail(d, -ENOTSUP, NULL, "%s: too many special registers in one instruction", d->fn->name);
		return 0;
	}
	if (!d->temps[d->temps_used])
		d->temps[d->temps_used] = new_slot(d, W128);
	return d->temps[d->temps_used++];
}

uint32_t decode_sink(struct decoder *d)
{
	if (!d->sink)
		d->sink = new_slot(d, W128);
	return d->sink;
}

uint32_t decode_relocated(struct decoder *d, const struct ptx_var *v, int64_t addend, unsigned width)
{
	struct const_reloc *r;

	for (uint32_t i = 0; i < d->nrelocs; i++)
		if (d->relocs[i].var == v && d->relocs[i].addend == addend && d->relocs[i].width == width)
			return d->relocs[i].slot;
	if (!decode_grow(d, (void **)&d->relocs, d->nrelocs, &d->relocs_cap, sizeof(*d->relocs)))
		return 0;
	r = &d->relocs[d->nrelocs++];
	*r = (struct const_reloc){.slot = 0, .width = (uint8_t)width, .var = v, .addend = addend};
	r->slot = new_slot(d, width);
	return r->slot;
}
