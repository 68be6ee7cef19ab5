/* Staged copies that are made during the call, part by part; and the moving of bytes that all staged copies share. */
#include "backend/remote/copy/staged_copy.h"

#include <errno.h>
#include <sched.h>
#include "backend/remote/graph/graph.h"

void staged_copy_init(struct staged_copy *c, const struct block *b)
{
	*c = (struct staged_copy){.block = *b, .up = b->src.kind == SIDE_PAGEABLE};
}

void staged_copy_init_linear(
	struct staged_copy *c, bool up, CUdeviceptr device, const void *host, size_t size, size_t part_max)
{
	block_init_linear(&c->block, up, device, host, size, part_max);
	c->up = up;
	c->piece = (struct piece){0};
}

bool staged_copy_is_local(const struct staged_copy *c)
{
	return c->block.src.kind == SIDE_PAGEABLE && c->block.dst.kind == SIDE_PAGEABLE;
}

void staged_copy_move(const struct staged_copy *c, const struct part *p, struct piece piece)
{
	char *staged = (char *)bulk_base(client->link, c->up ? BULK_UP : BULK_DOWN, NULL) + piece.offset;

	if (!piece.size)
		block_move(&c->block);
	else if (c->up)
		block_pack(staged, &c->block.src, p);
	else
		block_unpack(staged, &c->block.dst, p);
}

/* ---- parts ---- */

union part_frame {
	struct wire_copy linear;
	struct wire_block block;
};

/* Fills the frame that copies a part between the device and the piece; returns its operation. */
static unsigned part_frame_init(union part_frame *f, size_t *size, const struct staged_copy *c, const struct part *p,
	struct piece piece, struct stream *s)
{
	const struct block *b = &c->block;

	if (b->linear) {
		f->linear = (struct wire_copy){.device = (c->up ? b->dst.what : b->src.what) + p->x,
			.size = p->width,
			.stream = s->id,
			.offset = c->up ? 0 : piece.offset};
		*size = sizeof f->linear;
		return c->up ? WIRE_COPY_UP : WIRE_COPY_DOWN;
	}
	f->block = block_frame(b, p, s);
	if (c->up)
		f->block.src = block_packed_side(WIRE_SIDE_BULK, p, piece.offset, b->src.context);
	else
		f->block.dst = block_packed_side(WIRE_SIDE_BULK, p, piece.offset, b->dst.context);
	*size = sizeof f->block;
	return WIRE_BLOCK;
}

CUresult staged_part_up(const struct staged_copy *c, const struct part *p, struct stream *s)
{
	union part_frame frame;
	struct piece piece;
	unsigned op;
	size_t size;
	CUresult r = staging_take(s, part_bytes(p), &piece);

	if (r)
		return r;
	staged_copy_move(c, p, piece);
	op = part_frame_init(&frame, &size, c, p, piece, s);
	return staging_post(s, op, &frame, size, piece);
}

CUresult staged_part_post_down(
	const struct staged_copy *c, const struct part *p, struct piece piece, struct stream *s, uint32_t *value)
{
	union part_frame frame;
	size_t size;
	unsigned op = part_frame_init(&frame, &size, c, p, piece, s);

	return stream_post_with_signal(s, op, &frame, size, value);
}

CUresult staged_piece_take_down(uint32_t size, struct piece *piece)
{
	int e;

	while ((e = bulk_alloc(client->link, BULK_DOWN, size, piece)) == -EAGAIN && !link_error(client->link, NULL))
		sched_yield();
	return e ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult staged_part_down(const struct staged_copy *c, const struct part *p, struct stream *s)
{
	uint64_t posted = s->posted;
	struct piece piece;
	uint32_t value;
	CUresult r = staged_piece_take_down(part_bytes(p), &piece);

	if (r)
		return r;
	r = staged_part_post_down(c, p, piece, s, &value);
	if (!r)
		r = stream_word_wait(s, value);
	if (!r) {
		stream_note_completed(s, posted);
		r = stream_async_error(s);
	}
	if (!r)
		staged_copy_move(c, p, piece);
	bulk_free(client->link, BULK_DOWN, piece);
	return r;
}

/* ---- copies ---- */

static CUresult staged_copy_parts(const struct staged_copy *c, struct stream *s,
	CUresult (*copy_part)(const struct staged_copy *c, const struct part *p, struct stream *s))
{
	struct part p = {0};
	CUresult r;

	do {
		block_cut_part(&c->block, &p);
		r = copy_part(c, &p, s);
	} while (!r && block_next_part(&c->block, &p));
	return r;
}

CUresult staged_copy_up(const struct staged_copy *c, struct stream *s)
{
	return staged_copy_parts(c, s, staged_part_up);
}

CUresult staged_copy_down(const struct staged_copy *c, struct stream *s)
{
	return staged_copy_parts(c, s, staged_part_down);
}

CUresult staged_copy_defer(struct stream *s, const CUDA_MEMCPY3D *c)
{
	return s->capturing ? copy_node_capture(s, c) : deferred_copy_post(s, c);
}
