/* lane.c - the client's side of lanes: reserve, fill, draw a ticket, publish; and take replies. */
#include "transport/private.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "transport/memory.h"

static int lane_create(struct link *l, struct lane **lane)
{
	unsigned number = l->nlanes;
	int fd, err;

	if (number == LINK_LANES)
		return -EAGAIN;
	fd = memory_create("gangway-lane", lane_bytes(l->ring_size));
	if (fd < 0)
		return fd;
	err = lane_map(l, number, fd, lane);
	/* Announce the lane before the first frame uses it. */
	if (!err && !l->tcp_link && (err = unix_send(l->fd, UNIX_LANE, number, &fd, 1)))
		lane_discard(*lane);
	close(fd);
	if (!err)
		lane_enter(l, *lane);
	else
		*lane = NULL;
	return err == -EPIPE ? link_break(l, err, "a lane could not be sent: %s", strerror(-err)) : err;
}

int lane_open(struct link *l, struct lane **lane)
{
	int err = link_broken(l);

	if (err)
		return err;
	pthread_mutex_lock(&l->lane_lock);
	*lane = l->free_lanes;
	if (*lane)
		l->free_lanes = (*lane)->next_free;
	else
		err = lane_create(l, lane);
	pthread_mutex_unlock(&l->lane_lock);
	return err;
}

void lane_close(struct lane *lane)
{
	struct link *l = lane->link;

	pthread_mutex_lock(&l->lane_lock);
	lane->next_free = l->free_lanes;
	l->free_lanes = lane;
	pthread_mutex_unlock(&l->lane_lock);
}

unsigned lane_number(const struct lane *lane)
{
	return lane->number;
}

uint32_t lane_payload_max(const struct lane *lane)
{
	return (lane->link->ring_size / 2 - frame_bytes(0, LINK_PIECES)) & ~(LINE - 1u);
}

/* ---- Up ---- */

static bool ring_has_room(struct lane *lane, uint32_t need)
{
	struct link *l = lane->link;

	return lane->up_tail + need - lane->up_head_seen <= l->ring_size &&
	       load_relaxed(&l->ticket) + LINK_LANES - load_relaxed(&l->done_seen) <= BOARD_SLOTS;
}

/* Reads the reader's cursors: they only grow, and never pass the client's own. */
static int ring_read_cursors(struct lane *lane, uint32_t need)
{
	struct link *l = lane->link;
	uint64_t done = load_ordered(&l->control->done), head = load_ordered(&lane->control->up_head);

	/* Load ticket after done: the reader cannot have taken more than was drawn by then. */
	if (done > load_ordered(&l->ticket) || head > lane->up_tail || head < lane->up_head_seen)
		return link_break(l, -EPROTO, "the server wrote impossible cursors");
	lane->up_head_seen = head;
	store_relaxed(&l->done_seen, done);
	return ring_has_room(lane, need) ? 0 : -EAGAIN;
}

static int ring_wait_room(struct lane *lane, uint32_t need)
{
	struct link *l = lane->link;
	struct wait w;
	int err;

	wait_init(&w, l->spin_us, -1);
	while ((err = ring_read_cursors(lane, need)) == -EAGAIN) {
		if ((err = link_broken(l)))
			return err;
		if (wait_spin(&w))
			continue;
		wait_flag(&w, &l->control->space_sleep);
		if ((err = ring_read_cursors(lane, need)) != -EAGAIN)
			break;
		if ((err = link_sleep(l, &w, &l->control->space_sleep)))
			return err;
	}
	return err;
}

int lane_reserve(struct lane *lane, uint32_t size, void **payload)
{
	struct link *l = lane->link;
	uint32_t need;
	int err;

	if (size > lane_payload_max(lane))
		return -EMSGSIZE;
	if ((err = link_broken(l)))
		return err;
	need = record_bytes(size, LINK_PIECES);
	if (!ring_has_room(lane, need) && (err = ring_wait_room(lane, need)))
		return err;
	lane->reserved = size;
	*payload = lane->up + (lane->up_tail & (l->ring_size - 1)) + sizeof(struct frame_head);
	return 0;
}

static int lane_publish(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket)
{
	struct link *l = lane->link;
	uint8_t *at = lane->up + (lane->up_tail & (l->ring_size - 1));
	struct frame_head head = {.payload = size,
		.op = op,
		.lane = (uint16_t)lane->number,
		.npieces = (uint8_t)npieces,
		.kind = FRAME_PLAIN};

	if (size > lane->reserved || npieces > LINK_PIECES)
		return -EINVAL;
	if (npieces)
		memcpy(at + frame_bytes(size, 0), pieces, npieces * sizeof *pieces);
	lane->up_tail += record_bytes(size, npieces);
	lane->reserved = 0;
	head.ticket = atomic_fetch_add_explicit(&l->ticket, 1, memory_order_relaxed);
	memcpy(at, &head, sizeof head);
	store_ordered(&l->board[head.ticket % BOARD_SLOTS], (head.ticket + 1) << LANE_BITS | lane->number);
	if (ticket)
		*ticket = head.ticket;
	return 0;
}

int lane_post(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket)
{
	int err = lane_publish(lane, op, size, pieces, npieces, ticket);

	if (!err)
		wait_wake(&lane->link->control->reader_sleep);
	return err;
}

int lane_call(
	struct lane *lane, uint32_t op, uint32_t size, const struct piece *pieces, unsigned npieces, uint64_t *ticket)
{
	struct link *l = lane->link;
	int err = lane_publish(lane, op, size, pieces, npieces, &lane->asked);

	lane->asking |= !err;
	if (!err && ticket)
		*ticket = lane->asked;
	if (!err && l->tcp_link)
		tcp_flush(l);
	else if (!err)
		wait_wake(&l->control->reader_sleep);
	return err;
}

/* ---- Down ---- */

static int reply_take(struct lane *lane, struct frame *reply)
{
	struct link *l = lane->link;
	uint64_t ready = load_ordered(&lane->control->down_tail) - lane->down_head;
	const uint8_t *at = lane->down + (lane->down_head & (l->ring_size - 1));
	struct frame_head head;

	if (!ready)
		return -EAGAIN;
	if (ready > l->ring_size || ready < LINE)
		return link_break(l, -EPROTO, "the server wrote impossible cursors");
	memcpy(&head, at, sizeof head);
	if (head.payload > l->ring_size / 2 || head.npieces > LINK_PIECES || head.kind != FRAME_PLAIN ||
		record_bytes(head.payload, head.npieces) > ready)
		return link_break(l, -EPROTO, "a reply of impossible size");
	if (lane->asking && head.ticket != lane->asked)
		return link_break(l, -EPROTO, "a reply that does not belong to the call");
	lane->asking = false;
	reply->lane = lane;
	reply->payload = at + sizeof head;
	lane->taken = record_bytes(head.payload, head.npieces);
	return frame_check(l, &head, at + frame_bytes(head.payload, 0), BULK_DOWN, reply);
}

int lane_wait_reply(struct lane *lane, struct frame *reply, int timeout_ms)
{
	struct link *l = lane->link;
	bool flagged = false;
	struct wait w;
	int err;

	if (lane->taken)
		return -EBUSY;
	wait_init(&w, l->spin_us, timeout_ms);
	while ((err = reply_take(lane, reply)) == -EAGAIN) {
		if ((err = link_broken(l)))
			return err;
		if (wait_spin(&w)) {
			if (l->tcp_link)
				tcp_assist(l);
			continue;
		}
		flagged = true;
		wait_flag(&w, &lane->control->reply_sleep);
		if ((err = reply_take(lane, reply)) != -EAGAIN)
			break;
		if (l->tcp_link)
			tcp_rely(l);
		if ((err = link_sleep(l, &w, &lane->control->reply_sleep)) == -ETIMEDOUT)
			break;
	}
	/* The server reads this cache line after each reply: write it only if the flag was set. */
	if (flagged)
		store_relaxed(&lane->control->reply_sleep, 0);
	return err;
}

void lane_release(struct lane *lane)
{
	lane->down_head += lane->taken;
	lane->taken = 0;
	store_ordered(&lane->control->down_head, lane->down_head);
	wait_wake(&lane->control->room_sleep);
}
