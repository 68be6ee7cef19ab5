/* mov, with packing and unpacking of vectors. */
#include "ptx/interp/core.h"

#include <string.h>

void x_nop(struct warp *w, const struct xinst *x)
{
	(void)w;
	(void)x;
}

static void x_mov16(struct warp *w, const struct xinst *x)
{
	const uint16_t *a = SRC(w, x, 0, uint16_t);
	uint16_t *d = DST(w, x, uint16_t);

	MAP(w, d, uint16_t, a[i]);
}

static void x_mov32(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t);
	uint32_t *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, a[i]);
}

void x_mov64(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint64_t *d = DST(w, x, uint64_t);

	MAP(w, d, uint64_t, a[i]);
}

static void x_mov128(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint64_t *d = DST(w, x, uint64_t);

	FOR_ACTIVE(w, i)
	{
		d[2 * i] = a[2 * i];
		d[2 * i + 1] = a[2 * i + 1];
	}
}

static void x_mov_pred(struct warp *w, const struct xinst *x)
{
	pred_store(w, x->dst, pred_src(w, x, 0));
}

/* ---- {a, b} to and from one register ---------------------------------------------------------------- */

/* Bytes of one lane. Elements of a vector are consecutive parts of these bytes, the lowest first. */
static unsigned slot_bytes(unsigned width)
{
	return 1u << width;
}

static void x_pack(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->ops[1].n, total = slot_bytes(x->dst_width), size = total / n;
	uint8_t *d = w->regs + x->dst;

	FOR_ACTIVE(w, i)
	{
		uint8_t bytes[16];

		for (unsigned e = 0; e < n; e++) {
			uint32_t k = x->src[0] + e;
			uint64_t v = slot_read_lane(w->regs + x->list[k], x->list_width[k], i);

			memcpy(bytes + e * size, &v, size);
		}
		memcpy(d + i * total, bytes, total);
	}
}

static void x_unpack(struct warp *w, const struct xinst *x)
{
	unsigned n = x->in->ops[0].n, total = slot_bytes(x->src_width[0]), size = total / n;
	const uint8_t *a = w->regs + x->src[0];

	FOR_ACTIVE(w, i)
	{
		uint8_t bytes[16];

		memcpy(bytes, a + i * total, total);
		for (unsigned e = 0; e < n; e++) {
			uint32_t k = x->dst + e;
			uint64_t v = 0;

			memcpy(&v, bytes + e * size, size);
			slot_write_lane(w->regs + x->list[k], x->list_width[k], i, v);
		}
	}
}

static void x_pack_2x32(struct warp *w, const struct xinst *x)
{
	const uint32_t *lo = SRCV(w, x, 0, 0, uint32_t), *hi = SRCV(w, x, 0, 1, uint32_t);
	uint64_t *d = DST(w, x, uint64_t);

	MAP(w, d, uint64_t, (uint64_t)hi[i] << 32 | lo[i]);
}

static void x_pack_2x16(struct warp *w, const struct xinst *x)
{
	const uint16_t *lo = SRCV(w, x, 0, 0, uint16_t), *hi = SRCV(w, x, 0, 1, uint16_t);
	uint32_t *d = DST(w, x, uint32_t);

	MAP(w, d, uint32_t, (uint32_t)hi[i] << 16 | lo[i]);
}

static void x_unpack_2x16(struct warp *w, const struct xinst *x)
{
	const uint32_t *a = SRC(w, x, 0, uint32_t);
	uint16_t *lo = DSTV(w, x, 0, uint16_t), *hi = DSTV(w, x, 1, uint16_t);

	MAP(w, lo, uint16_t, a[i]);
	MAP(w, hi, uint16_t, a[i] >> 16);
}

static void x_unpack_2x32(struct warp *w, const struct xinst *x)
{
	const uint64_t *a = SRC(w, x, 0, uint64_t);
	uint32_t *lo = DSTV(w, x, 0, uint32_t), *hi = DSTV(w, x, 1, uint32_t);

	MAP(w, lo, uint32_t, a[i]);
	MAP(w, hi, uint32_t, a[i] >> 32);
}

static exec_fn select_vector(const struct ptx_inst *in)
{
	unsigned bits = ptx_type_bits(in->m.type[0]);
	const struct ptx_operand *v = in->ops[1].kind == PTX_O_VEC ? &in->ops[1] : &in->ops[0];
	bool to = v == &in->ops[1];

	if (in->ops[0].kind == PTX_O_VEC && in->ops[1].kind == PTX_O_VEC)
		return NULL;
	if (v->n != 2 && v->n != 4 && v->n != 8)
		return NULL;
	if (v->n == 2 && bits == 64)
		return to ? x_pack_2x32 : x_unpack_2x32;
	if (v->n == 2 && bits == 32)
		return to ? x_pack_2x16 : x_unpack_2x16;
	return to ? x_pack : x_unpack;
}

exec_fn mov_select(const struct ptx_inst *in)
{
	static const exec_fn by_width[] = {x_mov_pred, x_mov16, x_mov32, x_mov64, x_mov128};

	if (in->op != PTX_OP_mov)
		return NULL;
	if (in->ops[0].kind == PTX_O_VEC || in->ops[1].kind == PTX_O_VEC)
		return select_vector(in);
	return by_width[slot_width(in->m.type[0])];
}
