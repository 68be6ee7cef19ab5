/* Waiting for a word: the request that sets it, the request to be woken, and the wait itself. */
#include <errno.h>
#include "backend/remote/wait/wait.h"
#include "transport/wait.h"

#define PUSH_INTERVAL_MS 50   /* how often a waiting thread sends what other threads have written */
#define WAKE_AGAIN_MS    1000 /* how long a thread sleeps before it asks for a wake-up again, at first */

#define QUERIES_PER_CLOCK 4          /* reading the clock takes longer than a query */
#define QUERY_GAP_NS      10000000   /* before a query asks the server; then twice as long each time, */
#define QUERY_GAP_MAX_NS  1000000000 /* up to this */

CUresult wait_post(const struct wait_target *t, unsigned op)
{
	struct lane *lane = call_lane();
	struct wire_sync *a = call_reserve(lane, sizeof *a);

	if (!a)
		return client_lost();
	if (t->context)
		call_set_context(a, t->context);
	*a = (struct wire_sync){.kind = t->kind, .word = t->signal.word, .value = t->signal.value, .what = t->handle};
	return call_send(lane, op, sizeof *a, NULL, 0);
}

/* The thread is about to sleep on the word. */
static int post_wake_once(void *arg)
{
	struct wait_target *t = arg;

	if (t->wake_posted)
		return 0;
	t->wake_posted = true;
	return wait_post(t, WIRE_WAKE) ? -EPIPE : 0;
}

/*
 * A worker without memory for the wake-up reports the error and sets the word at once, but the device may still write
 * an earlier value after that, and then this one without waking anybody.  So the request is repeated, less and less often.
 */
CUresult wait_reached(const struct wait_target *target)
{
	struct wait_target t = *target;
	bool woken = t.wake_posted || !client->local; /* over TCP the link wakes sleepers itself */
	int e = -ETIMEDOUT, patience = woken ? -1 : WAKE_AGAIN_MS;

	t.wake_posted = woken;
	while (e == -ETIMEDOUT && value_waits_push())
		e = word_wait(client->link, t.signal.word, t.signal.value, PUSH_INTERVAL_MS, post_wake_once, &t);
	for (; e == -ETIMEDOUT; patience = patience < WAKE_AGAIN_MS << 12 ? 2 * patience : patience) {
		e = word_wait(client->link, t.signal.word, t.signal.value, patience, post_wake_once, &t);
		t.wake_posted = woken;
	}
	return e ? client_lost() : CUDA_SUCCESS;
}

void query_patience_reset(struct query_patience *p)
{
	p->misses = 0;
	p->ask_at_ns = p->gap_ns = 0;
}

/* Two threads that query at the same time may both ask the server, which does no harm. */
bool query_patience_over(struct query_patience *p)
{
	uint64_t at, now, gap;

	if (!client->local) /* over TCP a thread of the worker sets the word, whether the device has failed or not */
		return false;
	if (atomic_fetch_add_explicit(&p->misses, 1, memory_order_relaxed) % QUERIES_PER_CLOCK)
		return false;
	at = p->ask_at_ns;
	now = wait_now();
	if (now < at)
		return false;
	gap = at ? 2 * p->gap_ns : QUERY_GAP_NS;
	p->gap_ns = gap < QUERY_GAP_MAX_NS ? gap : QUERY_GAP_MAX_NS;
	p->ask_at_ns = now + p->gap_ns;
	return at != 0;
}
