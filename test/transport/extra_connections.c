/*
 * Extra connections of a link: the link works without them; no other process can add one; their data is validated; and
 * if one side's process dies, every wait of the other side ends.
 */
#include <netinet/in.h>
#include <sys/un.h>

#include "test/transport/pair.h"
#include "transport/tcp/tcp.h"

#define LIMIT 30000
#define SIDES 2
#define SIZE  (1u << 20)

enum { UP, DOWN, END };

static int reply(struct frame *f, const struct piece *pieces, unsigned n)
{
	void *to;
	int err = lane_reply_reserve(f->lane, 8, &to);

	return err ? err : lane_reply(f->lane, f->op, f->ticket, 8, pieces, n);
}

/* Exits with 0 when told to, otherwise with 3. */
static int serve(struct link *l)
{
	struct piece down = {0, SIZE};
	uint64_t sum;
	struct frame f;

	while (!link_next(l, &f, LIMIT) && f.op != END) {
		if (f.op == UP) {
			memcpy(&sum, f.payload, sizeof sum);
			CHECK(sum == checksum((uint8_t *)bulk_base(l, BULK_UP, NULL) + f.pieces[0].offset,
					     f.pieces[0].size));
			reply(&f, NULL, 0);
		} else {
			memset(bulk_base(l, BULK_DOWN, NULL), 7, SIZE);
			reply(&f, &down, 1);
		}
	}
	if (failures)
		return 1;
	return link_error(l, NULL) ? 3 : 0;
}

static int send_up(struct link *l, struct lane *lane, struct piece *piece)
{
	uint8_t *base = bulk_base(l, BULK_UP, NULL);
	uint64_t sum;
	void *to;
	int err = bulk_alloc(l, BULK_UP, SIZE, piece);

	scribble(base + piece->offset, SIZE, (uintptr_t)piece);
	sum = checksum(base + piece->offset, SIZE);
	err = err ? err : lane_reserve(lane, sizeof sum, &to);
	if (err)
		return err;
	memcpy(to, &sum, sizeof sum);
	return lane_call(lane, UP, sizeof sum, piece, 1, NULL);
}

static int up(struct link *l, struct lane *lane)
{
	struct piece piece;
	struct frame f;
	int err = send_up(l, lane, &piece);

	err = err ? err : lane_wait_reply(lane, &f, LIMIT);
	if (err)
		return err;
	lane_release(lane);
	bulk_free(l, BULK_UP, piece);
	return 0;
}

static int down(struct link *l, struct lane *lane)
{
	uint8_t *base = bulk_base(l, BULK_DOWN, NULL);
	struct frame f;
	void *to;
	int err = lane_reserve(lane, 8, &to);

	base[SIZE - 1] = 0;
	err = err ? err : lane_call(lane, DOWN, 8, NULL, 0, NULL);
	err = err ? err : lane_wait_reply(lane, &f, LIMIT);
	if (err)
		return err;
	CHECK_EQ(base[SIZE - 1], 7);
	lane_release(lane);
	return 0;
}

static void end(struct lane *lane)
{
	void *to;

	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, END, 0, NULL, 0, NULL), 0);
}

static bool start(struct pair *p, struct lane **lane)
{
	struct link_config mine = link_defaults(false);

	mine.extras = SIDES;
	if (!pair_start(p, true, serve, &mine, NULL) && !lane_open(p->link, lane))
		return true;
	failures++;
	return false;
}

/* Wait until the connections exist, in both directions. */
static void use_sides(struct pair *p, struct lane *lane)
{
	struct extras *all = &p->link->tcp->extras;
	uint64_t end = wait_now() + LIMIT * 1000000ull;

	while (wait_now() < end && !failures && !(all->extra[0].queued && all->extra[SIDES - 1].received)) {
		CHECK_EQ(up(p->link, lane), 0);
		CHECK_EQ(down(p->link, lane), 0);
	}
	CHECK_EQ(all->count, SIDES);
	CHECK(all->extra[SIDES - 1].received > 0);
}

static void stop_porter(struct pair *p)
{
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->porter, NULL);
	pair_unlisten(p, p->listener);
	p->porting = false;
}

/* No thread accepts extra connections any more, as when a server drains. */
static void without(void)
{
	struct lane *lane;
	struct pair p;

	if (!start(&p, &lane))
		return;
	stop_porter(&p);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(up(p.link, lane), 0);
		CHECK_EQ(down(p.link, lane), 0);
	}
	CHECK_EQ(p.link->tcp->extras.count, 0);
	end(lane);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

/* Opens a connection with this hello; returns whether the server answered. */
static bool answered(struct link *l, const struct hello *h)
{
	uint64_t deadline = wait_now() + 10000000000ull;
	struct hello theirs;
	int fd = address_again(l->fd, deadline);
	bool is = fd >= 0 && !hello_send(fd, h, deadline) && !hello_receive(fd, &theirs, deadline) && !theirs.status;

	if (fd >= 0)
		close(fd);
	return is;
}

static void strangers(void)
{
	struct lane *lane;
	struct pair p;

	if (!start(&p, &lane))
		return;
	struct hello right = p.link->tcp->extras.hello, h;
	right.flags = HELLO_EXTRA;
	h = right, h.extra.key[3] ^= 1;
	CHECK(!answered(p.link, &h));
	h = right, h.extra.name ^= 1;
	CHECK(!answered(p.link, &h));
	h = right, h.extra.index = SIDES;
	CHECK(!answered(p.link, &h));
	h = right, h.extra.count = EXTRAS_MAX + 1;
	CHECK(!answered(p.link, &h));
	h = right, h.protocol ^= 1;
	CHECK(!answered(p.link, &h));
	use_sides(&p, lane);
	CHECK(!answered(p.link, &right)); /* that connection exists already */
	CHECK_EQ(up(p.link, lane), 0);
	end(lane);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

/* Bytes outside the arena, and no bytes at all. */
static void lies(void)
{
	static const struct piece none[] = {{0xfffff000, SIZE}, {64u << 20, 1}, {0, 0xffffffff}, {8, 0}};
	struct lane *lane;
	struct pair p;

	for (unsigned i = 0; i < sizeof none / sizeof *none; i++) {
		if (!start(&p, &lane))
			return;
		use_sides(&p, lane);
		CHECK_EQ(send(p.link->tcp->extras.extra[0].fd, &none[i], sizeof none[i], MSG_NOSIGNAL), sizeof none[i]);
		CHECK_EQ(pair_wait(&p), 3);
		link_destroy(p.link);
	}
}

/* If one of several connections is cut, the link ends on both sides, and no thread waits for ever. */
static void cut(void)
{
	struct lane *lane;
	struct pair p;
	int err = 0;

	if (!start(&p, &lane))
		return;
	use_sides(&p, lane);
	shutdown(p.link->tcp->extras.extra[1].fd, SHUT_RDWR);
	for (int i = 0; i < 10 && !err; i++)
		err = up(p.link, lane);
	CHECK_EQ(err, -EPIPE);
	CHECK_EQ(pair_wait(&p), 3);
	link_destroy(p.link);
}

static void killed_server(void)
{
	struct piece piece;
	struct lane *lane;
	struct frame f;
	struct pair p;
	int err = 0;

	if (!start(&p, &lane))
		return;
	use_sides(&p, lane);
	kill(p.child, SIGSTOP);
	for (int i = 0; i < 8 && !err; i++)
		err = send_up(p.link, lane, &piece);
	CHECK_EQ(err, 0);
	kill(p.child, SIGKILL);
	while (!(err = lane_wait_reply(lane, &f, LIMIT)))
		lane_release(lane);
	CHECK_EQ(err, -EPIPE);
	CHECK_EQ(pair_wait(&p), 1000 + SIGKILL);
	link_destroy(p.link);
}

/* The client dies with bytes in flight: the server receives all complete frames, then ends. */
static void killed_client(void)
{
	int listener;
	struct pair p;
	struct link_config theirs = link_defaults(true), mine = link_defaults(false);

	CHECK(!pair_listen(&p, true, &listener));
	mine.extras = SIDES;
	fflush(NULL);
	p.child = fork();
	if (!p.child) {
		struct lane *lane;
		struct piece piece;

		if (link_connect(&p.link, p.address, &mine, NULL) || lane_open(p.link, &lane))
			_exit(2);
		use_sides(&p, lane);
		for (int i = 0; i < 30; i++)
			send_up(p.link, lane, &piece);
		kill(getpid(), SIGKILL);
	}
	CHECK_EQ(link_serve(&p.link, link_accept(listener), &theirs, NULL), 0);
	p.listener = listener;
	pthread_create(&p.porter, NULL, pair_porter, &p);
	p.porting = true;
	CHECK_EQ(serve(p.link), 3);
	CHECK_EQ(link_error(p.link, NULL), -EPIPE);
	CHECK_EQ(pair_wait(&p), 1000 + SIGKILL);
	link_destroy(p.link);
}

int main(void)
{
	without();
	strangers();
	lies();
	cut();
	killed_server();
	killed_client();
	return RESULT();
}
