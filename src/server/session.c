#include <errno.h>
#include "server/msg.h"
#include "server/pump.h"
#include "server/wait.h"

CUresult session_enter(struct session *s, uint64_t id)
{
	void *real;

	if (!handles_find(s->handles, HANDLE_CUcontext, id, &real))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (real == s->context)
		return CUDA_SUCCESS;
	CUresult r = s->ops->cuCtxSetCurrent(real);
	if (!r)
		s->context = real;
	return r;
}

void session_late(struct session *s, CUresult r)
{
	uint32_t n = atomic_fetch_add(&s->late, 1) + 1;

	word_set(s->link, WIRE_LATE_WORD, WIRE_LATE(n, r), NULL, 0);
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

static int serve_one(struct session *s, struct msg *m, const struct frame *f)
{
	const struct served *call = serve_find(f->op);

	s->op = f->op;
	if (!call || !msg_init(m, s, f))
		return -EPROTO;
	s->calls++;
	s->answers += call->waits;
	m->error = session_enter(s, m->context);
	call->serve(s->ops, m);
	if (moves_context(f->op)) {
		session_context_gone();
		if (s->ops->cuCtxGetCurrent(&s->context))
			s->context = NULL;
	}
	return msg_finish(m, call->waits);
}

int session_start(struct session *s)
{
	s->handles = handles_create();
	s->waiters = waiters_create(s);
	if (!s->handles || !s->waiters)
		return -ENOMEM;
	if (s->ops->cuCtxGetCurrent(&s->context))
		s->context = NULL;
	session_share(s);
	serve_init();
	return 0;
}

int session_run(struct session *s)
{
	static struct msg m; /* large, and one dispatcher a process */
	struct pump *pump = NULL;
	struct frame f;
	int r;

	do {
		if (s->events && !pump && !link_peer(s->link)->local && !(pump = pump_create(s->link)))
			return -ENOMEM;
		r = pump ? pump_next(pump, &f) : link_next(s->link, &f, -1);
		if (!r)
			r = serve_one(s, &m, &f);
	} while (!r || r == -EINTR);
	return r == -EPIPE ? 0 : r;
}
