/*
 * The content of bulk pieces arrives before the frame, the reply or the word that names them becomes visible: in both
 * directions, for all sizes, from many threads, over one connection and over several. Arenas never hand out more than
 * their size.
 */
#include <pthread.h>

#include "test/transport/pair.h"
#include "transport/tcp/tcp.h"

#define THREADS 3
#define LIMIT   30000

enum { UP, DOWN, DOWN_WORD, WAKE, END };

struct order {
	uint64_t sums[LINK_PIECES];
	struct piece down[LINK_PIECES];
	uint32_t ndown, word, value;
};

static struct link *link_;
static int rounds = 300;

static void fill_down(struct link *l, const struct order *o, uint64_t sums[LINK_PIECES])
{
	uint8_t *base = bulk_base(l, BULK_DOWN, NULL);

	for (unsigned i = 0; i < o->ndown; i++) {
		scribble(base + o->down[i].offset, o->down[i].size, o->value * 31 + i);
		sums[i] = checksum(base + o->down[i].offset, o->down[i].size);
	}
}

static int answer(
	struct lane *lane, uint64_t ticket, const void *data, uint32_t size, const struct piece *pieces, unsigned n)
{
	void *to;
	int err = lane_reply_reserve(lane, size, &to);

	if (err)
		return err;
	if (size)
		memcpy(to, data, size);
	return lane_reply(lane, 0, ticket, size, pieces, n);
}

static int serve(struct link *l)
{
	uint8_t *up = bulk_base(l, BULK_UP, NULL);
	uint64_t sums[LINK_PIECES] = {0};
	struct order o;
	struct frame f;
	int err;

	while (!(err = link_next(l, &f, LIMIT)) && f.op != END) {
		CHECK_EQ(f.size, sizeof o);
		memcpy(&o, f.payload, sizeof o);
		if (f.op == UP) {
			for (unsigned i = 0; i < f.npieces; i++)
				CHECK(o.sums[i] == checksum(up + f.pieces[i].offset, f.pieces[i].size));
			CHECK_EQ(answer(f.lane, f.ticket, NULL, 0, NULL, 0), 0);
		} else if (f.op == DOWN) {
			fill_down(l, &o, sums);
			CHECK_EQ(answer(f.lane, f.ticket, sums, sizeof sums, o.down, o.ndown), 0);
		} else if (f.op == DOWN_WORD) {
			fill_down(l, &o, sums);
			CHECK_EQ(answer(f.lane, f.ticket, sums, sizeof sums, NULL, 0), 0);
			CHECK_EQ(word_set(l, o.word, o.value, o.down, o.ndown), 0);
		} else if (f.op == WAKE) {
			/* as a GPU would write it */
			__atomic_store_n(word_address(l, o.word), o.value, __ATOMIC_SEQ_CST);
			CHECK_EQ(word_wake(l, o.word, NULL, 0), 0);
		}
	}
	CHECK_EQ(err, 0);
	return RESULT();
}

static void call(struct lane *lane, uint32_t op, const struct order *o, const struct piece *pieces, unsigned n,
	struct frame *reply)
{
	void *to;

	CHECK_EQ(lane_reserve(lane, sizeof *o, &to), 0);
	memcpy(to, o, sizeof *o);
	CHECK_EQ(lane_call(lane, op, sizeof *o, pieces, n, NULL), 0);
	if (reply)
		CHECK_EQ(lane_wait_reply(lane, reply, LIMIT), 0);
}

static unsigned some_pieces(enum bulk which, struct piece *pieces, uint64_t *seed)
{
	unsigned want = 1 + roll(seed) % LINK_PIECES, n = 0;

	for (unsigned i = 0; i < want; i++) {
		uint32_t size = roll(seed) % 4 ? 1 + roll(seed) % 9000 : 1 + roll(seed) % 500000;

		n += !bulk_alloc(link_, which, size, &pieces[n]);
	}
	return n;
}

static void free_pieces(enum bulk which, const struct piece *pieces, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bulk_free(link_, which, pieces[i]);
}

static void up(struct lane *lane, uint64_t *seed)
{
	uint8_t *base = bulk_base(link_, BULK_UP, NULL);
	struct piece pieces[LINK_PIECES];
	struct order o = {0};
	struct frame f;
	unsigned n = some_pieces(BULK_UP, pieces, seed);

	for (unsigned i = 0; i < n; i++) {
		scribble(base + pieces[i].offset, pieces[i].size, roll(seed));
		o.sums[i] = checksum(base + pieces[i].offset, pieces[i].size);
	}
	call(lane, UP, &o, pieces, n, &f);
	lane_release(lane);
	free_pieces(BULK_UP, pieces, n);
}

static void down(struct lane *lane, uint64_t *seed, unsigned word, uint32_t *value, bool by_word)
{
	uint8_t *base = bulk_base(link_, BULK_DOWN, NULL);
	struct order o = {.word = word, .value = ++*value};
	uint64_t sums[LINK_PIECES];
	struct frame f = {0};

	o.ndown = some_pieces(BULK_DOWN, o.down, seed);
	call(lane, by_word ? DOWN_WORD : DOWN, &o, NULL, 0, &f);
	CHECK_EQ(f.size, sizeof sums);
	if (failures)
		return;
	memcpy(sums, f.payload, sizeof sums);
	lane_release(lane);
	if (by_word) {
		CHECK_EQ(word_wait(link_, word, *value, LIMIT, NULL, NULL), 0);
	} else {
		CHECK_EQ(f.npieces, o.ndown);
		--*value;
	}
	for (unsigned i = 0; i < o.ndown; i++)
		CHECK(sums[i] == checksum(base + o.down[i].offset, o.down[i].size));
	free_pieces(BULK_DOWN, o.down, o.ndown);
}

struct ask {
	struct lane *lane;
	struct order order;
	int asked;
};

static int ask_wake(void *arg)
{
	struct ask *a = arg;

	a->asked++;
	call(a->lane, WAKE, &a->order, NULL, 0, NULL);
	return 0;
}

static void *client(void *arg)
{
	uint64_t seed = 4242 + (uintptr_t)arg;
	struct ask a = {0};
	uint32_t value;
	unsigned word;

	CHECK_EQ(lane_open(link_, &a.lane), 0);
	CHECK_EQ(word_alloc(link_, &word, &value), 0);
	for (int i = 0; i < rounds && !failures; i++) {
		if (roll(&seed) % 2)
			up(a.lane, &seed);
		else
			down(a.lane, &seed, word, &value, roll(&seed) % 2);
	}
	a.order = (struct order){.word = word, .value = value + 1};
	CHECK(!word_reached(link_, word, value + 1));
	CHECK_EQ(word_wait(link_, word, value + 1, LIMIT, ask_wake, &a), 0);
	CHECK_EQ(a.asked, 1);
	CHECK_EQ(word_wait(link_, word, value + 2, 10, NULL, NULL), -ETIMEDOUT);
	return NULL;
}

/* The whole arena can be allocated once, not twice, and is free again afterwards. */
static void exhaust(void)
{
	struct piece all, p[64], more;
	size_t size;
	int n = 0;

	bulk_base(link_, BULK_UP, &size);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size, &all), 0);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, 1, &more), -EAGAIN);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size + 1, &more), -EMSGSIZE);
	bulk_free(link_, BULK_UP, all);
	while (n < 64 && !bulk_alloc(link_, BULK_UP, (uint32_t)size / 64, &p[n]))
		n++;
	CHECK_EQ(n, 64);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, 1, &more), -EAGAIN);
	for (int i = 0; i < n; i += 2)
		bulk_free(link_, BULK_UP, p[i]);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size / 32, &more), -EAGAIN);
	for (int i = 1; i < n; i += 2)
		bulk_free(link_, BULK_UP, p[i]);
	CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size, &all), 0);
	bulk_free(link_, BULK_UP, all);
	/* a recently used range is reused first */
	for (int i = 0; i < 64; i++) {
		CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size / 64, &p[0]), 0);
		CHECK_EQ(bulk_alloc(link_, BULK_UP, (uint32_t)size / 32, &p[1]), 0);
		CHECK_EQ(p[0].offset, 0);
		CHECK_EQ(p[1].offset, size / 64);
		bulk_free(link_, BULK_UP, p[i % 2]);
		bulk_free(link_, BULK_UP, p[!(i % 2)]);
	}
}

static bool all_used(struct extras *all, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!all->extra[i].queued || !all->extra[i].received)
			return false;
	return true;
}

/* All connections come into use in both directions. Until then, frames use the first connection. */
static void check_sides(struct link *l, struct lane *lane, unsigned n)
{
	uint64_t seed = 99, end = wait_now() + LIMIT * 1000000ull;
	uint32_t value = 0;

	while (n && !failures && !all_used(&l->tcp->extras, n) && wait_now() < end) {
		up(lane, &seed);
		down(lane, &seed, 0, &value, false);
	}
	CHECK(!n || all_used(&l->tcp->extras, n));
}

static void run(bool tcp, unsigned sides)
{
	struct link_config mine = link_defaults(false);
	pthread_t ids[THREADS];
	struct lane *lane;
	struct pair p;
	void *to;

	mine.up_size = mine.down_size = 8u << 20;
	mine.extras = sides;
	if (pair_start(&p, tcp, serve, &mine, NULL)) {
		failures++;
		return;
	}
	link_ = p.link;
	exhaust();
	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, client, (void *)(uintptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	check_sides(p.link, lane, sides);
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, END, 0, NULL, 0, NULL), 0);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : rounds;
	run(false, 0);
	run(true, 0);
	run(true, 3);
	pair_memory_first = true;
	run(false, 0);
	run(true, 3);
	return RESULT();
}
