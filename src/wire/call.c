#include <pthread.h>
#include <stdatomic.h>
#include "cuda/errors.h"
#include "util/tsan_order.h"
#include "wire/call.h"
#include "wire/pack.h"
#include "wire/trace.h"

static struct link *the_link;
static pthread_key_t lane_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct late nowhere;         /* what failed without a context */
static const _Atomic int *link_now; /* not 0: it is broken */
static atomic_bool lost_told;

__thread const _Atomic(uint64_t) *call_context;
__thread struct late *call_here;
static __thread struct lane *my_lane __attribute__((tls_model("initial-exec")));

/* GANGWAY_STATS: what went over, by number; NULL: nobody asked. */
_Atomic(uint64_t) (*call_counts)[2];

#define COUNT(op, trip) \
	do { \
		if (__builtin_expect(call_counts != NULL, 0)) \
			call_counted(op, trip); \
	} while (0)

/* Others that tidy up after the thread may still come, and get a lane again. */
static void give_back(void *lane)
{
	my_lane = NULL;
	if (the_link)
		lane_close(lane);
}

static void make_key(void)
{
	pthread_key_create(&lane_key, give_back);
}

void call_open(struct link *link)
{
	unsigned word;
	uint32_t value;

	word_alloc(link, &word, &value); /* the first one is WIRE_LATE_WORD: nobody else gets it */
	nowhere.seen = value;
	word_alloc(link, &word, &value); /* and WIRE_MIRROR_WORD */
	pthread_once(&once, make_key);
	the_link = link;
	link_now = link_state(link);
	lost_told = false;
	nowhere.word = word_address(link, WIRE_LATE_WORD);
}

/* A forked child has no link; its parent's goes on. */
void call_forget(void)
{
	if (!the_link)
		return;
	pthread_setspecific(lane_key, NULL);
	my_lane = NULL;
	call_held = false;
	link_destroy(the_link);
	the_link = NULL;
}

struct link *call_link(void)
{
	return the_link;
}

struct lane *call_lane(void)
{
	if (!my_lane && !lane_open(the_link, &my_lane))
		pthread_setspecific(lane_key, my_lane);
	return my_lane;
}

CUresult call_lost(void)
{
	char text[LINK_ERROR_TEXT];

	if (link_error(the_link, text) && !atomic_exchange(&lost_told, true))
		trace_note("the device is lost: %s", text);
	return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

CUresult call_nonsense(void)
{
	link_reject(the_link, "the server's answer makes no sense");
	return call_lost();
}

bool call_broken(void)
{
	return atomic_load_explicit(link_now, memory_order_relaxed) != 0;
}

/* Each is told once.  One that sticks does so before anybody can take it for told: who comes next hears it, too. */
static CUresult look(struct late *l)
{
	const uint32_t *word = atomic_load_explicit(&l->word, memory_order_acquire);
	uint32_t seen = atomic_load_explicit(&l->seen, memory_order_acquire);
	uint32_t now = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : seen;
	CUresult sticks = atomic_load_explicit(&l->sticks, memory_order_relaxed);
	CUresult r = (CUresult)(now & 0xffff);

	if (sticks || now == seen)
		return sticks;
	if (result_sticks(r) && !atomic_compare_exchange_strong(&l->sticks, &sticks, r))
		return sticks;
	return atomic_compare_exchange_strong(&l->seen, &seen, now) || result_sticks(r) ? r : CUDA_SUCCESS;
}

CUresult call_late_in(struct late *l)
{
	CUresult r = l ? look(l) : CUDA_SUCCESS;

	if (call_broken())
		return call_lost();
	return r ? r : look(&nowhere);
}

CUresult call_late(void)
{
	return call_late_in(call_here);
}

CUresult call_sticks(void)
{
	return call_here ? atomic_load_explicit(&call_here->sticks, memory_order_relaxed) : CUDA_SUCCESS;
}

_Atomic(bool) call_held;
void (*_Atomic call_release)(struct lane *lane);

void *call_reserve(struct lane *lane, size_t size)
{
	if (__builtin_expect(atomic_load_explicit(&call_held, memory_order_acquire), 0) && lane)
		atomic_load_explicit(&call_release, memory_order_relaxed)(
			lane); /* a call alone would not read it as one */
	return call_reserve_now(lane, size);
}

void *call_reserve_now(struct lane *lane, size_t size)
{
	struct wire_request *r;
	void *payload;

	if (!lane || size > lane_payload_max(lane) - sizeof *r)
		return NULL;
	if (lane_reserve(lane, sizeof *r + size, &payload))
		return NULL;
	r = payload;
	r->context = call_context_id();
	return r + 1;
}

void call_in(void *room, uint64_t context)
{
	((struct wire_request *)room - 1)->context = context;
}

_Atomic(unsigned) call_careful;

/* What can be wrong, and not only too early or too late. */
static bool can_fail(unsigned op)
{
	switch (op) {
	case WIRE_LAUNCH:
	case WIRE_COPY_UP:
	case WIRE_COPY_DOWN:
	case WIRE_BLOCK:
	case WIRE_HOST_CALL:
		return true;
	default:
		return op < WIRE_DEVICES;
	}
}

CUresult call_send(struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces)
{
	COUNT(op, false);
	ORDER_BEFORE(posted);
	if (lane_post(lane, op, sizeof(struct wire_request) + size, pieces, npieces, NULL))
		return call_lost();
	if (__builtin_expect(atomic_load_explicit(&call_careful, memory_order_relaxed), 0) && can_fail(op))
		return call_flush();
	return CUDA_SUCCESS;
}

CUresult call_ask(
	struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces, struct frame *reply)
{
	struct wire_reply head;

	COUNT(op, true);
	reply->size = 0;
	ORDER_BEFORE(posted);
	if (lane_call(lane, op, sizeof(struct wire_request) + size, pieces, npieces, NULL) ||
		lane_wait_reply(lane, reply, -1))
		return call_lost();
	if (reply->size < sizeof head)
		return call_nonsense();
	ORDER_AFTER(called);
	memcpy(&head, reply->payload, sizeof head);
	return head.result;
}

void call_done(struct lane *lane)
{
	lane_release(lane);
}

CUresult call_flush(void)
{
	CUresult r = call_sync(WIRE_FLUSH, NULL, 0, NULL, 0, NULL, 0);

	return r ? r : call_late();
}

void (*_Atomic call_before_work)(bool kernel);

CUresult call_post(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin)
{
	struct lane *lane = call_lane();
	size_t all = pack_size(size, in, nin);
	void *room;

	if (!lane)
		return call_lost();
	if (all > lane_payload_max(lane) - sizeof(struct wire_request))
		return CUDA_ERROR_INVALID_VALUE;
	if (can_fail(op))
		call_work(false);
	room = call_reserve(lane, all);
	if (!room)
		return call_lost();
	pack_put(room, args, size, in, nin);
	CUresult r = call_send(lane, op, all, NULL, 0);
	return call_posted() || r ? r : call_flush();
}

CUresult call_sync(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout)
{
	struct lane *lane = call_lane();
	size_t all = pack_size(size, in, nin);
	struct frame reply;
	void *room;

	if (!lane)
		return call_lost();
	if (all > lane_payload_max(lane) - sizeof(struct wire_request) ||
		pack_size(0, out, nout) > lane_payload_max(lane) - 8)
		return CUDA_ERROR_INVALID_VALUE;
	room = call_reserve(lane, all);
	if (!room)
		return call_lost();
	pack_put(room, args, size, in, nin);
	CUresult r = call_ask(lane, op, all, NULL, 0, &reply);
	struct wire_reply head;
	if (reply.size)
		r = pack_take(reply.payload, reply.size, out, nout, &head) ? (CUresult)head.result : call_nonsense();
	call_done(lane);
	return r;
}
