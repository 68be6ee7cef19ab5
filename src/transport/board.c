/* board.c - takes the frames of all lanes in ticket order, and checks them. */
#include "transport/private.h"

#include <errno.h>
#include <string.h>

#define FRAMES_PER_WAKE 32 /* sleepers learn of new room at least this often */

static uint64_t board_next_entry(struct link *l)
{
	return load_acquire(&l->board[load_relaxed(&l->next) % BOARD_SLOTS]);
}

bool board_ready(struct link *l)
{
	uint64_t next = load_relaxed(&l->next);

	return load_ordered(&l->board[next % BOARD_SLOTS]) >> LANE_BITS == next + 1;
}

/* The client announces a lane on the socket before using it, so the announcement has arrived. */
static struct lane *board_find_lane(struct link *l, unsigned number)
{
	struct lane *lane = number < LINK_LANES ? load_acquire(&l->lanes[number]) : NULL;

	if (lane || !l->server || number >= LINK_LANES)
		return lane;
	unix_find_lane(l, number);
	return load_acquire(&l->lanes[number]);
}

static int pieces_check(struct link *l, enum bulk which, const struct piece *pieces, unsigned n)
{
	size_t size = l->arena[which].size;

	for (unsigned i = 0; i < n; i++)
		if (pieces[i].offset > size || pieces[i].size > size - pieces[i].offset)
			return link_break(l, -EPROTO, "a frame names bytes outside its arena");
	return 0;
}

/* `pieces` may lie in shared memory: copied first, then checked. */
int frame_check(struct link *l, const struct frame_head *head, const void *pieces, enum bulk which, struct frame *frame)
{
	frame->op = head->op;
	frame->size = head->payload;
	frame->ticket = head->ticket;
	frame->npieces = head->npieces;
	memcpy(frame->pieces, pieces, head->npieces * sizeof(struct piece));
	return pieces_check(l, which, frame->pieces, frame->npieces);
}

/* Takes the next frame; -EAGAIN if it has not been published. */
int board_take(struct link *l, struct frame_head *head, const uint8_t **at, struct lane **lane)
{
	uint64_t next = load_relaxed(&l->next), entry = board_next_entry(l), old;

	if (entry >> LANE_BITS != next + 1) {
		old = next >= BOARD_SLOTS ? next + 1 - BOARD_SLOTS : 0;
		return entry >> LANE_BITS == old ? -EAGAIN : link_break(l, -EPROTO, "tickets came out of order");
	}
	*lane = board_find_lane(l, entry & ((1u << LANE_BITS) - 1));
	if (!*lane)
		return link_break(l, -EPROTO, "a frame on a lane that does not exist");
	*at = (*lane)->up + ((*lane)->up_head & (l->ring_size - 1));
	memcpy(head, *at, sizeof *head);
	if (head->payload > l->ring_size / 2 || head->npieces > LINK_PIECES || head->kind != FRAME_PLAIN ||
		record_bytes(head->payload, head->npieces) > l->ring_size / 2)
		return link_break(l, -EPROTO, "a frame of impossible size");
	if (head->ticket != next || head->lane != (*lane)->number)
		return link_break(l, -EPROTO, "a frame with the wrong ticket or lane");
	(*lane)->up_head += record_bytes(head->payload, head->npieces);
	store_relaxed(&l->next, next + 1);
	return 0;
}

/* Sleepers read `done` first, then a lane's cursor, so the cursor is written first. */
void board_settle(struct link *l)
{
	store_ordered(&l->control->done, load_relaxed(&l->next));
	wait_wake(&l->control->space_sleep);
	l->since_wake = 0;
}

void board_release(struct link *l, struct lane *lane)
{
	store_release(&lane->control->up_head, lane->up_head);
	if (++l->since_wake >= FRAMES_PER_WAKE)
		board_settle(l);
	else
		store_release(&l->control->done, load_relaxed(&l->next));
}
