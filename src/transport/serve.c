/* serve.c - the server's side of lanes: frames in ticket order, and replies. */
#include "transport/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/tcp/tcp.h"
#include "util/tsan_order.h"

static int frame_take(struct link *l, struct frame *frame)
{
	struct frame_head head;
	const uint8_t *at;
	int err = board_take(l, &head, &at, &frame->lane);

	if (err)
		return err;
	l->current = frame->lane;
	frame->payload = at + sizeof head;
	return frame_check(l, &head, at + frame_bytes(head.payload, 0), BULK_UP, frame);
}

/*
 * Prefetches the frame that the client has probably written next, on the same lane, from the client's cache while the
 * present frame is being served.
 */
static void frame_prefetch_next(struct link *l, const struct lane *lane)
{
	const uint8_t *at = lane->up + (lane->up_head & (l->ring_size - 1));

	__builtin_prefetch(&l->board[load_relaxed(&l->next) % BOARD_SLOTS]);
	for (unsigned i = 0; i < 4; i++)
		__builtin_prefetch(at + i * LINE);
}

static void frame_release(struct link *l)
{
	if (l->current)
		board_release(l, l->current);
	l->current = NULL;
}

/* -EPIPE only after all published frames have been taken; a protocol error ends the link at once. */
static int link_ended(struct link *l)
{
	int err = link_broken(l);

	if (atomic_exchange(&l->interrupted, false))
		return -EINTR;
	return err == -EPIPE && board_ready(l) ? 0 : err;
}

static int frame_wait(struct link *l, struct frame *frame, int timeout_ms)
{
	_Atomic uint32_t *flag = &l->control->reader_sleep;
	bool flagged = false;
	struct wait w;
	int err;

	board_settle(l);
	wait_init(&w, l->spin_us, timeout_ms);
	while ((err = frame_take(l, frame)) == -EAGAIN) {
		if ((err = link_ended(l)))
			break;
		if (wait_spin(&w))
			continue;
		flagged = true;
		wait_flag(&w, flag);
		if (board_ready(l) || load_ordered(&l->interrupted))
			continue;
		if ((err = link_sleep(l, &w, flag)) == -ETIMEDOUT)
			break;
	}
	if (flagged)
		store_relaxed(flag, 0);
	return err;
}

int link_next(struct link *l, struct frame *frame, int timeout_ms)
{
	int err;

	if (l->tcp_link)
		return tcp_next(l, frame, timeout_ms);
	err = link_broken(l);
	if (err && err != -EPIPE)
		return err;
	frame_release(l);
	err = frame_take(l, frame);
	if (err == -EAGAIN)
		return frame_wait(l, frame, timeout_ms);
	if (!err)
		frame_prefetch_next(l, frame->lane);
	return err;
}

static bool ticket_published(struct link *l, uint64_t ticket)
{
	return load_relaxed(&l->board[ticket % BOARD_SLOTS]) >> LANE_BITS == ticket + 1;
}

/* Binary search: tickets are published nearly in order. */
bool link_newest(struct link *l, uint64_t *ticket)
{
	uint64_t next = load_relaxed(&l->next), low = 0, high = BOARD_SLOTS;

	if (l->tcp_link || !next)
		return false;
	while (high - low > 1) {
		uint64_t middle = (low + high) / 2;

		if (ticket_published(l, next - 1 + middle))
			low = middle;
		else
			high = middle;
	}
	*ticket = next - 1 + low;
	return true;
}

void link_interrupt(struct link *l)
{
	uint64_t one = 1;

	store_ordered(&l->interrupted, true);
	if (!l->tcp_link) {
		wait_wake(&l->control->reader_sleep);
		return;
	}
	extra_wake_all(l);
	if (write(l->stop, &one, sizeof one) < 0)
		return; /* the eventfd is signalled already */
}

void lane_set_data(struct lane *lane, void *data)
{
	lane->data = data;
}

void *lane_data(const struct lane *lane)
{
	return lane->data;
}

static int reply_room(struct lane *lane, uint32_t need)
{
	struct link *l = lane->link;
	uint64_t head = load_ordered(&lane->control->down_head);

	if (head > lane->down_tail || head < lane->down_head_seen)
		return link_break(l, -EPROTO, "the client wrote impossible cursors");
	lane->down_head_seen = head;
	return lane->down_tail + need - head <= l->ring_size ? 0 : -EAGAIN;
}

int reply_reserve(struct lane *lane, uint32_t need, uint8_t **record)
{
	struct link *l = lane->link;
	struct wait w;
	int err = lane->down_tail + need - lane->down_head_seen <= l->ring_size ? 0 : -EAGAIN;

	wait_init(&w, l->spin_us, -1);
	while (err && (err = reply_room(lane, need)) == -EAGAIN) {
		if ((err = link_broken(l)))
			return err;
		err = -EAGAIN;
		if (wait_spin(&w))
			continue;
		wait_flag(&w, &lane->control->room_sleep);
		if ((err = reply_room(lane, need)) != -EAGAIN)
			break;
		if ((err = link_sleep(l, &w, &lane->control->room_sleep)))
			return err;
		err = -EAGAIN;
	}
	*record = lane->down + (lane->down_tail & (l->ring_size - 1));
	return err;
}

void reply_publish(struct lane *lane, uint32_t record)
{
	uint64_t tail = lane->down_tail += record;

	/* Another thread may write the next reply: do not access the lane's own fields after the store. */
	ORDER_BEFORE(told);
	store_ordered(&lane->control->down_tail, tail);
	wait_wake(&lane->control->reply_sleep);
}

int lane_reply_reserve(struct lane *lane, uint32_t size, void **payload)
{
	struct link *l = lane->link;
	uint8_t *record;
	int err = link_broken(l);

	if (err)
		return err;
	if (size > lane_payload_max(lane))
		return -EMSGSIZE;
	if (l->tcp_link) {
		if (!lane->reply_buffer && !(lane->reply_buffer = malloc(l->ring_size / 2)))
			return -ENOMEM;
		record = lane->reply_buffer;
	} else if ((err = reply_reserve(lane, record_bytes(size, LINK_PIECES), &record))) {
		return err;
	}
	lane->reply_reserved = size;
	*payload = record + sizeof(struct frame_head);
	return 0;
}

int lane_reply(
	struct lane *lane, uint32_t op, uint64_t ticket, uint32_t size, const struct piece *pieces, unsigned npieces)
{
	struct link *l = lane->link;
	struct frame_head head = {.payload = size,
		.op = op,
		.ticket = ticket,
		.lane = (uint16_t)lane->number,
		.npieces = (uint8_t)npieces,
		.kind = FRAME_PLAIN};
	uint8_t *record;

	if (size > lane->reply_reserved || npieces > LINK_PIECES)
		return -EINVAL;
	lane->reply_reserved = 0;
	if (l->tcp_link)
		return tcp_reply(lane, &head, pieces);
	record = lane->down + (lane->down_tail & (l->ring_size - 1));
	memcpy(record, &head, sizeof head);
	if (npieces)
		memcpy(record + frame_bytes(size, 0), pieces, npieces * sizeof *pieces);
	reply_publish(lane, record_bytes(size, npieces));
	return link_broken(l);
}
