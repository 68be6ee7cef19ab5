/* Moves matrices between memory and the registers of a warp: wmma.load, wmma.store, ldmatrix and stmatrix. */
#include "ptx/interp/core.h"
#include "ptx/interp/alu/wmma.h"

#include <string.h>

/* ---- wmma ------------------------------------------------------------------------------------------- */

/* A wmma.load or wmma.store. A line is a row or column that is contiguous in memory. */
struct wmma_transfer {
	struct wmma_matrix matrix;
	const uint32_t *list;
	unsigned n;
	uint64_t pitch;       /* bytes between lines in memory */
	unsigned lines, line; /* number of lines, and elements of one */
	bool turned;          /* memory and fragment have different layouts: rows in one, columns in the other */
};

static enum wmma_which wmma_matrix_of(unsigned op)
{
	return op == PTX_OP_wmma_load_a ? WMMA_A : op == PTX_OP_wmma_load_b ? WMMA_B : WMMA_C;
}

static struct wmma_transfer wmma_transfer_of(const struct warp *w, const struct xinst *x)
{
	const struct ptx_inst *in = x->in;
	bool store = in->op == PTX_OP_wmma_store_d;
	struct wmma_transfer t = {.matrix = wmma_matrix(&in->m, wmma_matrix_of(in->op), in->m.type[0])};
	uint32_t stride = store ? x->src[2] : x->src[1];
	uint64_t elements;

	t.list = x->list + (store ? x->src[1] : x->dst);
	t.n = in->ops[store ? 1 : 0].n;
	t.turned = (in->m.layout_a == PTX_COL) != t.matrix.columns;
	t.lines = t.turned ? t.matrix.run : t.matrix.runs;
	t.line = t.turned ? t.matrix.runs : t.matrix.run;
	elements = stride == NO_SLOT ? t.line : *(const uint32_t *)(w->regs + stride);
	t.pitch = elements * t.matrix.bits / 8;
	return t;
}

/* The offset in the fragment of element e of line l, if the layouts differ; elements have whole bytes then. */
static unsigned turned_at(const struct wmma_transfer *t, unsigned l, unsigned e)
{
	return (e * t->matrix.run + l) * (t->matrix.bits / 8);
}

static void copy_line(const struct wmma_transfer *t, unsigned l, uint8_t *memory, uint8_t *matrix, bool store)
{
	unsigned size = t->matrix.bits / 8, bytes = t->line * t->matrix.bits / 8;

	if (!t->turned) {
		memcpy(store ? memory : matrix + l * bytes, store ? matrix + l * bytes : memory, bytes);
		return;
	}
	for (unsigned e = 0; e < t->line; e++) {
		uint8_t *m = memory + e * size, *f = matrix + turned_at(t, l, e);

		memcpy(store ? m : f, store ? f : m, size);
	}
}

static bool copy_lines(
	struct warp *w, const struct xinst *x, const struct wmma_transfer *t, uint8_t *matrix, bool store)
{
	for (unsigned l = 0; l < t->lines; l++) {
		uint8_t *memory =
			mem_bytes(w, x, (unsigned)__builtin_ctz(w->active), l * t->pitch, t->line * t->matrix.bits / 8);

		if (!memory)
			return false;
		copy_line(t, l, memory, matrix, store);
		if (store && w->block->checked)
			checked_bytes_written(w, (uint64_t)(uintptr_t)memory, t->line * t->matrix.bits / 8);
	}
	return true;
}

static void x_wmma_load(struct warp *w, const struct xinst *x)
{
	struct wmma_transfer t = wmma_transfer_of(w, x);
	uint8_t matrix[WMMA_MAX_BYTES];

	if (copy_lines(w, x, &t, matrix, false))
		wmma_scatter(w->regs, t.list, t.n, &t.matrix, matrix);
}

static void x_wmma_store(struct warp *w, const struct xinst *x)
{
	struct wmma_transfer t = wmma_transfer_of(w, x);
	uint8_t matrix[WMMA_MAX_BYTES];

	wmma_gather(w->regs, t.list, &t.matrix, matrix);
	copy_lines(w, x, &t, matrix, true);
}

/* ---- ldmatrix, stmatrix ----------------------------------------------------------------------------- */

/*
 * ldmatrix and stmatrix move up to four matrices of 8 x 8 elements of 16 bits.  Lane 8 i + r has the address of row r
 * of matrix i.  Register i of a lane holds two neighbouring elements of matrix i: row lane / 4, columns 2 (lane % 4)
 * and the next; .trans exchanges rows and columns.
 */
static bool row_addresses(struct warp *w, const struct xinst *x, unsigned n, uint64_t a[LANES])
{
	uint32_t on = w->active;
	enum address_shape s;

	w->active = n == 4 ? ALL_LANES : (1u << 8 * n) - 1;
	s = mem_resolve(w, x, 0, x->target, 16, a);
	w->active = on;
	return s != ADDRESSES_FAULT;
}

static uint16_t *half_at(uint64_t *a, unsigned matrix, unsigned row, unsigned col, bool trans)
{
	return (uint16_t *)(uintptr_t)a[8 * matrix + (trans ? col : row)] + (trans ? row : col);
}

static unsigned slot_at(const struct xinst *x, uint32_t where, unsigned op, unsigned i)
{
	return x->in->ops[op].kind == PTX_O_VEC ? x->list[where + i] : where;
}

static void x_ldmatrix(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->m.num;
	bool trans = x->in->m.trans;
	uint32_t got[4][LANES];
	uint64_t a[LANES];

	if (!row_addresses(w, x, n, a))
		return;
	for (unsigned i = 0; i < n; i++)
		for (unsigned lane = 0; lane < LANES; lane++)
			got[i][lane] = *half_at(a, i, lane / 4, lane % 4 * 2, trans) |
				       (uint32_t)*half_at(a, i, lane / 4, lane % 4 * 2 + 1, trans) << 16;
	for (unsigned i = 0; i < n; i++)
		memcpy(w->regs + slot_at(x, x->dst, 0, i), got[i], sizeof(got[i]));
}

static void x_stmatrix(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->m.num;
	bool trans = x->in->m.trans;
	uint64_t a[LANES];

	if (!row_addresses(w, x, n, a))
		return;
	for (unsigned i = 0; i < n; i++) {
		const uint32_t *v = (const uint32_t *)(w->regs + slot_at(x, x->src[1], 1, i));

		for (unsigned lane = 0; lane < LANES; lane++) {
			*half_at(a, i, lane / 4, lane % 4 * 2, trans) = (uint16_t)v[lane];
			*half_at(a, i, lane / 4, lane % 4 * 2 + 1, trans) = (uint16_t)(v[lane] >> 16);
		}
	}
}

/* ---- choosing --------------------------------------------------------------------------------------- */

static unsigned operand_registers(const struct ptx_operand *o)
{
	return o->kind == PTX_O_VEC ? o->n : 1;
}

static bool wmma_form_valid(const struct ptx_inst *in, unsigned fragment)
{
	struct wmma_matrix m = wmma_matrix(&in->m, wmma_matrix_of(in->op), in->m.type[0]);
	bool turned = (in->m.layout_a == PTX_COL) != m.columns;

	return in->ops[fragment].kind == PTX_O_VEC && wmma_fits(&m, in->ops[fragment].n) && !(turned && m.bits < 8);
}

static bool ldmatrix_form_valid(const struct ptx_inst *in, unsigned fragment)
{
	return in->m.mma_m == 8 && in->m.mma_n == 8 && in->m.type[0] == PTX_B16 &&
	       operand_registers(&in->ops[fragment]) == in->m.num;
}

exec_fn matrix_select(const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_wmma_load_a:
	case PTX_OP_wmma_load_b:
	case PTX_OP_wmma_load_c:
		return wmma_form_valid(in, 0) ? x_wmma_load : NULL;
	case PTX_OP_wmma_store_d:
		return wmma_form_valid(in, 1) ? x_wmma_store : NULL;
	case PTX_OP_ldmatrix:
		return ldmatrix_form_valid(in, 0) ? x_ldmatrix : NULL;
	case PTX_OP_stmatrix:
		return ldmatrix_form_valid(in, 1) ? x_stmatrix : NULL;
	default:
		return NULL;
	}
}
