#include <errno.h>
#include "server/quota/account.h"
#include "server/copy/mirror.h"
#include "server/session/message.h"
#include "server/session/pump.h"
#include "server/wait/wait_threads.h"
#include "transport/wait.h"
#include "util/tsan_order.h"
#include "wire/nvml.h"

static void note_context(struct session *s, CUcontext context)
{
	CUdevice device = 0;

	s->context = context;
	handles_enter(s->handles, context);
	if (context && s->ops->cuCtxGetDevice(&device))
		device = 0;
	account_enter(context, device);
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
	CUresult r = s->ops->cuCtxSetCurrent(real);
	if (!r)
		note_context(s, real);
	return r;
}

static bool frees(unsigned op)
{
	return op == NR_cuMemFreeAsync || op == NR_cuMemFree_v2;
}

static bool unloads(unsigned op)
{
	return op == NR_cuModuleUnload || op == NR_cuLibraryUnload;
}

/* Calls that change which context is current in the thread that makes them. */
static bool moves_context(unsigned op)
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

/* They name a context or a device, or make one: a current context that has ended is none of their business. */
static bool needs_no_context(unsigned op)
{
	switch (op) {
	case NR_cuDevicePrimaryCtxRetain:
	case NR_cuDevicePrimaryCtxSetFlags_v2:
	case NR_cuDevicePrimaryCtxGetState:
		return true;
	default:
		return moves_context(op);
	}
}

static void note_current(struct session *s)
{
	CUcontext context;

	note_context(s, s->ops->cuCtxGetCurrent(&context) ? NULL : context);
}

/* An event that is recorded again at once, in the same stream: of the two nobody can see the first. */
static bool is_repeated(struct session *s, const struct frame *f)
{
	if (f->op != NR_cuEventRecord || s->pumped || !link_repeats(s->link, f))
		return false;
	s->calls++;
	stats_add(&account_device()->calls, 1);
	return true;
}

/* ---- Counting ---- */

static bool is_launch(unsigned op)
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

static void count_call(const struct frame *f, bool waits, CUresult r)
{
	struct stats_device *d = account_device();

	stats_add(&d->calls, 1);
	stats_add(&d->answers, waits);
	stats_add(&d->launches, is_launch(f->op));
	stats_add(&d->errors, r && r != CUDA_ERROR_NOT_READY);
}

/*
 * How long calls wait for us: the newest one there is now has only just been published, so its time begins
 * here and ends when it is taken.  It stands for all that were taken meanwhile.
 */
static void time_wait(struct session *s, uint64_t ticket, bool due)
{
	struct stats_times *t = &account_device()->wait;
	uint64_t newest;

	if (s->watched && ticket >= s->watched) {
		stats_time(t, wait_now() - s->watched_at, s->watched - s->watched_from);
		s->watched = 0;
	}
	if (!due || s->watched || !link_newest(s->link, &newest))
		return;
	if (newest <= ticket) {
		stats_time(t, 0, STATS_SAMPLE);
		return;
	}
	s->watched = newest;
	s->watched_from = ticket;
	s->watched_at = wait_now();
}

static int serve_one(struct session *s, struct msg *m, const struct frame *f)
{
	const struct served *call = serve_find(f->op);
	uint64_t start;
	bool timed;

	ORDER_AFTER(told);
	s->op = f->op;
	if (!call)
		return -EPROTO;
	if (is_repeated(s, f))
		return 0;
	if (!msg_init(m, s, f))
		return -EPROTO;
	timed = ++s->calls % STATS_SAMPLE == 0;
	s->answers += call->waits;
	time_wait(s, f->ticket, timed);
	start = timed ? wait_now() : 0;
	m->error = session_enter(s, m->context);
	session_share_again(s, !m->error);
	if (m->error == CUDA_ERROR_CONTEXT_IS_DESTROYED && needs_no_context(f->op))
		m->error = CUDA_SUCCESS;
	call->serve(s->ops, m);
	/* Retained: after a reset it is only now that it knows its device again. */
	if (moves_context(f->op) || f->op == NR_cuDevicePrimaryCtxRetain)
		note_current(s);
	s->freed |= frees(f->op) && !s->keeps;
	if (unloads(f->op) || moves_context(f->op))
		mirrors_unloaded(s->ops);
	if (timed)
		stats_time(&account_device()->run, wait_now() - start, STATS_SAMPLE);
	count_call(f, call->waits, m->result);
	return msg_finish(m, call->waits);
}

int session_start(struct session *s)
{
	s->handles = handles_create();
	s->waiters = waiters_create(s);
	if (!s->handles || !s->waiters)
		return -ENOMEM;
	note_current(s);
	serve_init();
	return 0;
}

/* Sharing memory with the device takes milliseconds, which a client that only asks about it need not wait for. */
static int run_first(struct session *s, struct msg *m)
{
	struct frame f;
	int r = link_next(s->link, &f, -1);

	if (r)
		return r;
	if (f.op < WIRE_NVML)
		session_share(s);
	return serve_one(s, m, &f);
}

static bool wants_pump(struct session *s)
{
	return s->events && (!link_peer(s->link)->local || mirrors_ever());
}

int session_run(struct session *s)
{
	static struct msg m; /* large, and one dispatcher a process */
	struct pump *pump = NULL;
	struct frame f;
	int r;

	do
		r = run_first(s, &m);
	while (r == -EINTR);
	while (!r || r == -EINTR) {
		if (!pump && wants_pump(s) && !(pump = pump_create(s)))
			return -ENOMEM;
		s->pumped = pump != NULL;
		r = pump ? pump_next(pump, &f) : link_next(s->link, &f, -1);
		if (!r)
			r = serve_one(s, &m, &f);
	}
	return r == -EPIPE ? 0 : r;
}
