/* The exec functions of the checked mode: examine the access of every active lane, then make the valid ones. */
#include "ptx/interp/checked/checked_core.h"

#include <string.h>

enum { MAX_ACCESS = 64 }; /* bytes of a lane */

/* Where an address lies. */
struct location {
	unsigned space;      /* PTX_SHARED, PTX_LOCAL or PTX_GLOBAL */
	struct block *owner; /* of shared memory */
	uint64_t offset;     /* in shared or local memory; the address in global memory */
};

static struct location address_locate(struct warp *w, unsigned space, uint64_t address, unsigned lane)
{
	uint64_t local = (uint64_t)(uintptr_t)w->local, local_size = w->block->grid->local_size;
	struct block *owner;

	if (space == PTX_SHARED)
		return (struct location){PTX_SHARED, w->block, address};
	if (space == PTX_LOCAL)
		return (struct location){PTX_LOCAL, NULL, address};
	if (space == PTX_SHARED_CLUSTER)
		address = cluster_to_generic(w->block, address);
	owner = cluster_owner(w->block, address);
	if (owner)
		return (struct location){PTX_SHARED, owner, address - (uint64_t)(uintptr_t)owner->shared};
	if (address - local < local_size * LANES)
		return (struct location){PTX_LOCAL, NULL, address - lane_local(w, lane)};
	return (struct location){PTX_GLOBAL, NULL, address};
}

static void fault_set(struct warp *w, enum interp_fault fault)
{
	int none = 0;

	atomic_compare_exchange_strong(&w->block->grid->checked_fault, &none, (int)fault);
}

static bool bounds_contain(uint64_t base, uint64_t limit, uint64_t at, uint64_t n)
{
	return at >= base && at - base <= limit && n <= limit - (at - base);
}

/* ---- bounds ----------------------------------------------------------------------------------------- */

/* The bytes that the access may touch, in the coordinates of struct location. */
struct bounds {
	uint64_t base, size;
	const struct ptx_var *var;
};

/* The bounds of the variable from which the address was computed; false: unknown. */
static bool variable_bounds(struct warp *w, const struct checked_access *a, const struct location *l, struct bounds *b)
{
	const struct interp_host *h = w->launch->host;
	const struct grid *g = w->block->grid;
	const struct ptx_var *v = a->var;

	if (!v || v->linkage == PTX_LINK_EXTERN)
		return v && v->space == PTX_SHARED && v->unsized && l->space == PTX_SHARED
			       ? (*b = (struct bounds){g->shared_static, w->launch->shared, v}, true)
			       : false;
	if (v->space == PTX_SHARED && l->space == PTX_SHARED)
		*b = v->unsized ? (struct bounds){g->shared_static, w->launch->shared, v}
				: (struct bounds){v->offset, v->size, v};
	else if (v->space == PTX_LOCAL && l->space == PTX_LOCAL && v->owner == w->frame->fn->fn)
		*b = (struct bounds){w->frame->local_base + v->offset, v->size, v};
	else if ((v->space == PTX_GLOBAL || v->space == PTX_CONST) && l->space == PTX_GLOBAL && v->size)
		*b = (struct bounds){h->address(h->arg, v), v->size, v};
	else
		return false;
	return true;
}

/* The bounds of all shared or local memory of the block or thread. */
static struct bounds space_bounds(const struct warp *w, const struct location *l)
{
	const struct grid *g = w->block->grid;

	if (l->space == PTX_LOCAL)
		return (struct bounds){0, g->local_size, NULL};
	if (g->kernel->program->uses_reserved_shared)
		return (struct bounds){0, g->shared_size, NULL};
	return (struct bounds){0, g->shared_static + w->launch->shared, NULL};
}

static void bounds_report(
	struct warp *w, const struct checked_access *a, unsigned lane, const struct location *l, const struct bounds *b)
{
	struct check_report r;

	fault_set(w, INTERP_ILLEGAL_ADDRESS);
	if (checked_repeated(a->site, CHECK_OUT_OF_BOUNDS))
		return;
	r = checked_report_init(w, a, CHECK_OUT_OF_BOUNDS, lane, l->offset);
	if (b) {
		r.variable = b->var ? b->var->name : NULL;
		r.offset = (int64_t)(l->offset - b->base);
		r.limit = b->size;
	}
	checked_report(w, a->site, &r);
}

/* ---- one lane --------------------------------------------------------------------------------------- */

/* Part of a vector may be padding that nobody has written: only a vector without an initialized byte is an error. */
static bool is_initialized(const uint8_t *written, uint64_t n, bool vector)
{
	uint64_t known = 0;

	for (uint64_t i = 0; i < n; i++)
		known += written[i] != 0;
	return vector ? known > 0 : known == n;
}

static void uninitialized_report(
	struct warp *w, const struct checked_access *a, unsigned lane, const struct location *l, uint64_t base)
{
	struct check_report r;

	if (checked_repeated(a->site, CHECK_UNINITIALIZED))
		return;
	r = checked_report_init(w, a, CHECK_UNINITIALIZED, lane, l->offset);
	if (a->var) {
		r.variable = a->var->name;
		r.offset = (int64_t)(l->offset - base);
	}
	checked_report(w, a->site, &r);
}

/* The allocation around a global address. False: a kernel may not access all of the bytes. */
static bool memory_find(struct warp *w, uint64_t at, uint64_t n, struct check_memory *m)
{
	const struct interp_checks *c = w->launch->host->checks;
	struct check_memory *last = &w->block->checked->last;

	if (!bounds_contain(last->base, last->size, at, n) && !c->find(c->arg, at, last))
		*last = (struct check_memory){0};
	*m = *last;
	if (bounds_contain(m->base, m->size, at, n))
		return true;
	*m = (struct check_memory){0};
	return mem_accessible(w, at, n); /* arguments, the heap of malloc, or several mappings */
}

static bool check_global(struct warp *w, const struct checked_access *a, unsigned lane, const struct location *l)
{
	struct check_memory m;
	uint8_t *written;

	if (!memory_find(w, l->offset, a->size, &m)) {
		bounds_report(w, a, lane, l, NULL);
		return false;
	}
	if (!m.written)
		return true;
	written = m.written + (l->offset - m.base);
	if (a->kind != CHECK_WRITE && !is_initialized(written, a->size, a->site->in->m.vec))
		uninitialized_report(w, a, lane, l, 0);
	if (a->kind != CHECK_READ)
		memset(written, 1, a->size);
	return true;
}

/* Blocks of a cluster access each other's memory: their races are not known, but what they write is initialized. */
static void check_shared(struct warp *w, const struct checked_access *a, unsigned lane, const struct location *l)
{
	struct checked_block *c = l->owner->checked;
	bool init = w->launch->host->checks->what & CHECK_INIT;

	if (init && a->kind != CHECK_WRITE && !shared_initialized(c, l->offset, a->size, !a->site->in->m.vec))
		uninitialized_report(w, a, lane, l, a->var && !a->var->unsized ? a->var->offset : 0);
	if (l->owner != w->block) {
		for (uint64_t i = 0; a->kind != CHECK_READ && i < a->size; i++)
			c->shadow[l->offset + i].write_epoch = c->first_epoch;
		return;
	}
	if (a->kind != CHECK_WRITE)
		shared_read(w, a, lane, l->offset);
	if (a->kind != CHECK_READ)
		shared_write(w, a, lane, l->offset);
}

/* False: the access must not be made. */
static bool check_lane(struct warp *w, struct checked_access *a, unsigned space, uint64_t address, unsigned lane)
{
	struct location l = address_locate(w, space, address, lane);
	struct bounds b;

	a->space = l.space;
	if (address & (a->size - 1)) {
		fault_set(w, INTERP_MISALIGNED_ADDRESS);
		if (!checked_repeated(a->site, CHECK_MISALIGNED)) {
			struct check_report r = checked_report_init(w, a, CHECK_MISALIGNED, lane, l.offset);

			checked_report(w, a->site, &r);
		}
		return false;
	}
	if (variable_bounds(w, a, &l, &b) && !bounds_contain(b.base, b.size, l.offset, a->size)) {
		bounds_report(w, a, lane, &l, &b);
		return false;
	}
	if (l.space == PTX_GLOBAL)
		return check_global(w, a, lane, &l);
	b = space_bounds(w, &l);
	if (!bounds_contain(b.base, b.size, l.offset, a->size)) {
		bounds_report(w, a, lane, &l, &b);
		return false;
	}
	if (l.space == PTX_SHARED)
		check_shared(w, a, lane, &l);
	return true;
}

/* ---- instructions ----------------------------------------------------------------------------------- */

/* The bytes that st writes in a lane. */
static void store_value(const struct warp *w, const struct xinst *x, unsigned lane, uint8_t *to)
{
	unsigned bytes = ptx_type_bits(x->in->m.type[0]) / 8;

	for (unsigned e = 0; e < x->n; e++) {
		bool vector = x->in->ops[1].kind == PTX_O_VEC;
		uint32_t slot = vector ? x->list[x->src[1] + e] : x->src[1];
		unsigned width = vector ? x->list_width[x->src[1] + e] : x->src_width[1];
		uint64_t v[2] = {0, 0};

		if (width == W128)
			memcpy(v, w->regs + slot + 16 * lane, 16);
		else
			v[0] = slot_read_lane(w->regs + slot, width, lane);
		memcpy(to + e * bytes, v, bytes);
	}
}

/* The lanes whose access through address operand `which` is invalid. */
static uint32_t check_lanes(
	struct warp *w, const struct xinst *x, struct checked_access *a, unsigned which, uint32_t lanes)
{
	struct xinst second = *x;
	uint8_t value[MAX_ACCESS];
	uint64_t address[LANES];
	unsigned space = which ? x->in->m.space2 : x->target;
	uint32_t bad = 0;

	if (which)
		second.imm = 0; /* the displacement is in the register already */
	a->site = (struct checked_site *)(uintptr_t)x->data;
	a->var = a->site->var[which];
	if (space == PTX_PARAM && x->src[which] == NO_SLOT)
		return 0;
	mem_addresses(w, &second, which, address);
	FOR_MASK(lanes, i)
	{
		if (x->in->op == PTX_OP_st && a->size <= sizeof(value)) {
			store_value(w, x, i, value);
			a->value = value;
		}
		bad |= (uint32_t)!check_lane(w, a, space, address[i], i) << i;
	}
	return bad;
}

static struct checked_access describe_access(const struct xinst *x)
{
	const struct ptx_inst *in = x->in;
	uint64_t bytes = ptx_type_bits(in->m.type[0]) / 8, n = in->m.vec ? in->m.vec : 1;

	switch (in->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
		return (struct checked_access){
			.kind = CHECK_READ, .size = bytes * x->n, .strong = in->m.sem > PTX_WEAK};
	case PTX_OP_st:
		return (struct checked_access){
			.kind = CHECK_WRITE, .size = bytes * x->n, .strong = in->m.sem > PTX_WEAK};
	case PTX_OP_mbarrier_init:
		return (struct checked_access){.kind = CHECK_WRITE, .size = 8, .strong = true};
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_red:
		return (struct checked_access){.kind = CHECK_ATOMIC, .size = bytes * n, .strong = true};
	default: /* other mbarrier operations */
		return (struct checked_access){.kind = CHECK_ATOMIC, .size = 8, .strong = true};
	}
}

/* cp.async: both addresses. Lanes that read no bytes need no valid source. */
static uint32_t check_copy(struct warp *w, const struct xinst *x)
{
	struct checked_access to = {.kind = CHECK_WRITE, .size = (uint64_t)x->in->ops[2].imm}, from = to;
	uint32_t readers = w->active;

	if (x->src[3] != NO_SLOT)
		FOR_ACTIVE(w, i)
	if (!SRC(w, x, 3, uint32_t)[i])
		readers &= ~(1u << i);
	from.kind = CHECK_READ;
	return check_lanes(w, x, &to, 0, w->active) | check_lanes(w, x, &from, 1, readers);
}

/* True if the instruction orders other accesses of its thread: it is not weak or relaxed, or belongs to an mbarrier. */
static bool orders_accesses(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
	case PTX_OP_st:
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_red:
		return in->m.sem >= PTX_ACQUIRE;
	default:
		return in->op != PTX_OP_cp_async;
	}
}

static void result_clear(struct warp *w, const struct xinst *x, uint32_t slot, unsigned width, uint32_t lanes)
{
	(void)x;
	FOR_MASK(lanes, i)
	{
		if (width == W128)
			memset(w->regs + slot + 16 * i, 0, 16);
		else if (width == WPRED)
			*(uint32_t *)(w->regs + slot) |= 1u << i; /* a wait that is over */
		else
			slot_write_lane(w->regs + slot, width, i, 0);
	}
}

/* The results of accesses that were not made. */
static void results_clear(struct warp *w, const struct xinst *x, uint32_t lanes)
{
	if (x->in->op == PTX_OP_st || x->dst == NO_SLOT)
		return;
	if (x->in->ops[0].kind != PTX_O_VEC) {
		result_clear(w, x, x->dst, x->dst_width, lanes);
		return;
	}
	for (uint32_t e = 0; e < x->in->ops[0].n; e++)
		result_clear(w, x, x->list[x->dst + e], x->list_width[x->dst + e], lanes);
}

void x_checked(struct warp *w, const struct xinst *x)
{
	const struct checked_site *s = x->data;
	uint32_t on = w->active, bad;
	struct checked_access a;

	if (orders_accesses(x->in))
		w->block->checked->epoch++;
	if (x->in->op == PTX_OP_cp_async) {
		bad = check_copy(w, x);
	} else {
		a = describe_access(x);
		bad = check_lanes(w, x, &a, 0, on);
	}
	if (bad)
		results_clear(w, x, bad);
	w->active = on & ~bad;
	if (w->active)
		s->run(w, x);
	w->active = on;
}

void x_checked_order(struct warp *w, const struct xinst *x)
{
	const struct checked_site *s = x->data;

	w->block->checked->epoch++;
	s->run(w, x);
}

void x_checked_sync(struct warp *w, const struct xinst *x)
{
	const struct checked_site *s = x->data;
	struct checked_access a = {.kind = x->in->op == PTX_OP_ldmatrix ? CHECK_READ : CHECK_WRITE, .size = 16};
	uint32_t bad = 0, rows = x->in->m.num >= 4 ? ALL_LANES : (1u << 8 * x->in->m.num) - 1;

	w->block->checked->warp_epoch[w->number]++;
	if (x->in->op == PTX_OP_ldmatrix || x->in->op == PTX_OP_stmatrix)
		bad = check_lanes(w, x, &a, 0, rows);
	if (!bad)
		s->run(w, x);
	w->block->checked->warp_epoch[w->number]++;
}

/* wmma.store writes whole lines, which the interpreter itself has checked. */
void checked_bytes_written(struct warp *w, uint64_t generic, uint64_t n)
{
	struct location l = address_locate(w, PTX_GENERIC, generic, 0);
	struct check_memory m;

	if (l.space == PTX_SHARED)
		for (uint64_t i = 0; i < n; i++)
			l.owner->checked->shadow[l.offset + i].write_epoch = l.owner->checked->first_epoch;
	else if (l.space == PTX_GLOBAL && memory_find(w, l.offset, n, &m) && m.written)
		memset(m.written + (l.offset - m.base), 1, n);
}
