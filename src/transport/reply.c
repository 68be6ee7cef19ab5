/* reply.c - writes replies into the down rings. */
#include "transport/private.h"

#include <errno.h>
#include <string.h>

#include "util/tsan_order.h"

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
