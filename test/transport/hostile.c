/*
 * A peer that writes arbitrary data into shared memory or the TCP stream breaks only its own link: the other side gets
 * -EPROTO (or -EPIPE), never an overrun, a crash or an endless wait.
 *
 *	hostile [rounds of random scribbling]
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "test/transport/pair.h"
#include "transport/hello.h"
#include "transport/memory.h"
#include "transport/private.h"

#define LIMIT 60000 /* ms: for frames that do arrive */
#define STUCK 5000  /* for frames that may not arrive because the other side corrupted the ring */

static void post(struct lane *lane, uint32_t size)
{
	void *to;

	if (!lane_reserve(lane, size, &to))
		lane_post(lane, 0, size, NULL, 0, NULL);
}

/* ---- A client with one false value at a time; the server must detect it ---- */

static struct frame_head *next_frame(struct lane *lane)
{
	return (struct frame_head *)(lane->up + (lane->up_tail & (lane->link->ring_size - 1)));
}

/* Publishes a frame with this head. */
static void forge(struct lane *lane, struct frame_head head)
{
	struct link *l = lane->link;
	uint64_t ticket = atomic_fetch_add(&l->ticket, 1);

	head.kind = head.kind ? head.kind : FRAME_PLAIN;
	head.ticket += ticket;
	memcpy(next_frame(lane), &head, sizeof head);
	store_ordered(&l->board[ticket % BOARD_SLOTS], (ticket + 1) << LANE_BITS | lane->number);
	wait_wake(&l->control->reader_sleep);
}

static void entry(struct lane *lane, uint64_t value)
{
	struct link *l = lane->link;

	store_ordered(&l->board[load_relaxed(&l->ticket) % BOARD_SLOTS], value);
	wait_wake(&l->control->reader_sleep);
}

static void huge_payload(struct lane *lane)
{
	forge(lane, (struct frame_head){.payload = 0xffffffff});
}

static void long_payload(struct lane *lane)
{
	forge(lane, (struct frame_head){.payload = lane->link->ring_size / 2});
}

static void many_pieces(struct lane *lane)
{
	forge(lane, (struct frame_head){.npieces = LINK_PIECES + 1});
}

static void wrong_kind(struct lane *lane)
{
	forge(lane, (struct frame_head){.kind = FRAME_WORD});
}

static void wrong_lane(struct lane *lane)
{
	forge(lane, (struct frame_head){.lane = 7});
}

static void wrong_ticket(struct lane *lane)
{
	forge(lane, (struct frame_head){.ticket = 1});
}

static void far_piece(struct lane *lane)
{
	struct piece p = {0xfffff000, 0x2000};
	void *to;

	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, 0, 0, &p, 1, NULL), 0);
}

static void unknown_lane(struct lane *lane)
{
	entry(lane, (load_relaxed(&lane->link->ticket) + 1) << LANE_BITS | 9);
}

static void impossible_lane(struct lane *lane)
{
	entry(lane, (load_relaxed(&lane->link->ticket) + 1) << LANE_BITS | 0xffff);
}

static void later_ticket(struct lane *lane)
{
	entry(lane, (load_relaxed(&lane->link->ticket) + 2) << LANE_BITS);
}

static void lying_cursor(struct lane *lane)
{
	store_ordered(&lane->control->down_head, 1ull << 40);
	/* The server answers every frame, and checks the ring when it seems full. */
	for (int i = 0; i < 10000 && !link_error(lane->link, NULL); i++)
		post(lane, 8);
}

static void lane_twice(struct lane *lane)
{
	int fd = memory_create("lane", lane_bytes(lane->link->ring_size));

	unix_send(lane->link->fd, UNIX_LANE, 0, &fd, 1);
	close(fd);
}

static void small_lane(struct lane *lane)
{
	int fd = memory_create("lane", 4096);

	unix_send(lane->link->fd, UNIX_LANE, 1, &fd, 1);
	close(fd);
}

/* Memory that the client can truncate while the server uses it. */
static void loose_lane(struct lane *lane)
{
	int fd = memfd_create("lane", MFD_ALLOW_SEALING);

	CHECK_EQ(ftruncate(fd, (off_t)lane_bytes(lane->link->ring_size)), 0);
	unix_send(lane->link->fd, UNIX_LANE, 1, &fd, 1);
	close(fd);
}

static void unknown_message(struct lane *lane)
{
	unix_send(lane->link->fd, 99, 0, NULL, 0);
}

/* One descriptor more than a message may carry; the kernel truncates the list, and the server closes all of them. */
static void many_descriptors(struct lane *lane)
{
	int fds[] = {0, 1, 2, 0};

	unix_send(lane->link->fd, UNIX_FD, 1, fds, 4);
}

static void short_message(struct lane *lane)
{
	CHECK_EQ(send(lane->link->fd, "x", 1, 0), 1);
}

static void (*const client_lies[])(struct lane *) = {
	huge_payload,
	long_payload,
	many_pieces,
	wrong_kind,
	wrong_lane,
	wrong_ticket,
	far_piece,
	unknown_lane,
	impossible_lane,
	later_ticket,
	lying_cursor,
	lane_twice,
	small_lane,
	loose_lane,
	unknown_message,
	short_message,
	many_descriptors,
};

static int answer_all(struct link *l, int limit)
{
	struct frame f;
	void *to;
	int err = 0;

	while (!err && !(err = link_next(l, &f, limit)))
		if (!(err = lane_reply_reserve(f.lane, 100, &to)))
			err = lane_reply(f.lane, 0, f.ticket, 100, NULL, 0);
	return err;
}

static int serve_liar(struct link *l)
{
	char text[LINK_ERROR_TEXT];
	int err = answer_all(l, LIMIT);

	CHECK_EQ(err, -EPROTO);
	CHECK(link_error(l, text) == err && text[0]);
	return RESULT();
}

static void lying_clients(void)
{
	for (size_t i = 0; i < sizeof client_lies / sizeof *client_lies; i++) {
		struct lane *lane;
		struct pair p;
		int bad;

		CHECK_EQ(pair_start(&p, false, serve_liar, NULL, NULL), 0);
		CHECK_EQ(lane_open(p.link, &lane), 0);
		client_lies[i](lane);
		bad = pair_wait(&p);
		if (bad)
			fprintf(stderr, "client attack %zu: the server returned %d\n", i, bad), failures++;
		link_destroy(p.link);
	}
}

/* ---- A server with false values: the client's thread detects them ---- */

static int lie_number;

static int serve_lies(struct link *l)
{
	struct frame_head head = {.kind = FRAME_PLAIN};
	struct lane_control *c;
	struct frame f;

	if (link_next(l, &f, LIMIT))
		return 1;
	c = f.lane->control;
	if (lie_number == 0)
		store_ordered(&c->down_tail, 1ull << 50);
	if (lie_number == 1)
		store_ordered(&c->down_tail, 8);
	if (lie_number == 2)
		head.payload = 0x80000000;
	if (lie_number == 3)
		head.npieces = 200;
	if (lie_number == 4)
		head.payload = 1000; /* more than was published */
	if (lie_number == 7)
		head.ticket = f.ticket + 1; /* of another call */
	if (lie_number == 5)
		store_ordered(&c->up_head, 1ull << 50);
	if (lie_number == 6)
		store_ordered(&l->control->done, 1ull << 50);
	if ((lie_number >= 2 && lie_number <= 4) || lie_number == 7) {
		memcpy(f.lane->down, &head, sizeof head);
		store_ordered(&c->down_tail, LINE);
	}
	wait_wake(&c->reply_sleep);
	wait_wake(&l->control->space_sleep);
	while (!link_error(l, NULL))
		usleep(1000);
	return 0;
}

static void lying_servers(void)
{
	for (lie_number = 0; lie_number < 8; lie_number++) {
		struct lane *lane;
		struct pair p;
		struct frame f;
		void *to;
		int err;

		CHECK_EQ(pair_start(&p, false, serve_lies, NULL, NULL), 0);
		CHECK_EQ(lane_open(p.link, &lane), 0);
		if (lie_number < 7)
			post(lane, 8);
		else if (!lane_reserve(lane, 8, &to))
			lane_call(lane, 0, 8, NULL, 0, NULL);
		if (lie_number < 5 || lie_number == 7) {
			err = lane_wait_reply(lane, &f, LIMIT);
		} else {
			while (!(err = lane_reserve(lane, 100000, &to)))
				lane_post(lane, 0, 100000, NULL, 0, NULL);
		}
		if (err != -EPROTO)
			fprintf(stderr, "server attack %d: the client got %d, expected -EPROTO\n", lie_number, err),
				failures++;
		link_destroy(p.link);
		CHECK_EQ(pair_wait(&p), 0);
	}
}

/* Unrequested replies fill a lane without a reader; then the server ends, and waits on other lanes must end, too. */
static int serve_flood(struct link *l)
{
	struct frame f;
	void *to;

	if (link_next(l, &f, LIMIT))
		return 1;
	for (int i = 0; i < 300; i++)
		if (lane_reply_reserve(f.lane, 1024, &to) || lane_reply(f.lane, 0, 0, 1024, NULL, 0))
			return 1;
	return 0;
}

static void flooding_server(void)
{
	struct lane *flooded, *lane;
	struct frame f;
	struct pair p;

	CHECK_EQ(pair_start(&p, true, serve_flood, NULL, NULL), 0);
	CHECK_EQ(lane_open(p.link, &flooded), 0);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	post(flooded, 8);
	CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), -EPIPE);
	link_destroy(p.link);
	CHECK_EQ(pair_wait(&p), 0);
}

/* Bytes for a position outside the arena: the next reader must not copy them, although the link is already broken. */
static int serve_far(struct link *l)
{
	struct {
		struct frame_head head;
		struct piece piece;
		char bytes[4096];
	} far = {.head = {.kind = FRAME_WORD, .npieces = 1}, .piece = {0xf0000000, 65536}};
	struct frame f;

	if (link_next(l, &f, LIMIT) || send(l->fd, &far, sizeof far, MSG_NOSIGNAL) != sizeof far)
		return 1;
	while (!link_next(l, &f, LIMIT))
		;
	return 0;
}

static void far_down(void)
{
	struct lane *lane;
	struct frame f;
	struct pair p;

	CHECK_EQ(pair_start(&p, true, serve_far, NULL, NULL), 0);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	post(lane, 8);
	CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), -EPROTO);
	for (int i = 0; i < 3; i++)
		tcp_assist(p.link);
	link_destroy(p.link);
	CHECK_EQ(pair_wait(&p), 0);
}

/* ---- Random values in all shared memory ---- */

static int serve_scribbled(struct link *l)
{
	struct frame f;
	int err = link_next(l, &f, STUCK);

	err = err ? err : answer_all(l, 100); /* the other side may wait for room in its corrupted ring */

	return err == -EPROTO || err == -EPIPE || err == -ETIMEDOUT ? 0 : 1;
}

static void scribble_once(struct lane *lane, uint64_t *seed)
{
	struct link *l = lane->link;
	uint64_t value = roll(seed) % 4 ? roll(seed) % 300 : roll(seed), i = roll(seed);

	switch (roll(seed) % 8) {
	case 0:
		((uint64_t *)l->control)[i % (sizeof *l->control / 8)] = value;
		break;
	case 1:
		((uint64_t *)lane->control)[i % (sizeof *lane->control / 8)] = value;
		break;
	case 2:
		l->board[(load_relaxed(&l->ticket) + i % 3) % BOARD_SLOTS] = value;
		break;
	case 3:
		((uint32_t *)lane->up)[i % 512] = (uint32_t)value;
		break;
	default:
		((uint32_t *)next_frame(lane))[i % 16] = (uint32_t)value;
		post(lane, value % 200);
	}
	wait_wake_always(&l->control->reader_sleep);
}

static void scribbling(uint64_t seed)
{
	struct link_config config = link_defaults(false);
	struct lane *lane;
	struct pair p;

	config.ring_size = 16384;
	config.up_size = config.down_size = 65536;
	CHECK_EQ(pair_start(&p, false, serve_scribbled, &config, NULL), 0);
	CHECK_EQ(lane_open(p.link, &lane), 0);
	/* Do not wait for room in a ring that this side has corrupted. */
	for (int i = 0; i < 60 && !link_error(p.link, NULL); i++)
		scribble_once(lane, &seed);
	CHECK_EQ(pair_end(&p), 0);
}

/* ---- Random bytes on a TCP stream after a valid hello ---- */

static int raw_tcp(const char *address, bool honest)
{
	struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct link_config config = link_defaults(false);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct hello h;

	name.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
	CHECK_EQ(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
	hello_make(&h, &config);
	if (honest) {
		hello_send(fd, &h, wait_now() + LIMIT * 1000000ull);
		hello_receive(fd, &h, wait_now() + LIMIT * 1000000ull);
	}
	return fd;
}

static void tcp_garbage(uint64_t seed, bool frames)
{
	struct link_config config = link_defaults(true);
	unsigned char junk[8192];
	struct frame_head head;
	int listener, fd;
	struct pair p;

	CHECK(!pair_listen(&p, true, &listener));
	fflush(NULL);
	p.child = fork();
	if (!p.child) {
		fd = raw_tcp(p.address, true);
		scribble(junk, sizeof junk, seed);
		for (size_t at = 0; frames && at + 256 < sizeof junk; at += 128) {
			head = (struct frame_head){.payload = (uint32_t)(roll(&seed) % 104),
				.ticket = at / 128 + (roll(&seed) % 50 == 0),
				.lane = (uint16_t)(roll(&seed) % 1030),
				.npieces = (uint8_t)(roll(&seed) % 50 == 0),
				.kind = 1};
			memcpy(junk + at, &head, sizeof head);
		}
		if (send(fd, junk, sizeof junk, MSG_NOSIGNAL) < 0)
			_exit(1);
		shutdown(fd, SHUT_WR);
		while (recv(fd, junk, sizeof junk, 0) > 0)
			;
		_exit(0);
	}
	CHECK_EQ(link_serve(&p.link, link_accept(listener), &config, NULL), 0);
	fd = serve_scribbled(p.link);
	CHECK_EQ(fd, 0);
	CHECK_EQ(pair_end(&p), 0);
	pair_unlisten(&p, listener);
}

/* Invalid heads, each alone and of exact length. */
static void tcp_lies(void)
{
	static const struct {
		struct frame_head head;
		struct piece piece;
	} lies[] = {
		{{.kind = FRAME_PLAIN, .payload = 0xffffffff}, {0, 0}},
		{{.kind = FRAME_PLAIN, .payload = 0x7fffffff}, {0, 0}},
		{{.kind = FRAME_PLAIN, .payload = 200000}, {0, 0}},
		{{.kind = FRAME_PLAIN, .npieces = LINK_PIECES + 1}, {0, 0}},
		{{.kind = FRAME_PLAIN, .lane = LINK_LANES}, {0, 0}},
		{{.kind = FRAME_PLAIN, .marks = 1}, {0, 0}},
		{{.kind = FRAME_PLAIN, .ticket = 1}, {0, 0}},
		{{.kind = FRAME_WORD}, {0, 0}},
		{{.kind = 0}, {0, 0}},
		{{.kind = FRAME_PLAIN, .npieces = 1}, {0xffffffff, 1}},
		{{.kind = FRAME_PLAIN, .npieces = 1}, {4096, 0xffffffff}},
	};
	struct link_config config = link_defaults(true);
	int listener, fd;
	struct frame f;
	struct pair p;

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
		CHECK(!pair_listen(&p, true, &listener));
		fflush(NULL);
		p.child = fork();
		if (!p.child) {
			fd = raw_tcp(p.address, true);
			_exit(send(fd, &lies[i], sizeof lies[i], MSG_NOSIGNAL) < 0 || recv(fd, &f, 1, 0) > 0);
		}
		CHECK_EQ(link_serve(&p.link, link_accept(listener), &config, NULL), 0);
		CHECK_EQ(link_next(p.link, &f, LIMIT), -EPROTO);
		CHECK_EQ(pair_end(&p), 0);
		pair_unlisten(&p, listener);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60;

	lying_clients();
	lying_servers();
	flooding_server();
	far_down();
	tcp_lies();
	for (int i = 0; i < rounds; i++) {
		scribbling(1000003ull * (uint64_t)(i + 1));
		tcp_garbage(7777777ull * (uint64_t)(i + 1), i % 2);
	}
	return RESULT();
}
