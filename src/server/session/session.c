/* The dispatcher: takes the client's frames in order, makes the calls, counts and times them. */
#include "server/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include "server/code/code.h"
#include "server/memory/hostmem.h"
#include "server/memory/texture.h"
#include "server/quota/account.h"
#include "server/session/message.h"
#include "server/session/pump.h"
#include "server/wait/callbacks.h"
#include "server/wait/wait_threads.h"
#include "transport/wait.h"
#include "util/tsan_order.h"
#include "wire/nvml.h"

struct session *worker_session;

static void context_note(struct session *s, CUcontext context)
{
	CUdevice device = 0;

	s->context = context;
	handles_enter(s->handles, context);
	if (context && s->ops->cuCtxGetDevice(&device))
		device = 0;
	account_enter(s->account, context, device);
}

/*
 * The client's thread has no current context.  Contexts that were created in this thread lie on its stack, and
 * cuCtxSetCurrent(NULL) would only uncover the next one.
 */
static CUresult session_leave_contexts(struct session *s)
{
	CUcontext context = NULL;
	CUresult r;

	while (!(r = s->ops->cuCtxGetCurrent(&context)) && context)
		if ((r = s->ops->cuCtxPopCurrent_v2(&context)))
			break;
	if (!r)
		context_note(s, NULL);
	return r;
}

CUresult session_enter(struct session *s, uint64_t id)
{
	void *real;

	if (id == WIRE_CONTEXT_CALLBACK)
		return CUDA_ERROR_NOT_PERMITTED;
	if (!handles_find(s->handles, HANDLE_CUcontext, id, &real))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (real == s->context)
		return CUDA_SUCCESS;
	if (!real)
		return session_leave_contexts(s);
	CUresult r = s->ops->cuCtxSetCurrent(real);
	if (!r)
		context_note(s, real);
	return r;
}

void session_context_ended(struct session *s, CUcontext context)
{
	registration_context_ended(s, context);
	hostmem_context_ended(s, context);
	signal_context_ended(s, context);
	loaded_context_ended(s, context);
	textures_context_ended(s, context);
	if (s->handles) /* a client has connected */
		handles_context_ended(s->handles, context);
}

/* ---- Properties of calls ---- */

static bool op_frees_memory(unsigned op)
{
	return op == NR_cuMemFreeAsync || op == NR_cuMemFree_v2;
}

/* Calls that change which context is current in the calling thread. */
static bool op_changes_context(unsigned op)
{
	switch (op) {
	case NR_cuCtxCreate_v2:
	case NR_cuCtxCreate_v3:
	case NR_cuCtxCreate_v4:
	case NR_cuCtxDestroy_v2:
	case NR_cuDevicePrimaryCtxReset_v2:
	case NR_cuDevicePrimaryCtxRelease_v2:
		return true;
	default:
		return false;
	}
}

/* These calls name or create a context: they work although the current one has ended. */
static bool op_needs_no_context(unsigned op)
{
	switch (op) {
	case NR_cuDevicePrimaryCtxRetain:
	case NR_cuDevicePrimaryCtxSetFlags_v2:
	case NR_cuDevicePrimaryCtxGetState:
		return true;
	default:
		return op_changes_context(op);
	}
}

static void context_note_current(struct session *s)
{
	CUcontext context;

	context_note(s, s->ops->cuCtxGetCurrent(&context) ? NULL : context);
}

/* ---- Counting ---- */

static bool op_launches(unsigned op)
{
	switch (op) {
	case WIRE_LAUNCH:
	case NR_cuLaunchKernel:
	case NR_cuLaunchKernelEx:
	case NR_cuLaunchCooperativeKernel:
	case NR_cuGraphLaunch:
		return true;
	default:
		return false;
	}
}

static void call_count(struct session *s, const struct frame *f, bool waits, CUresult r)
{
	struct stats_device *d = account_device(s->account);

	stats_add(&d->calls, 1);
	stats_add(&d->answers, waits);
	stats_add(&d->launches, op_launches(f->op));
	stats_add(&d->errors, r && r != CUDA_ERROR_NOT_READY);
}

/*
 * Samples how long calls wait in the ring: the newest published call has only just arrived, so its wait begins now
 * and ends when it is served.  The sample stands for all calls served in between.
 */
static void queue_wait_sample(struct session *s, uint64_t ticket, bool due)
{
	struct stats_times *t = &account_device(s->account)->wait;
	uint64_t newest;

	if (s->queue_sample.ticket && ticket >= s->queue_sample.ticket) {
		stats_time(t, wait_now() - s->queue_sample.began, s->queue_sample.ticket - s->queue_sample.first);
		s->queue_sample.ticket = 0;
	}
	if (!due || s->queue_sample.ticket || !link_newest(s->link, &newest))
		return;
	if (newest <= ticket) {
		stats_time(t, 0, STATS_SAMPLE);
		return;
	}
	s->queue_sample.ticket = newest;
	s->queue_sample.first = ticket;
	s->queue_sample.began = wait_now();
}

/* ---- Serving ---- */

static int frame_serve(struct session *s, struct msg *m, const struct frame *f)
{
	const struct served *call = serve_find(f->op);
	uint64_t start;
	bool timed;

	ORDER_AFTER(told);
	s->op = f->op;
	if (!call)
		return -EPROTO;
	if (call->waits && callbacks_use_lane(s, f->lane))
		return link_reject(s->link, "the client waits for a reply on the lane of its callback thread");
	if (!msg_init(m, s, f))
		return -EPROTO;
	timed = ++s->calls % STATS_SAMPLE == 0;
	s->answers += call->waits;
	queue_wait_sample(s, f->ticket, timed);
	start = timed ? wait_now() : 0;
	m->error = session_enter(s, m->context);
	registration_renew(s, !m->error);
	if (m->error == CUDA_ERROR_CONTEXT_IS_DESTROYED && op_needs_no_context(f->op))
		m->error = CUDA_SUCCESS;
	if (call->creates && account_objects_full(s->account))
		m->result = CUDA_ERROR_OUT_OF_MEMORY;
	else
		call->serve(s->ops, m);
	/* After a reset, only retaining a primary context tells its device again. */
	if (op_changes_context(f->op) || f->op == NR_cuDevicePrimaryCtxRetain)
		context_note_current(s);
	s->pool_freed |= op_frees_memory(f->op) && !s->pool_keeps;
	if (timed)
		stats_time(&account_device(s->account)->run, wait_now() - start, STATS_SAMPLE);
	call_count(s, f, call->waits, m->result);
	int r = msg_finish(m, call->waits);
	if (f->op == WIRE_LISTEN)
		callbacks_start(s);
	return r;
}

void session_init(struct session *s)
{
	pthread_mutex_init(&s->errors.lock, NULL);
	pthread_mutex_init(&s->mirrors.lock, NULL);
	pthread_mutex_init(&s->output.lock, NULL);
	s->output.captured[0].fd = s->output.captured[1].fd = -1;
	s->image_folder = IMAGE_FOLDER_UNOPENED;
	s->dot_fd = -1;
	worker_session = s;
}

/* Words and arenas exist before the client can ask for anything: they count, but are not refused. */
static void link_memory_count(struct session *s)
{
	size_t size;

	word_base(s->link, &size);
	account_host_hold(s->account, (int64_t)size);
	for (int which = BULK_UP; which <= BULK_DOWN; which++) {
		bulk_base(s->link, which, &size);
		account_host_hold(s->account, (int64_t)size);
	}
}

int session_start(struct session *s)
{
	s->handles = handles_create(&s->account->stats->objects, account_objects_most(s->account));
	s->wait_threads = wait_threads_create(s);
	if (!s->handles || !s->wait_threads)
		return -ENOMEM;
	link_memory_count(s);
	context_note_current(s);
	return 0;
}

/* Registering memory takes milliseconds; a client that only uses NVML does not pay for it. */
static int first_frame_serve(struct session *s, struct msg *m)
{
	struct frame f;
	int r = link_next(s->link, &f, -1);

	if (r)
		return r;
	if (f.op < WIRE_NVML)
		registration_start(s);
	return frame_serve(s, m, &f);
}

int session_run(struct session *s)
{
	struct msg *m = calloc(1, sizeof *m); /* lives as long as the process */
	struct frame f;
	int r;

	if (!m)
		return -ENOMEM;
	do
		r = first_frame_serve(s, m);
	while (r == -EINTR);
	while (!r || r == -EINTR) {
		r = s->pump ? pump_next(s->pump, &f) : link_next(s->link, &f, -1);
		if (!r)
			r = frame_serve(s, m, &f);
	}
	return r == -EPIPE ? 0 : r;
}
