/*
 * A word never decreases: two threads of the server set it at the same time, one of them to a smaller value.
 */
#include <pthread.h>

#include "test/transport/pair.h"
#include "transport/wait.h"

#define LIMIT  30000
#define ROUNDS 3000
#define LONG   20000000000ull /* ns: a busy machine runs fewer rounds */

enum { RAISE, END };

static struct link *link_;
static uint32_t at[2]; /* the word, and the greater of the two values */
static bool ending;
static pthread_barrier_t begin, done;

static void *raise_less(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&begin);
		if (ending)
			return arg;
		CHECK_EQ(word_raise(link_, at[0], at[1] - 1, NULL, 0), 0);
		pthread_barrier_wait(&done);
	}
}

/* Replies after both threads have set the word. */
static int serve(struct link *l)
{
	struct frame f;
	pthread_t id;
	void *to;
	int err;

	link_ = l;
	pthread_barrier_init(&begin, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	pthread_create(&id, NULL, raise_less, NULL);
	while (!(err = link_next(l, &f, LIMIT)) && f.op == RAISE) {
		memcpy(at, f.payload, sizeof at);
		pthread_barrier_wait(&begin);
		CHECK_EQ(word_raise(l, at[0], at[1], NULL, 0), 0);
		pthread_barrier_wait(&done);
		CHECK_EQ(lane_reply_reserve(f.lane, 0, &to), 0);
		CHECK_EQ(lane_reply(f.lane, 0, f.ticket, 0, NULL, 0), 0);
	}
	CHECK_EQ(err, 0);
	ending = true;
	pthread_barrier_wait(&begin);
	pthread_join(id, NULL);
	return RESULT();
}

static void run(bool tcp)
{
	uint64_t end = wait_now() + LONG;
	struct lane *lane;
	struct frame f;
	uint32_t ask[2];
	struct pair p;
	void *to;

	if (pair_start(&p, tcp, serve, NULL, NULL) || lane_open(p.link, &lane) ||
		word_alloc(p.link, &ask[0], &ask[1])) {
		failures++;
		return;
	}
	for (int i = 0; i < ROUNDS && !failures && wait_now() < end; i++) {
		ask[1] += 2;
		CHECK_EQ(lane_reserve(lane, sizeof ask, &to), 0);
		memcpy(to, ask, sizeof ask);
		CHECK_EQ(lane_call(lane, RAISE, sizeof ask, NULL, 0, NULL), 0);
		CHECK_EQ(lane_wait_reply(lane, &f, LIMIT), 0);
		lane_release(lane);
		CHECK(word_reached(p.link, ask[0], ask[1]));
	}
	CHECK_EQ(lane_reserve(lane, 0, &to), 0);
	CHECK_EQ(lane_post(lane, END, 0, NULL, 0, NULL), 0);
	CHECK_EQ(pair_wait(&p), 0);
	link_destroy(p.link);
}

int main(void)
{
	run(false);
	run(true);
	return RESULT();
}
