/*
 * Grids that launch grids: the functions of the device runtime, as nvcc calls them (__cudaCDP2...).
 *
 *	kernel ─ GetParameterBufferV2 ─► a buffer, which it fills ─ LaunchDeviceV2 ─► work, in a list of its grid
 *
 * The work of a grid runs when all its blocks have ended, in the order of launching; a child and all its own work
 * complete before the next one starts.  CUDA allows this order: a kernel cannot wait for its children, and streams and
 * events require nothing more.  Work for the tail stream runs last.  The grid is complete when all its work is.
 */
#include "ptx/interp/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 24, MAX_PENDING = 1 << 20, MAX_THREADS = 1024 };

/* cudaError_t, as a kernel sees it. */
enum { NO_ERROR = 0, INVALID_VALUE = 1, NO_MEMORY = 2, TOO_DEEP = 65, TOO_MANY = 69, INVALID_FUNCTION = 98 };
#define TAIL_STREAM 3

enum work_kind { WORK_LAUNCH, WORK_COPY, WORK_SET };

struct nested_work {
	enum work_kind kind;
	struct ptx_function *fn;
	uint32_t grid[3], block[3], shared;
	uint64_t params;   /* launch: the parameter buffer; copy: the source */
	uint64_t to, size; /* copy and set */
	uint32_t value;    /* set */
	struct nested_work *next;
};

/* ---- lists ------------------------------------------------------------------------------------------ */

static bool work_append(struct grid *g, struct nested_work w, bool tail)
{
	struct nested_work *new = malloc(sizeof(*new)), **at;
	bool room;

	if (!new)
		return false;
	*new = w;
	new->next = NULL;
	pthread_mutex_lock(&g->lock);
	room = g->nested.pending < MAX_PENDING;
	if (room) {
		g->nested.pending++;
		at = tail ? &g->nested.tail_end : &g->nested.end;
		if (*at)
			(*at)->next = new;
		else
			*(tail ? &g->nested.tail : &g->nested.first) = new;
		*at = new;
	}
	pthread_mutex_unlock(&g->lock);
	if (!room)
		free(new);
	return room;
}

/* Removes a parameter buffer from the list of those not launched yet, and copies its launch to *w. */
static bool take_buffer(struct grid *g, uint64_t params, struct nested_work *w)
{
	bool found = false;

	pthread_mutex_lock(&g->lock);
	for (struct nested_work **at = &g->nested.buffers; *at && !found; at = found ? at : &(*at)->next) {
		struct nested_work *b = *at;

		if (b->params != params)
			continue;
		found = true;
		*w = *b;
		*at = b->next;
		free(b);
	}
	pthread_mutex_unlock(&g->lock);
	return found;
}

/* ---- functions that kernels call -------------------------------------------------------------------- */

/* Returns an error from the call, and keeps it for cudaGetLastError. */
static void store_error(struct warp *w, const struct call_site *s, unsigned lane, int error)
{
	if (error)
		atomic_store(&w->block->grid->nested.error, error);
	builtin_result(w, s, lane, (uint64_t)error);
}

static struct ptx_function *entry_at(const struct interp_program *p, uint64_t address)
{
	const struct ptx_module *m = p->module->head ? p->module->head : p->module;

	for (; m; m = m->peer)
		for (struct ptx_function *f = m->functions; f; f = f->next)
			if (f->is_entry && f->is_defined && interp_function_address(f) == address)
				return f;
	return NULL;
}

static bool geometry_valid(const struct nested_work *w)
{
	uint64_t threads = (uint64_t)w->block[0] * w->block[1] * w->block[2];

	return w->grid[0] && w->grid[0] <= INT32_MAX && w->grid[1] && w->grid[1] <= 65535 && w->grid[2] &&
	       w->grid[2] <= 65535 && threads && threads <= MAX_THREADS && w->block[0] <= 1024 && w->block[1] <= 1024 &&
	       w->block[2] <= 64 && w->shared <= 227 << 10;
}

/* (function, dim3 grid, dim3 block, unsigned shared) -> buffer */
static void cdp_get_parameter_buffer(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;
	struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		struct nested_work *b = calloc(1, sizeof(*b));
		int error = NO_ERROR;

		if (b) {
			b->fn = entry_at(g->kernel->program, builtin_arg(w, s, 0, i));
			builtin_bytes(w, s, 1, i, b->grid, sizeof(b->grid));
			builtin_bytes(w, s, 2, i, b->block, sizeof(b->block));
			b->shared = (uint32_t)builtin_arg(w, s, 3, i);
			error = !b->fn                  ? INVALID_FUNCTION
				: !geometry_valid(b)    ? INVALID_VALUE
				: g->depth >= MAX_DEPTH ? TOO_DEEP
							: 0;
			b->params = error || !h->alloc || !h->kernel ? 0 : h->alloc(h->arg, b->fn->param_size + 16);
		}
		if (!b || !b->params) {
			atomic_store(&g->nested.error, error ? error : NO_MEMORY);
			builtin_result(w, s, i, 0);
			free(b);
			continue;
		}
		builtin_result(w, s, i, b->params);
		pthread_mutex_lock(&g->lock);
		b->next = g->nested.buffers;
		g->nested.buffers = b;
		pthread_mutex_unlock(&g->lock);
	}
}

/* (buffer, stream) */
static void cdp_launch(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		struct nested_work b = {.kind = WORK_LAUNCH};
		bool tail = builtin_arg(w, s, 1, i) == TAIL_STREAM;

		if (!take_buffer(g, builtin_arg(w, s, 0, i), &b))
			store_error(w, s, i, INVALID_VALUE);
		else
			store_error(w, s, i, work_append(g, b, tail) ? NO_ERROR : TOO_MANY);
	}
}

/* True for memory that outlives the grid: neither shared nor local memory. */
static bool is_lasting_memory(const struct interp_host *h, uint64_t at, uint64_t n)
{
	uint64_t base, size;

	return h->accessible(h->arg, at, &base, &size) && at - base <= size && n <= size - (at - base);
}

static bool can_transfer(const struct interp_host *h, const struct nested_work *t)
{
	return !t->size || (is_lasting_memory(h, t->to, t->size) &&
				   (t->kind != WORK_COPY || is_lasting_memory(h, t->params, t->size)));
}

/* (to, from, size, kind, stream) and (to, value, size, stream): queued in order with the launches */
static void queue_transfer(struct warp *w, const struct xinst *x, enum work_kind kind)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	{
		struct nested_work t = {.kind = kind,
			.to = builtin_arg(w, s, 0, i),
			.params = builtin_arg(w, s, 1, i),
			.value = (uint32_t)builtin_arg(w, s, 1, i),
			.size = builtin_arg(w, s, 2, i)};
		bool tail = builtin_arg(w, s, kind == WORK_COPY ? 4 : 3, i) == TAIL_STREAM;

		if (!can_transfer(w->launch->host, &t))
			store_error(w, s, i, INVALID_VALUE);
		else
			store_error(w, s, i, work_append(w->block->grid, t, tail) ? NO_ERROR : TOO_MANY);
	}
}

static void cdp_memcpy(struct warp *w, const struct xinst *x)
{
	queue_transfer(w, x, WORK_COPY);
}

static void cdp_memset(struct warp *w, const struct xinst *x)
{
	queue_transfer(w, x, WORK_SET);
}

/* Writes a value of `size` bytes to an address that the kernel passed; false: a fault was raised. */
static bool write_result(struct warp *w, uint64_t at, uint64_t v, size_t size)
{
	if (!mem_accessible(w, at, size)) {
		warp_fault(w, INTERP_ILLEGAL_ADDRESS, "a result at 0x%llx cannot be written", (unsigned long long)at);
		return false;
	}
	memcpy((void *)(uintptr_t)at, &v, size);
	return true;
}

/* Creates a stream or an event: all share one dummy handle, because work always runs in order. */
static void cdp_create_handle(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	{
		if (!write_result(w, builtin_arg(w, s, 0, i), 0x10, 8))
			return;
		store_error(w, s, i, NO_ERROR);
	}
}

static void cdp_succeed(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	store_error(w, s, i, NO_ERROR);
}

static void cdp_get_device(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	{
		if (!write_result(w, builtin_arg(w, s, 0, i), 0, 4))
			return;
		store_error(w, s, i, NO_ERROR);
	}
}

static void cdp_malloc(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;

	FOR_ACTIVE(w, i)
	{
		uint64_t size = builtin_arg(w, s, 1, i), p = size && h->alloc ? h->alloc(h->arg, size) : 0;

		if (!write_result(w, builtin_arg(w, s, 0, i), p, 8))
			return;
		store_error(w, s, i, size && !p ? NO_MEMORY : NO_ERROR);
	}
}

static void cdp_free(struct warp *w, const struct xinst *x)
{
	builtin_find("free")(w, x);
	cdp_succeed(w, x);
}

static void cdp_get_last_error(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	builtin_result(w, s, i, (uint64_t)atomic_exchange(&w->block->grid->nested.error, 0));
}

static void cdp_peek_last_error(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;

	FOR_ACTIVE(w, i)
	builtin_result(w, s, i, (uint64_t)atomic_load(&w->block->grid->nested.error));
}

/* The text of an error: one buffer per grid, in memory that kernels can read. */
static void cdp_get_error_text(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		pthread_mutex_lock(&g->lock);
		snprintf((char *)g->workspace + sizeof(g->workspace) / 2, sizeof(g->workspace) / 2, "CUDA error %u",
			(unsigned)builtin_arg(w, s, 0, i));
		pthread_mutex_unlock(&g->lock);
		builtin_result(w, s, i, (uint64_t)(uintptr_t)g->workspace + sizeof(g->workspace) / 2);
	}
}

exec_fn nested_builtin_find(const char *name)
{
	static const struct {
		const char *name;
		exec_fn run;
	} all[] = {
		{"GetParameterBufferV2", cdp_get_parameter_buffer},
		{"LaunchDeviceV2", cdp_launch},
		{"MemcpyAsync", cdp_memcpy},
		{"MemsetAsync", cdp_memset},
		{"StreamCreateWithFlags", cdp_create_handle},
		{"StreamDestroy", cdp_succeed},
		{"StreamWaitEvent", cdp_succeed},
		{"EventCreateWithFlags", cdp_create_handle},
		{"EventDestroy", cdp_succeed},
		{"EventRecord", cdp_succeed},
		{"EventRecordWithFlags", cdp_succeed},
		{"GetDevice", cdp_get_device},
		{"Malloc", cdp_malloc},
		{"Free", cdp_free},
		{"GetLastError", cdp_get_last_error},
		{"PeekAtLastError", cdp_peek_last_error},
		{"GetErrorString", cdp_get_error_text},
		{"GetErrorName", cdp_get_error_text},
	};
	static const char prefix[] = "__cudaCDP2";
	size_t n;

	if (strncmp(name, prefix, sizeof(prefix) - 1))
		return NULL;
	name += sizeof(prefix) - 1;
	n = strlen(name);
	if (n > 5 && !strcmp(name + n - 5, "_ptsz")) /* the order of the work suits either default stream */
		n -= 5;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strlen(all[i].name) == n && !strncmp(name, all[i].name, n))
			return all[i].run;
	return NULL;
}

/* ---- running the work ------------------------------------------------------------------------------- */

static int run_launch(struct grid *g, const struct nested_work *b)
{
	const struct interp_host *h = g->launch->host;
	struct interp_launch l = *g->launch;
	struct interp_kernel *k;
	int r;

	if (h->kernel(h->arg, b->fn, &k, g->launch->message, sizeof(g->launch->message)))
		return INTERP_NOT_SUPPORTED;
	memcpy(l.grid, b->grid, sizeof(l.grid));
	memcpy(l.block, b->block, sizeof(l.block));
	l.shared = b->shared;
	l.params = (const void *)(uintptr_t)b->params;
	l.params_size = b->fn->param_size;
	l.cooperative = false;
	r = (int)grid_launch(k, &l, g->depth + 1);
	if (r)
		memcpy(g->launch->message, l.message, sizeof(l.message));
	return r;
}

static int run_work(struct grid *g, const struct nested_work *b)
{
	if (b->kind != WORK_LAUNCH && !can_transfer(g->launch->host, b)) /* freed meanwhile */
		return INTERP_ILLEGAL_ADDRESS;
	switch (b->kind) {
	case WORK_COPY:
		memmove((void *)(uintptr_t)b->to, (const void *)(uintptr_t)b->params, b->size);
		return 0;
	case WORK_SET:
		memset((void *)(uintptr_t)b->to, (int)b->value, b->size);
		return 0;
	default:
		return run_launch(g, b);
	}
}

static int run_list(struct grid *g, struct nested_work *list, int fault)
{
	const struct interp_host *h = g->launch->host;
	struct nested_work *next;

	for (struct nested_work *b = list; b; b = next) {
		next = b->next;
		if (!fault)
			fault = run_work(g, b);
		if (b->kind == WORK_LAUNCH && h->release)
			h->release(h->arg, b->params);
		free(b);
	}
	return fault;
}

int nested_run(struct grid *g, int fault)
{
	struct nested_work *next;

	fault = run_list(g, g->nested.first, fault);
	fault = run_list(g, g->nested.tail, fault);
	for (struct nested_work *b = g->nested.buffers; b; b = next) { /* never launched */
		next = b->next;
		g->launch->host->release(g->launch->host->arg, b->params);
		free(b);
	}
	memset(&g->nested, 0, sizeof(g->nested));
	return fault;
}
