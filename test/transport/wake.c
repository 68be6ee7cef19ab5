/*
 * No wake-up is lost, whether a side spins or sleeps: both sides pause at random, rings run full, and words and replies
 * arrive while the other side is falling asleep. A waiting thread uses no processor time.
 */
#include <pthread.h>
#include <time.h>

#include "test/transport/pair.h"
#include "transport/wait.h"

#define THREADS 4
#define LIMIT   60000 /* ms: a longer wait means a lost wake-up */

#define LONG    20000000000ull /* ns: a busy machine runs fewer rounds of each kind */
#define STEPS   20000          /* rounds in which a wake-up meets a thread that is falling asleep */
#define BACKLOG 100            /* replies that do not fit into their ring */
#define PAIRS   500            /* replies directly followed by a word for another thread */
#define CROWD   4              /* threads that wait for one word */
#define CROWDED 400            /* values of that word to wait for */

enum { CALL, POST, WORD, SOON, BOTH, QUIET, STEP, MANY, END };

static struct link *link_;
static int rounds = 300;

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void rest(uint64_t *seed)
{
	if (roll(seed) % 4 == 0)
		usleep(roll(seed) % 300);
}

/* Up to 4 us: the other side is then anywhere between its last check and its sleep. */
static void linger(uint64_t *seed)
{
	uint64_t end = wait_now() + roll(seed) % 4000;

	while (wait_now() < end)
		;
}

static int serve(struct link *l)
{
	uint64_t seed = 5;
	struct frame f, asked;
	double before;
	uint32_t at[2];
	void *to;
	int err;

	while (!(err = link_next(l, &f, LIMIT)) && f.op != END) {
		if (f.op == STEP || f.op == SOON)
			linger(&seed);
		else if (f.op != MANY && f.op != BOTH)
			rest(&seed);
		if (f.op == CALL || f.op == STEP || f.op == MANY || f.op == BOTH) {
			CHECK_EQ(lane_reply_reserve(f.lane, 1000, &to), 0);
			CHECK_EQ(lane_reply(f.lane, 0, f.ticket, roll(&seed) % 1000, NULL, 0), 0);
		}
		if (f.op == WORD || f.op == SOON || f.op == BOTH) {
			memcpy(at, f.payload, sizeof at);
			CHECK_EQ(word_set(l, at[0], at[1], NULL, 0), 0);
		} else if (f.op == QUIET) {
			asked = f;
			before = cpu_ms();
			CHECK_EQ(link_next(l, &f, 300), -ETIMEDOUT);
			CHECK(cpu_ms() - before < 50); /* spinning would use all of it */
			CHECK_EQ(lane_reply_reserve(asked.lane, 8, &to), 0);
			CHECK_EQ(lane_reply(asked.lane, 0, asked.ticket, 8, NULL, 0), 0);
		}
	}
	CHECK_EQ(err, 0);
	return RESULT();
}

static void publish(struct lane *lane, uint32_t op, const void *data, uint32_t size, uint32_t max)
{
	void *to;

	CHECK_EQ(lane_reserve(lane, max, &to), 0);
	if (size)
		memcpy(to, data, size);
	if (op == CALL || op == STEP || op == BOTH || op == QUIET)
		CHECK_EQ(lane_call(lane, op, size ? size : max, NULL, 0, NULL), 0);
	else
		CHECK_EQ(lane_post(lane, op, size ? size : max, NULL, 0, NULL), 0);
}

static void *client(void *arg)
{
	uint64_t seed = 77 + (uintptr_t)arg, end = wait_now() + LONG;
	uint32_t at[2];
	struct lane *lane;
	struct frame f;
	unsigned index;

	CHECK_EQ(lane_open(link_, &lane), 0);
	CHECK_EQ(word_alloc(link_, &index, &at[1]), 0);
	at[0] = index;
	for (int i = 0; i < rounds && !failures && wait_now() < end; i++) {
		rest(&seed);
		switch (roll(&seed) % 4) {
		case 0: /* enough to fill a ring */
			for (int k = 0; k < 6; k++)
				publish(lane, POST, NULL, 0, 4000);
			break;
		case 1:
			at[1]++;
			publish(lane, WORD, at, sizeof at, sizeof at);
			CHECK_EQ(word_wait(link_, index, at[1], LIMIT, NULL, NULL), 0);
			break;
		default:
			publish(lane, CALL, NULL, 0, 8);
			CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0);
			lane_release(lane);
		}
	}
	word_free(link_, index);
	lane_close(lane);
	return NULL;
}

/* A single thread, so that no other thread can repair a lost wake-up. */
static void steps(void)
{
	uint64_t seed = 3, end = wait_now() + LONG;
	struct lane *lane;
	struct frame f;

	CHECK_EQ(lane_open(link_, &lane), 0);
	for (int i = 0; i < STEPS && !failures && wait_now() < end; i++) {
		publish(lane, STEP, NULL, 0, 8);
		CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0);
		lane_release(lane);
		linger(&seed);
	}
	/* The server waits for room several times. */
	for (int i = 0; i < BACKLOG && !failures; i++)
		publish(lane, MANY, NULL, 0, 8);
	usleep(10000);
	for (int i = 0; i < BACKLOG && !failures; i++) {
		CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0);
		lane_release(lane);
	}
	lane_close(lane);
}

struct sleeper {
	unsigned index;
	uint32_t start;
	_Atomic uint32_t seen;
};

static void *sleeper(void *arg)
{
	struct sleeper *s = arg;

	for (uint32_t i = 1; i <= PAIRS && !failures; i++) {
		CHECK_EQ(word_wait(link_, s->index, s->start + i, LIMIT, NULL, NULL), 0);
		atomic_store(&s->seen, i);
	}
	return NULL;
}

static void call(struct lane *lane, uint32_t op, const void *data, uint32_t size, unsigned pause_us)
{
	struct frame f;

	publish(lane, op, data, size, size ? size : 8);
	for (uint64_t end = wait_now() + pause_us * 1000ull; wait_now() < end;)
		;
	CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0);
	lane_release(lane);
}

/*
 * One thread receives a reply directly followed by a word, and then leaves the link alone: the word must still wake the
 * thread that sleeps on it.
 */
static void others(void)
{
	struct sleeper s = {0};
	uint64_t until, end = wait_now() + LONG;
	struct lane *lane;
	pthread_t id;

	CHECK_EQ(lane_open(link_, &lane), 0);
	CHECK_EQ(word_alloc(link_, &s.index, &s.start), 0);
	pthread_create(&id, NULL, sleeper, &s);
	for (uint32_t i = 1; i <= PAIRS && !failures; i++) {
		if (wait_now() > end)
			i = PAIRS; /* the last one: all earlier ones are done */
		usleep(50);
		call(lane, STEP, NULL, 0, 0);
		call(lane, BOTH, (uint32_t[]){s.index, s.start + i}, 8, 20);
		until = wait_now() + LIMIT * 1000000ull;
		while (atomic_load(&s.seen) < i && wait_now() < until)
			usleep(10);
		CHECK_EQ(atomic_load(&s.seen), i);
	}
	pthread_join(id, NULL);
	word_free(link_, s.index);
	lane_close(lane);
}

/* A thread that waits for the same values of the same word as others. */
struct one {
	unsigned index;
	uint32_t start;
	uint64_t seed;
	pthread_barrier_t *all;
	_Atomic uint32_t *last; /* round */
};

static int linger_first(void *seed)
{
	linger(seed);
	return 0;
}

static void *one(void *arg)
{
	struct one *o = arg;

	for (uint32_t i = 1; i <= atomic_load(o->last); i++) {
		if (!failures)
			CHECK_EQ(word_wait(link_, o->index, o->start + i, LIMIT, linger_first, &o->seed), 0);
		pthread_barrier_wait(o->all);
	}
	return NULL;
}

/*
 * Several threads wait for the same word. A late thread announces its sleep after the word was set and all sleepers
 * were woken: another thread that is still falling asleep must not mistake that announcement for its own.
 */
static void crowd(void)
{
	struct one ones[CROWD];
	uint64_t end = wait_now() + LONG;
	_Atomic uint32_t last = CROWDED;
	pthread_t ids[CROWD];
	pthread_barrier_t all;
	struct lane *lane;
	uint32_t at[2];

	CHECK_EQ(lane_open(link_, &lane), 0);
	CHECK_EQ(word_alloc(link_, &at[0], &at[1]), 0);
	pthread_barrier_init(&all, NULL, CROWD + 1);
	for (int i = 0; i < CROWD; i++) {
		ones[i] = (struct one){at[0], at[1], 9 + (uint64_t)i, &all, &last};
		pthread_create(&ids[i], NULL, one, &ones[i]);
	}
	for (uint32_t i = 1; i <= last; i++) {
		if (wait_now() > end)
			last = i;
		at[1]++;
		if (!failures)
			publish(lane, SOON, at, sizeof at, sizeof at);
		pthread_barrier_wait(&all);
	}
	for (int i = 0; i < CROWD; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&all);
	word_free(link_, at[0]);
	lane_close(lane);
}

/* A thread that waits for a reply, and a server that waits for a frame, use no processor time. */
static void idle(void)
{
	struct lane *lane;
	struct frame f;
	double before;

	if (failures || lane_open(link_, &lane)) {
		failures++;
		return;
	}
	before = cpu_ms();
	CHECK_EQ(lane_wait_reply(lane, &f, 200), -ETIMEDOUT);
	CHECK(cpu_ms() - before < 50); /* spinning would use all of it */
	publish(lane, QUIET, NULL, 0, 8);
	CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0); /* the client sends nothing while the server waits */
	lane_release(lane);
	publish(lane, END, NULL, 0, 8);
}

static void run(bool tcp, unsigned client_spin, unsigned server_spin)
{
	struct link_config mine = link_defaults(false), theirs = link_defaults(true);
	pthread_t ids[THREADS];
	struct pair p;

	mine.spin_us = client_spin;
	theirs.spin_us = server_spin;
	mine.ring_size = 16384;
	if (pair_start(&p, tcp, serve, &mine, &theirs)) {
		failures++;
		return;
	}
	link_ = p.link;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, client, (void *)(uintptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(ids[i], NULL);
	if (!tcp)
		steps();
	others();
	crowd();
	idle();
	if (failures)
		kill(p.child, SIGKILL);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : rounds;
	for (int tcp = 0; tcp < 2; tcp++) {
		run(tcp, 0, 0);
		run(tcp, 50, 200);
		run(tcp, 2, 200);
		run(tcp, 20, 0);
	}
	return RESULT();
}
