/*
 * Built-in device functions: vprintf, malloc, free, __assertfail and cudaGraphSetConditional.  nested_launch.c has
 * those of the device runtime.
 */
#include "ptx/interp/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void builtin_bytes(struct warp *w, const struct call_site *s, unsigned n, unsigned lane, void *to, size_t size)
{
	const struct call_arg *a;
	size_t have;

	memset(to, 0, size);
	if (n >= s->nargs)
		return;
	a = &s->args[n];
	have = a->offset != NO_SLOT ? a->size : (size_t)1 << a->width;
	memcpy(to,
		a->offset != NO_SLOT ? frame_param(w, w->frame, lane, a->offset)
				     : w->regs + a->slot + ((size_t)lane << a->width),
		have < size ? have : size);
}

uint64_t builtin_arg(struct warp *w, const struct call_site *s, unsigned n, unsigned lane)
{
	uint64_t v;

	builtin_bytes(w, s, n, lane, &v, sizeof(v));
	return v;
}

void builtin_result(struct warp *w, const struct call_site *s, unsigned lane, uint64_t v)
{
	const struct call_arg *a;

	if (!s->nrets)
		return;
	a = &s->rets[0];
	if (a->offset != NO_SLOT)
		memcpy(frame_param(w, w->frame, lane, a->offset), &v, a->size < 8 ? a->size : 8);
	else
		memcpy(w->regs + a->slot + ((size_t)lane << a->width), &v, 1u << (a->width < W64 ? a->width : W64));
}

static void builtin_vprintf(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;
	struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		char fmt[1024];
		size_t len;
		int n = 0;
		char *text;

		if (!mem_string(w, builtin_arg(w, s, 0, i), fmt, sizeof(fmt)))
			return;
		text = printf_format(w, fmt, builtin_arg(w, s, 1, i), &len, &n);
		if (!text)
			return;
		pthread_mutex_lock(&g->lock);
		if (h->print)
			h->print(h->arg, text, len);
		pthread_mutex_unlock(&g->lock);
		free(text);
		builtin_result(w, s, i, (uint64_t)n);
	}
}

static void builtin_malloc(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;

	FOR_ACTIVE(w, i)
	{
		uint64_t size = builtin_arg(w, s, 0, i);

		builtin_result(w, s, i, size && h->alloc ? h->alloc(h->arg, size) : 0);
	}
}

static void builtin_free(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;

	/* The caches of this grid thread must not grant access to freed memory. */
	memset(w->block->thread->ranges, 0, sizeof(w->block->thread->ranges));
	memset(w->block->thread->hot, 0, sizeof(w->block->thread->hot));
	if (w->block->thread->sites)
		memset(w->block->thread->sites, 0, w->block->thread->nsites * sizeof(*w->block->thread->sites));
	FOR_ACTIVE(w, i)
	{
		uint64_t p = builtin_arg(w, s, 0, i);

		if (p && h->release)
			h->release(h->arg, p);
	}
}

static void builtin_assertfail(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;
	const uint32_t *c = w->block->ctaid;
	struct grid *g = w->block->grid;

	FOR_ACTIVE(w, i)
	{
		char what[256], file[256], function[256], line[1024];
		int n;

		if (!mem_string(w, builtin_arg(w, s, 0, i), what, sizeof(what)) ||
			!mem_string(w, builtin_arg(w, s, 1, i), file, sizeof(file)) ||
			!mem_string(w, builtin_arg(w, s, 3, i), function, sizeof(function)))
			return;
		n = snprintf(line, sizeof(line),
			"%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file,
			(uint32_t)builtin_arg(w, s, 2, i), function, c[0], c[1], c[2], w->tid[0][i], w->tid[1][i],
			w->tid[2][i], what);
		pthread_mutex_lock(&g->lock);
		if (h->assertion)
			h->assertion(h->arg, line, n < (int)sizeof(line) ? (size_t)n : sizeof(line) - 1);
		if (!atomic_exchange(&g->asserted, true) && !atomic_load(&g->fault))
			snprintf(w->launch->message, sizeof(w->launch->message), "assertion %.100s failed at %.100s:%u",
				what, file, (uint32_t)builtin_arg(w, s, 2, i));
		pthread_mutex_unlock(&g->lock);
	}
	/* Other threads may have failed assertions to print, too: the grid ends only at the next check of grid_over. */
	warp_exit(w, w->active);
}

static void builtin_set_conditional(struct warp *w, const struct xinst *x)
{
	const struct call_site *s = x->data;
	const struct interp_host *h = w->launch->host;

	FOR_ACTIVE(w, i)
	{
		if (h->condition)
			h->condition(h->arg, builtin_arg(w, s, 0, i), (uint32_t)builtin_arg(w, s, 1, i));
	}
}

exec_fn builtin_find(const char *name)
{
	static const struct {
		const char *name;
		exec_fn run;
	} all[] = {
		{"vprintf", builtin_vprintf},
		{"malloc", builtin_malloc},
		{"free", builtin_free},
		{"__assertfail", builtin_assertfail},
		{"cudaGraphSetConditional", builtin_set_conditional},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(name, all[i].name))
			return all[i].run;
	return nested_builtin_find(name);
}

bool interp_provides(const char *name)
{
	return builtin_find(name) != NULL;
}
