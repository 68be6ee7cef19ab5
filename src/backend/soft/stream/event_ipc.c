/*
 * Events of two processes.  The state is a page of the store that both map: how often the event was recorded,
 * and up to which of those times the work before it is done.
 */
#include "backend/soft/memory/ipc.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backend/soft/memory/store.h"

#define PAGE 4096u

/* Trust: the other process may write anything here.  The worst it can do is make us wait, or not wait. */
struct state {
	_Atomic uint64_t recorded, completed;
	_Atomic uint32_t wake;
	_Atomic int32_t pid; /* who recorded last */
};

struct shared_event {
	struct state *state;
	uint64_t offset;
	bool own; /* the page is of our store */
};

static struct shared_event *map_state(int fd, uint64_t offset, bool own)
{
	struct shared_event *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	e->state = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (e->state == MAP_FAILED) {
		free(e);
		return NULL;
	}
	e->offset = offset;
	e->own = own;
	return e;
}

struct shared_event *shared_event_create(void)
{
	uint64_t offset;

	return store_alloc(PAGE, &offset) ? NULL : map_state(store_fd(), offset, true);
}

/* A process that waits there still finds a page of zeros, recorded by nobody, and goes on. */
void shared_event_destroy(struct shared_event *e)
{
	if (!e)
		return;
	munmap(e->state, PAGE);
	if (e->own)
		store_free(e->offset, PAGE);
	free(e);
}

/* ---- waiting ---- */

static bool reached(struct state *s, uint64_t number)
{
	return atomic_load(&s->completed) >= number;
}

bool shared_event_done(struct shared_event *e)
{
	return reached(e->state, atomic_load(&e->state->recorded));
}

/* Until the number is reached; a process that is gone has nothing more to do, so nobody waits for it. */
static void wait_for(struct state *s, uint64_t number, const atomic_bool *stop)
{
	const struct timespec while_ = {.tv_nsec = 100000000};

	while (!reached(s, number) && !(stop && atomic_load(stop))) {
		uint32_t seen = atomic_load(&s->wake);

		if (reached(s, number))
			return;
		if (syscall(SYS_futex, &s->wake, FUTEX_WAIT, seen, &while_, NULL, 0) && errno == ETIMEDOUT) {
			int pid = atomic_load(&s->pid);

			if (pid <= 0 || (kill(pid, 0) && errno == ESRCH))
				return;
		}
	}
}

void shared_event_sync(struct shared_event *e)
{
	wait_for(e->state, atomic_load(&e->state->recorded), NULL);
}

/* ---- commands ---- */

struct passing {
	struct event *event; /* referenced */
	uint64_t number;
};

static void release_passing(struct command *c)
{
	object_put(((struct passing *)c->data)->event);
}

static CUresult run_record(struct command *c)
{
	struct passing *p = c->data;
	struct state *s = p->event->shared->state;
	uint64_t seen = atomic_load(&s->completed);

	while (seen < p->number && !atomic_compare_exchange_weak(&s->completed, &seen, p->number))
		;
	atomic_fetch_add(&s->wake, 1);
	syscall(SYS_futex, &s->wake, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return CUDA_SUCCESS;
}

static CUresult run_wait(struct command *c)
{
	struct passing *p = c->data;

	wait_for(p->event->shared->state, p->number, &c->ctx->stop);
	return CUDA_SUCCESS;
}

static const struct command_ops command_pass = {COMMAND_OTHER, run_record, release_passing, true};
static const struct command_ops command_await = {COMMAND_OTHER, run_wait, release_passing, true};

static struct command *make(const struct command_ops *ops, struct event *e, uint64_t number)
{
	struct command *c = command_create(ops, sizeof(struct passing));

	if (!c)
		return NULL;
	object_ref(e);
	*(struct passing *)c->data = (struct passing){e, number};
	return c;
}

CUresult shared_event_record(struct event *e, struct stream *s)
{
	struct state *state = e->shared->state;
	struct command *c = make(&command_pass, e, 0);

	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (capture_forbids && atomic_load(&s->capture)) {
		command_destroy(c);
		return capture_forbids(s);
	}
	atomic_store(&state->pid, getpid());
	((struct passing *)c->data)->number = atomic_fetch_add(&state->recorded, 1) + 1;
	return stream_submit_quick(s, c);
}

CUresult shared_event_wait(struct event *e, struct stream *s)
{
	uint64_t number = atomic_load(&e->shared->state->recorded);
	struct command *c;

	if (reached(e->shared->state, number))
		return CUDA_SUCCESS;
	if (capture_forbids && atomic_load(&s->capture))
		return capture_forbids(s);
	c = make(&command_await, e, number);
	return c ? stream_submit(s, c, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- entry points ---- */

CUresult soft_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
	struct event *e;
	CUresult r = out ? event_enter(handle, &e) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (!e->shared)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!e->shared->own)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (ipc_handle(out, IPC_EVENT, e->shared->offset, PAGE))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	object_put(e);
	return r;
}

CUresult soft_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
	struct context *ctx;
	struct ipc_place p;
	CUresult r = context_enter(&ctx);

	if (r)
		return r;
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	int err = ipc_open(&handle, IPC_EVENT, &p);
	if (err)
		return err == -EDEADLK ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_MAP_FAILED;
	struct shared_event *shared = p.offset % PAGE || p.size != PAGE ? NULL : map_state(p.fd, p.offset, false);
	close(p.fd);
	if (!shared)
		return CUDA_ERROR_MAP_FAILED;
	struct event *e = event_create(ctx, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, shared);
	if (!e) {
		shared_event_destroy(shared);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*out = object_handle(CUevent, e);
	object_put(e);
	return CUDA_SUCCESS;
}
