/* Sends calls to the worker: lanes, posting, asking, and what happens when the link breaks. */
#include "backend/remote/session/call.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "backend/remote/guard.h"
#include "backend/remote/hostmem/mirror.h"
#include "backend/remote/session/stats.h"
#include "util/tsan_order.h"
#include "wire/pack.h"
#include "wire/trace.h"

__thread struct client *client;
__thread struct client_thread client_thread;
_Atomic(struct client *) client_now;

__thread const _Atomic(uint64_t) *call_context;
static __thread struct lane *thread_lane __attribute__((tls_model("initial-exec")));
static __thread int thread_lane_error; /* why this thread has no lane: -errno */

/* Of the process, not of a client: closes the lane of a thread that ends. */
static pthread_key_t lane_key;
static pthread_once_t lane_key_once = PTHREAD_ONCE_INIT;

/* Destructors that run later in the same thread may make calls: they get a lane again. */
static void lane_key_destructor(void *lane)
{
	thread_lane = NULL;
	client_hold();
	if (client && client == atomic_load(&client_now))
		lane_close(lane);
	client_leave();
}

static void lane_key_create(void)
{
	pthread_key_create(&lane_key, lane_key_destructor);
}

void call_attach(struct client *c, struct link *link)
{
	unsigned word;
	uint32_t value;

	/* The link gives out its words in order: these two are WIRE_ERROR_WORD and WIRE_MIRROR_WORD. */
	word_alloc(link, &word, &value);
	c->errors.seen = value;
	word_alloc(link, &word, &value);
	pthread_once(&lane_key_once, lane_key_create);
	c->link = link;
	c->link_state = link_state(link);
	c->local = link_peer(link)->local;
	c->errors.word = word_address(link, WIRE_ERROR_WORD);
}

void call_forget_lane(void)
{
	pthread_setspecific(lane_key, NULL);
	thread_lane = NULL;
}

void call_detach(struct client *c)
{
	if (!c->link)
		return;
	if (c == client)
		call_forget_lane();
	link_destroy(c->link);
	c->link = NULL;
}

struct lane *call_lane(void)
{
	if (!thread_lane && !(thread_lane_error = lane_open(client->link, &thread_lane)))
		pthread_setspecific(lane_key, thread_lane);
	return thread_lane;
}

/* ---- a broken link ---- */

CUresult client_lost(void)
{
	char text[LINK_ERROR_TEXT];

	if (!link_error(client->link, text) && !thread_lane && thread_lane_error)
		return client_failed(thread_lane_error);
	if (link_error(client->link, text) && !atomic_exchange(&client->lost_noted, true))
		trace_note("the device is lost: %s", text);
	return CUDA_ERROR_DEVICE_UNAVAILABLE;
}

CUresult errno_result(int err)
{
	switch (-err) {
	case ENOMEM:
	case ENOBUFS:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case EAGAIN: /* no thread, or no lane */
	case EMFILE:
	case ENFILE:
	case ETOOMANYREFS:
		return CUDA_ERROR_OPERATING_SYSTEM;
	default:
		return CUDA_ERROR_NO_DEVICE;
	}
}

CUresult client_failed(int err)
{
	CUresult r = errno_result(err);

	if (client_broken() || r == CUDA_ERROR_NO_DEVICE)
		return client_lost();
	trace_note("this process lacks resources for the call: %s", strerror(-err));
	return r;
}

CUresult client_reject_reply(void)
{
	link_reject(client->link, "the server sent an invalid reply");
	return client_lost();
}

bool client_broken(void)
{
	return atomic_load_explicit(client->link_state, memory_order_relaxed) != 0;
}

/* ---- calls written by hand ---- */

void *call_reserve(struct lane *lane, size_t size)
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

void call_set_context(void *reserved, uint64_t context)
{
	((struct wire_request *)reserved - 1)->context = context;
}

/* Whether a posted operation does work that can fail; the others only wait or bring something up to date. */
static bool op_does_work(unsigned op)
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
	stats_count(op, false);
	ORDER_BEFORE(posted);
	if (lane_post(lane, op, sizeof(struct wire_request) + size, pieces, npieces, NULL))
		return client_lost();
	if (__builtin_expect(atomic_load_explicit(&client->captures, memory_order_relaxed), 0) && op_does_work(op))
		return call_flush();
	return CUDA_SUCCESS;
}

CUresult call_ask(
	struct lane *lane, unsigned op, size_t size, const struct piece *pieces, unsigned npieces, struct frame *reply)
{
	struct wire_reply head;

	stats_count(op, true);
	reply->size = 0;
	ORDER_BEFORE(posted);
	if (lane_call(lane, op, sizeof(struct wire_request) + size, pieces, npieces, NULL) ||
		lane_wait_reply(lane, reply, -1))
		return client_lost();
	if (reply->size < sizeof head)
		return client_reject_reply();
	ORDER_AFTER(called);
	memcpy(&head, reply->payload, sizeof head);
	return head.result;
}

void call_release_reply(struct lane *lane)
{
	lane_release(lane);
}

CUresult call_flush(void)
{
	CUresult r = call_sync(WIRE_FLUSH, NULL, 0, NULL, 0, NULL, 0);

	return r ? r : async_error_take();
}

/* ---- generated calls ---- */

CUresult call_post(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin)
{
	struct lane *lane = call_lane();
	size_t all = pack_size(size, in, nin);
	void *reserved;

	if (!lane)
		return client_lost();
	if (all > lane_payload_max(lane) - sizeof(struct wire_request))
		return CUDA_ERROR_INVALID_VALUE;
	if (op_does_work(op))
		mirror_before_work(false);
	reserved = call_reserve(lane, all);
	if (!reserved)
		return client_lost();
	pack_put(reserved, args, size, in, nin);
	CUresult r = call_send(lane, op, all, NULL, 0);
	return call_posted() || r ? r : call_flush();
}

CUresult call_sync(unsigned op, const void *args, size_t size, const struct wire_piece *in, unsigned nin,
	const struct wire_piece *out, unsigned nout)
{
	struct lane *lane = call_lane();
	size_t all = pack_size(size, in, nin);
	struct frame reply;
	void *reserved;

	if (!lane)
		return client_lost();
	if (all > lane_payload_max(lane) - sizeof(struct wire_request) ||
		pack_size(0, out, nout) > lane_payload_max(lane) - 8)
		return CUDA_ERROR_INVALID_VALUE;
	reserved = call_reserve(lane, all);
	if (!reserved)
		return client_lost();
	pack_put(reserved, args, size, in, nin);
	CUresult r = call_ask(lane, op, all, NULL, 0, &reply);
	struct wire_reply head;
	if (reply.size)
		r = pack_take(reply.payload, reply.size, out, nout, &head) ? (CUresult)head.result
									   : client_reject_reply();
	call_release_reply(lane);
	return r;
}
