/* Waiting for a word: the request that sets it, the request to be woken, and the wait itself. */
#include <errno.h>
#include "backend/remote/wait/wait.h"

#define PUSH_INTERVAL_MS 50   /* how often a waiting thread sends what other threads have written */
#define WAKE_AGAIN_MS    1000 /* how long a thread sleeps before it asks for a wake-up again, at first */

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
