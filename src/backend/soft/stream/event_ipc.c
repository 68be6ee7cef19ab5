/*
 * Interprocess events.  Their state is a page of the store that both processes map: the number of records, and the
 * number of the last record whose preceding work is complete.
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

/* Trust: the other process may write anything here.  At worst a wait in this process is too long or too short. */
struct event_state {
	_Atomic uint64_t recorded, completed;
	_Atomic uint32_t wake;
	_Atomic int32_t pid; /* the process of the last record */
};

struct shared_event {
	struct event_state *state;
	uint64_t offset;
	bool own;                              /* the page belongs to this process's store */
	_Atomic(struct ipc_export *) exported; /* NULL until cuIpcGetEventHandle */
};

static struct shared_event *shared_event_map(int fd, uint64_t offset, bool own)
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

	return store_alloc(PAGE, &offset) ? NULL : shared_event_map(store_fd(), offset, true);
}

/* A process that still waits sees a page of zeros (record 0, process 0) and continues. */
void shared_event_destroy(struct shared_event *e)
{
	if (!e)
		return;
	ipc_export_destroy(atomic_load(&e->exported));
	munmap(e->state, PAGE);
	if (e->own)
		store_free(e->offset, PAGE);
	free(e);
}

/* ---- waiting ---- */

static bool record_complete(struct event_state *s, uint64_t number)
{
	return atomic_load(&s->completed) >= number;
}

bool shared_event_done(struct shared_event *e)
{
	return record_complete(e->state, atomic_load(&e->state->recorded));
}

/* Wait until record `number` is complete, the recording process has exited, or *stop is set (stop may be NULL). */
static void record_wait(struct event_state *s, uint64_t number, const atomic_bool *stop)
{
	const struct timespec poll_interval = {.tv_nsec = 100000000};

	while (!record_complete(s, number) && !(stop && atomic_load(stop))) {
		uint32_t seen = atomic_load(&s->wake);

		if (record_complete(s, number))
			return;
		if (syscall(SYS_futex, &s->wake, FUTEX_WAIT, seen, &poll_interval, NULL, 0) && errno == ETIMEDOUT) {
			if (!ipc_process_alive(atomic_load(&s->pid)))
				return;
		}
	}
}

void shared_event_sync(struct shared_event *e)
{
	record_wait(e->state, atomic_load(&e->state->recorded), NULL);
}

/* ---- commands ---- */

/* Payload of both commands. */
struct shared_record {
	struct event *event; /* referenced */
	uint64_t number;
};

static void release_shared_record(struct command *c)
{
	object_put(((struct shared_record *)c->data)->event);
}

static CUresult run_shared_record(struct command *c)
{
	struct shared_record *p = c->data;
	struct event_state *s = p->event->shared->state;
	uint64_t seen = atomic_load(&s->completed);

	while (seen < p->number && !atomic_compare_exchange_weak(&s->completed, &seen, p->number))
		;
	atomic_fetch_add(&s->wake, 1);
	syscall(SYS_futex, &s->wake, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return CUDA_SUCCESS;
}

static CUresult run_shared_wait(struct command *c)
{
	struct shared_record *p = c->data;

	record_wait(p->event->shared->state, p->number, &c->ctx->stop);
	return CUDA_SUCCESS;
}

static const struct command_ops command_shared_record = {COMMAND_OTHER, run_shared_record, release_shared_record, true};
static const struct command_ops command_shared_wait = {COMMAND_OTHER, run_shared_wait, release_shared_record, true};

static struct command *record_command(const struct command_ops *ops, struct event *e, uint64_t number)
{
	struct command *c = command_create(ops, sizeof(struct shared_record));

	if (!c)
		return NULL;
	object_ref(e);
	*(struct shared_record *)c->data = (struct shared_record){e, number};
	return c;
}

CUresult shared_event_record(struct event *e, struct stream *s)
{
	struct event_state *state = e->shared->state;
	CUresult r = stream_check_uncaptured(s);

	if (r)
		return r;
	struct command *c = record_command(&command_shared_record, e, 0);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_store(&state->pid, getpid());
	((struct shared_record *)c->data)->number = atomic_fetch_add(&state->recorded, 1) + 1;
	return stream_submit_quick(s, c);
}

CUresult shared_event_wait(struct event *e, struct stream *s)
{
	uint64_t number = atomic_load(&e->shared->state->recorded);

	if (record_complete(e->shared->state, number))
		return CUDA_SUCCESS;
	CUresult r = stream_check_uncaptured(s);
	if (r)
		return r;
	struct command *c = record_command(&command_shared_wait, e, number);
	return c ? stream_submit(s, c, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- entry points ---- */

/* The event's export, created by the first call.  NULL: failed. */
static struct ipc_export *shared_event_export(struct shared_event *e)
{
	struct ipc_export *known = atomic_load(&e->exported), *created;

	if (known)
		return known;
	created = ipc_export_create(IPC_EVENT, e->offset, PAGE);
	if (!created || atomic_compare_exchange_strong(&e->exported, &known, created))
		return created;
	ipc_export_destroy(created); /* another thread was faster */
	return known;
}

CUresult soft_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent handle)
{
	struct event *e;
	struct ipc_export *exported;
	CUresult r = out ? event_enter(handle, &e) : CUDA_ERROR_INVALID_VALUE;

	if (r)
		return r;
	if (!e->shared)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!e->shared->own)
		r = CUDA_ERROR_INVALID_VALUE;
	else if (!(exported = shared_event_export(e->shared)))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	else
		memcpy(out, exported->handle, sizeof *out);
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
	struct shared_event *shared =
		p.offset % PAGE || p.size != PAGE ? NULL : shared_event_map(p.fd, p.offset, false);
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
