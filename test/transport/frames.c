/*
 * Frames of random sizes from many threads arrive intact, in the order of each lane and of all tickets. If a lock
 * orders two threads' frames, they arrive in that order. Replies reach the thread that asked.
 *
 *	frames [frames per thread] [threads]
 */
#include <pthread.h>
#include <stdatomic.h>

#include "test/transport/pair.h"

enum { LOOSE, ORDERED, CALL, END };

struct note {
	uint64_t sequence; /* within the lane */
	uint64_t order;    /* among all ORDERED frames */
	uint64_t sum;      /* of the bytes that follow */
};

static struct link *link_;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order;
static long frames = 40000;
static int threads = 8;

/* ---- The server ---- */

static int reply(const struct frame *f, const struct note *note, uint64_t *seed)
{
	struct note answer = {.sequence = note->sequence};
	uint32_t extra = roll(seed) % 16 ? roll(seed) % 200 : roll(seed) % 100000;
	void *to;
	int err = lane_reply_reserve(f->lane, sizeof answer + extra, &to);

	if (err)
		return err;
	scribble((char *)to + sizeof answer, extra, note->sequence + 1);
	answer.sum = checksum((char *)to + sizeof answer, extra);
	memcpy(to, &answer, sizeof answer);
	return lane_reply(f->lane, 7, f->ticket, sizeof answer + extra, NULL, 0);
}

static int serve(struct link *l)
{
	static uint64_t sequence[LINK_LANES];
	uint64_t ticket = 0, ordered = 0, seed = 99;
	struct note note;
	struct frame f;
	int err;

	while (!(err = link_next(l, &f, -1))) {
		CHECK_EQ(f.ticket, ticket++);
		if (f.op == END)
			break;
		CHECK(f.size >= sizeof note);
		memcpy(&note, f.payload, sizeof note);
		CHECK_EQ(note.sequence, sequence[lane_number(f.lane)]++);
		CHECK(note.sum == checksum((const char *)f.payload + sizeof note, f.size - sizeof note));
		if (f.op == ORDERED)
			CHECK_EQ(note.order, ordered++);
		if (f.op == CALL)
			CHECK_EQ(reply(&f, &note, &seed), 0);
		if (failures > 5)
			return 1;
	}
	CHECK_EQ(err, 0);
	CHECK_EQ(ticket, (uint64_t)frames * threads + 1);
	return RESULT();
}

/* ---- The client ---- */

static uint32_t some_size(struct lane *lane, uint64_t *seed)
{
	uint64_t kind = roll(seed) % 1000;

	return kind < 900   ? roll(seed) % 256
	       : kind < 997 ? roll(seed) % 4096
			    : roll(seed) % (lane_payload_max(lane) - sizeof(struct note) + 1);
}

static void check_reply(struct lane *lane, uint64_t sequence, uint64_t ticket)
{
	struct note note;
	struct frame f;

	int err = lane_wait_reply(lane, &f, -1);

	CHECK_EQ(err, 0);
	if (err)
		return;
	CHECK(f.op == 7 && f.ticket == ticket && f.size >= sizeof note);
	memcpy(&note, f.payload, sizeof note);
	CHECK_EQ(note.sequence, sequence);
	CHECK(note.sum == checksum((const char *)f.payload + sizeof note, f.size - sizeof note));
	lane_release(lane);
}

static void send_one(struct lane *lane, uint64_t sequence, uint64_t *seed)
{
	uint32_t size = some_size(lane, seed);
	uint32_t op = roll(seed) % 64 == 0 ? CALL : roll(seed) % 4 == 0 ? ORDERED : LOOSE;
	struct note note = {.sequence = sequence};
	uint64_t ticket = 0;
	void *to;

	CHECK_EQ(lane_reserve(lane, size + sizeof note, &to), 0);
	scribble((char *)to + sizeof note, size, *seed);
	note.sum = checksum((char *)to + sizeof note, size);
	if (op == ORDERED) {
		pthread_mutex_lock(&lock);
		note.order = order++;
	}
	memcpy(to, &note, sizeof note);
	if (op == CALL)
		CHECK_EQ(lane_call(lane, op, size + sizeof note, NULL, 0, &ticket), 0);
	else
		CHECK_EQ(lane_post(lane, op, size + sizeof note, NULL, 0, &ticket), 0);
	if (op == ORDERED)
		pthread_mutex_unlock(&lock);
	if (op == CALL)
		check_reply(lane, sequence, ticket);
}

static void *client(void *arg)
{
	uint64_t seed = 12345 + (uintptr_t)arg * 7919;
	struct lane *lane;

	CHECK_EQ(lane_open(link_, &lane), 0);
	for (long i = 0; i < frames && failures < 5; i++)
		send_one(lane, (uint64_t)i, &seed);
	return NULL;
}

static void run(bool tcp)
{
	pthread_t ids[64];
	struct lane *lane;
	struct pair p;
	void *to;

	order = 0;
	if (pair_start(&p, tcp, serve, NULL, NULL)) {
		failures++;
		return;
	}
	link_ = p.link;
	for (int i = 0; i < threads; i++)
		pthread_create(&ids[i], NULL, client, (void *)(uintptr_t)i);
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	CHECK_EQ(lane_reserve(lane, lane_payload_max(lane) + 1, &to), -EMSGSIZE);
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, END, 0, NULL, 0, NULL), 0);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

int main(int argc, char **argv)
{
	frames = argc > 1 ? atol(argv[1]) : frames;
	threads = argc > 2 && atoi(argv[2]) <= 64 ? atoi(argv[2]) : threads;
	run(false);
	run(true);
	return RESULT();
}
