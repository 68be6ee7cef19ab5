/* reply.c - the writing side of the down rings. */
#include "transport/private.h"

#include <errno.h>
#include <string.h>

#include "util/tsan_order.h"

static int room(struct lane *lane, uint32_t need)
{
	struct link *l = lane->link;
	uint64_t head = load_ordered(&lane->control->down_head);

	if (head > lane->down_tail || head < lane->down_head_seen)
		return link_break(l, -EPROTO, "the client's cursors make no sense");
	lane->down_head_seen = head;
	return lane->down_tail + need - head <= l->ring_size ? 0 : -EAGAIN;
}

int reply_reserve(struct lane *lane, uint32_t need, uint8_t **record)
{
	struct link *l = lane->link;
	struct wait w;
	int err = lane->down_tail + need - lane->down_head_seen <= l->ring_size ? 0 : -EAGAIN;

	wait_init(&w, l->spin_us, -1);
	while (err && (err = room(lane, need)) == -EAGAIN) {
		if ((err = link_broken(l)))
			return err;
		err = -EAGAIN;
		if (wait_spin(&w))
			continue;
		wait_flag(&w, &lane->control->room_sleep);
		if ((err = room(lane, need)) != -EAGAIN)
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

	ORDER_BEFORE(
		told); /* who answers here next may be another thread: nothing of the lane is looked at behind this */
	store_ordered(&lane->control->down_tail, tail);
	wait_wake(&lane->control->reply_sleep);
}
