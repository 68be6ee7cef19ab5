/*
 * poke.h - the part of between.c that works on shared memory: it forwards descriptors, keeps the memory behind them,
 * and changes its content after one side has written it and, with luck, before the other side has read it.
 */
#pragma once

static struct {
	struct control *control; /* followed by the board */
	struct lane_control *lanes[LINK_LANES];
	uint64_t at[LINK_LANES], down[LINK_LANES]; /* start of the next frame and of the next reply in each lane */
	_Atomic unsigned nlanes;
	uint32_t ring;
} shared;

static void *map_all(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* The server's first message carries the link's memory, the client's messages carry lanes. */
static void keep(const uint32_t *message, const int *fds, unsigned nfds, const struct hello *agreed)
{
	if (message[0] == UNIX_MEMORY && nfds == 3)
		shared.control =
			map_all(fds[0], 4096 + BOARD_SLOTS * sizeof(uint64_t) + agreed->words * sizeof(struct word));
	if (message[0] == UNIX_LANE && nfds == 1 && shared.nlanes < LINK_LANES) {
		shared.lanes[shared.nlanes] = map_all(fds[0], 4096 + 2 * (size_t)shared.ring);
		shared.nlanes += shared.lanes[shared.nlanes] != NULL;
	}
}

/* Forwards a message with its descriptors. */
static bool pass_on(int from, int to, bool up, const struct hello *agreed)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} space;
	uint32_t text[64];
	struct iovec iov = {text, sizeof text};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &space, .msg_controllen = sizeof space};
	ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	unsigned nfds = c ? (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	int *fds = c ? (int *)CMSG_DATA(c) : NULL;

	if (n <= 0)
		return false;
	if (n >= 4)
		keep(text, fds, nfds, agreed);
	if (up != !!lies && shared.control && now_is_the_time(spared) && roll() % 4 == 0)
		change_values((uint8_t *)text, (size_t)n);
	iov.iov_len = (size_t)n;
	msg.msg_controllen = c ? c->cmsg_len : 0;
	n = sendmsg(to, &msg, MSG_NOSIGNAL);
	for (unsigned i = 0; i < nfds; i++)
		close(fds[i]);
	return n > 0;
}

/* The frame published last, if the worker has not taken it yet. */
static void poke_frame(unsigned lane, unsigned long n)
{
	uint8_t *record = (uint8_t *)shared.lanes[lane] + 4096 + (shared.at[lane] & (shared.ring - 1));
	uint8_t *end = (uint8_t *)shared.lanes[lane] + 4096 + 2 * (size_t)shared.ring;
	struct frame_head head;

	memcpy(&head, record, sizeof head);
	if (head.payload > shared.ring / 2 || head.npieces > LINK_PIECES)
		return;
	tally->frames++;
	if (head.op < WIRE_NVML_END)
		tally->reached[head.op]++;
	size_t size = head.payload < (size_t)(end - record) - sizeof head ? head.payload : 0; /* ignore wrapping */
	learn(record + sizeof head, size);
	if (!lies && now_is_the_time(n)) {
		tally->changed++;
		change_values(record + (roll() % 8 ? sizeof head : 0), size);
	}
	shared.at[lane] += record_bytes(head.payload, head.npieces);
}

/* A reply that the program may not have taken yet. True: there was one. */
static bool poke_reply(unsigned lane, unsigned long n)
{
	uint8_t *ring = (uint8_t *)shared.lanes[lane] + 4096 + shared.ring;
	uint64_t at = shared.down[lane] & (shared.ring - 1);
	struct frame_head head;

	if (load_acquire(&shared.lanes[lane]->down_tail) - shared.down[lane] - 1 >= shared.ring)
		return false;
	memcpy(&head, ring + at, sizeof head);
	if (head.payload > shared.ring / 2 || head.npieces > LINK_PIECES)
		return false;
	size_t size = head.payload < shared.ring - at - sizeof head ? head.payload : 0; /* ignore wrapping */
	learn(ring + at + sizeof head, size);
	if (now_is_the_time(n)) {
		tally->changed++;
		change_values(ring + at + (roll() % 8 ? sizeof head : 0), size);
	}
	shared.down[lane] += record_bytes(head.payload, head.npieces);
	return true;
}

/* Changes words, which tell the program what has completed. */
static void poke_words(void)
{
	struct word *words = (struct word *)((uint8_t *)shared.control + 4096 + BOARD_SLOTS * sizeof(uint64_t));

	words[roll() % 64].value += (uint32_t)odd_value();
}

/* Changes cursors, flags, words and the board. */
static void poke_cursors(void)
{
	uint64_t v = odd_value();
	unsigned lane = (unsigned)(roll() % shared.nlanes);

	if (roll() % 2)
		memcpy((uint8_t *)shared.lanes[lane] + roll() % 512 * 8, &v, 8);
	else
		memcpy((uint8_t *)shared.control + roll() % (roll() % 2 ? 512 : 4096) * 8, &v, 8);
}

static _Noreturn void poke(uint64_t seed)
{
	_Atomic uint64_t *board = (_Atomic uint64_t *)((uint8_t *)shared.control + 4096);
	uint64_t next = 0, entry, last = wait_now();

	chance_state = seed;
	while (wait_now() - last < QUIET_MS * 1000000ull) {
		for (unsigned i = 0; lies && i < shared.nlanes; i++)
			if (poke_reply(i, next)) {
				last = wait_now();
				if (next > spared && roll() % (64ul * rarely) == 0)
					poke_words();
			}
		entry = load_acquire(&board[next % BOARD_SLOTS]);
		unsigned lane = entry & 0xffff;
		if (entry >> LANE_BITS == next + 1 && lane < shared.nlanes) {
			poke_frame(lane, next++);
			last = wait_now();
			if (next > spared && roll() % (64ul * rarely) == 0)
				poke_cursors();
		} else {
			sched_yield();
		}
	}
	_exit(0);
}

static void *start_poking(void *seed)
{
	poke((uintptr_t)seed | 1);
}

static void relay_unix(uint64_t seed, const struct hello *agreed)
{
	struct pollfd p[] = {{relay.client, POLLIN, 0}, {relay.server, POLLIN, 0}};
	bool fine = true, poking = false;
	pthread_t thread;

	chance_state = seed | 1;
	shared.ring = agreed->ring_size;
	while (fine && poll(p, 2, -1) > 0) {
		if (p[0].revents)
			fine = pass_on(relay.client, relay.server, true, agreed);
		if (fine && p[1].revents)
			fine = pass_on(relay.server, relay.client, false, agreed);
		if (!poking && shared.nlanes && shared.control)
			poking = !pthread_create(&thread, NULL, start_poking, (void *)(uintptr_t)roll());
	}
}
