/*
 * The cost of the transport between two processes, over shared memory and over TCP on this machine.
 *
 *	bench-transport [unix|tcp]		nanoseconds, frames per second and GB/s, medians of 7
 *
 * Both sides spin. With fewer processors than threads the TCP numbers mostly measure the scheduler.
 */
#include "test/transport/pair.h"
#include "transport/wait.h"

#define ROUNDS 7
#define SMALL  64

enum { ECHO, POST, BULK_IN, BULK_OUT, WORD };

static int serve(struct link *l)
{
	struct frame f;
	void *reply;
	int err;

	while (!(err = link_next(l, &f, -1))) {
		if (f.op == POST || (f.op == BULK_IN && !f.size))
			continue;
		if (f.op == WORD) {
			err = word_set(l, 0, (uint32_t)f.ticket, NULL, 0);
			continue;
		}
		err = lane_reply_reserve(f.lane, f.size, &reply);
		if (err)
			break;
		memcpy(reply, f.payload, f.size);
		if (f.op == BULK_OUT) {
			struct piece p;

			memcpy(&p, f.payload, sizeof p);
			err = lane_reply(f.lane, 0, f.ticket, f.size, &p, 1);
		} else {
			err = lane_reply(f.lane, 0, f.ticket, f.size, NULL, 0);
		}
	}
	return err == -EPIPE ? 0 : 1;
}

static void must(int err, const char *what)
{
	if (err)
		fprintf(stderr, "%s: %s\n", what, strerror(-err)), exit(1);
}

static void call(struct lane *lane, uint32_t op, const void *data, uint32_t size, const struct piece *p)
{
	struct frame f;
	void *payload;

	must(lane_reserve(lane, size, &payload), "reserve");
	memcpy(payload, data, size);
	must(lane_call(lane, op, size, p, p != NULL, NULL), "call");
	must(lane_wait_reply(lane, &f, -1), "reply");
	lane_release(lane);
}

static void post(struct lane *lane, uint32_t op, const void *data, uint32_t size, const struct piece *p)
{
	void *payload;

	must(lane_reserve(lane, size, &payload), "reserve");
	memcpy(payload, data, size);
	must(lane_post(lane, op, size, p, p != NULL, NULL), "post");
}

static double round_trip(struct link *l, struct lane *lane)
{
	char data[SMALL] = {0};
	uint64_t start = wait_now();
	int n = 20000;

	(void)l;
	for (int i = 0; i < n; i++)
		call(lane, ECHO, data, SMALL, NULL);
	return (double)(wait_now() - start) / n;
}

/* The caller's cost of a posted call while the ring has room. */
static double post_cost(struct link *l, struct lane *lane)
{
	char data[SMALL] = {0};
	uint64_t spent = 0, start;

	(void)l;
	for (int round = 0; round < 200; round++) {
		call(lane, ECHO, data, SMALL, NULL);
		start = wait_now();
		for (int i = 0; i < 500; i++)
			post(lane, POST, data, SMALL, NULL);
		spent += wait_now() - start;
	}
	return (double)spent / 200 / 500;
}

static double frames_a_second(struct link *l, struct lane *lane)
{
	char data[SMALL] = {0};
	uint64_t start = wait_now();
	int n = 500000;

	(void)l;
	for (int i = 0; i < n; i++)
		post(lane, POST, data, SMALL, NULL);
	call(lane, ECHO, data, SMALL, NULL);
	return n * 1e9 / (double)(wait_now() - start);
}

static double word_trip(struct link *l, struct lane *lane)
{
	uint64_t start = wait_now(), ticket;
	void *payload;
	int n = 20000;

	for (int i = 0; i < n; i++) {
		must(lane_reserve(lane, 0, &payload), "reserve");
		must(lane_call(lane, WORD, 0, NULL, 0, &ticket), "call");
		must(word_wait(l, 0, (uint32_t)ticket, -1, NULL, NULL), "word");
	}
	return (double)(wait_now() - start) / n;
}

/* Pieces of 4 MiB, two in flight. Shared memory moves no bytes, so the client writes the pieces: a memcpy. */
static double bulk_up(struct link *l, struct lane *lane)
{
	uint32_t size = 4u << 20;
	uint8_t *base = bulk_base(l, BULK_UP, NULL), *source = malloc(size);
	struct piece p[2];
	uint64_t start;
	int n = 64;

	memset(source, 1, size);
	must(bulk_alloc(l, BULK_UP, size, &p[0]) | bulk_alloc(l, BULK_UP, size, &p[1]), "bulk");
	start = wait_now();
	for (int i = 0; i < n; i += 2)
		for (int k = 0; k < 2; k++) {
			memcpy(base + p[k].offset, source, size);
			if (k)
				call(lane, BULK_IN, "", 1, &p[k]);
			else
				post(lane, BULK_IN, "", 0, &p[k]);
		}
	start = wait_now() - start;
	bulk_free(l, BULK_UP, p[0]);
	bulk_free(l, BULK_UP, p[1]);
	free(source);
	return (double)n * size / (double)start;
}

static double bulk_down(struct link *l, struct lane *lane)
{
	uint32_t size = 4u << 20;
	uint8_t *base = bulk_base(l, BULK_DOWN, NULL), *target = malloc(size);
	struct piece p;
	uint64_t start;
	int n = 64;

	memset(target, 1, size);
	must(bulk_alloc(l, BULK_DOWN, size, &p), "bulk");
	start = wait_now();
	for (int i = 0; i < n; i++) {
		call(lane, BULK_OUT, &p, sizeof p, NULL);
		memcpy(target, base + p.offset, size);
	}
	start = wait_now() - start;
	bulk_free(l, BULK_DOWN, p);
	free(target);
	return (double)n * size / (double)start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Time from connecting to the first reply; the server is already running and accepts repeatedly. */
static void measure_connect(const char *kind, bool tcp)
{
	struct link_config client = link_defaults(false), server = link_defaults(true);
	double values[ROUNDS * 3];
	struct lane *lane;
	struct pair p;
	uint64_t start;
	int listener;

	if (pair_listen(&p, tcp, &listener))
		exit(1);
	p.child = fork();
	if (!p.child)
		for (;;) {
			must(link_serve(&p.link, link_accept(listener), &server, NULL), "serve");
			serve(p.link);
			link_destroy(p.link);
		}
	for (int i = 0; i < ROUNDS * 3; i++) {
		start = wait_now();
		must(link_connect(&p.link, p.address, &client, NULL), "connect");
		must(lane_open(p.link, &lane), "lane");
		call(lane, ECHO, "", 1, NULL);
		values[i] = (double)(wait_now() - start) / 1000;
		link_destroy(p.link);
	}
	kill(p.child, SIGKILL);
	pair_wait(&p);
	pair_unlisten(&p, listener);
	qsort(values, ROUNDS * 3, sizeof *values, compare);
	printf("%s_connect_us %.4g (%.4g .. %.4g)\n", kind, values[ROUNDS * 3 / 2], values[0], values[ROUNDS * 3 - 1]);
}

static void measure(const char *kind, const char *name, double (*f)(struct link *, struct lane *), struct link *l,
	struct lane *lane)
{
	double values[ROUNDS];

	f(l, lane);
	for (int i = 0; i < ROUNDS; i++)
		values[i] = f(l, lane);
	qsort(values, ROUNDS, sizeof *values, compare);
	printf("%s_%s %.4g (%.4g .. %.4g)\n", kind, name, values[ROUNDS / 2], values[0], values[ROUNDS - 1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		const char *kind = tcp ? "tcp" : "unix";
		struct lane *lane;
		struct pair p;

		if (argc > 1 && strcmp(argv[1], kind))
			continue;
		if (pair_start(&p, tcp, serve, NULL, NULL))
			return 1;
		must(lane_open(p.link, &lane), "lane");
		measure(kind, "round_trip_ns", round_trip, p.link, lane);
		measure(kind, "word_trip_ns", word_trip, p.link, lane);
		measure(kind, "post_ns", post_cost, p.link, lane);
		measure(kind, "frames_per_s", frames_a_second, p.link, lane);
		measure(kind, "bulk_up_GBps", bulk_up, p.link, lane);
		measure(kind, "bulk_down_GBps", bulk_down, p.link, lane);
		CHECK_EQ(pair_end(&p), 0);
		measure_connect(kind, tcp);
	}
	return RESULT();
}
