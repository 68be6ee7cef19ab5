/* Builds the reports of the checked mode. */
#include "ptx/interp/checked/checked_core.h"

void checked_thread(const struct block *b, uint32_t thread, uint32_t id[3])
{
	for (int i = 0; i < 3; i++)
		id[i] = b->warps[thread / LANES].tid[i][thread % LANES];
}

struct check_place checked_place(const struct checked_site *s)
{
	const char *file = ptx_module_file(s->fn->module, s->in->loc_file);

	return (struct check_place){
		.function = s->fn->name,
		.file = s->in->loc_line ? file : NULL,
		.line = s->in->loc_line,
		.ptx_line = s->in->line,
	};
}

struct check_report checked_report_init(
	const struct warp *w, const struct checked_access *a, enum check_kind kind, unsigned lane, uint64_t address)
{
	const struct block *b = w->block;
	struct check_report r = {
		.kind = kind,
		.access = a->kind,
		.space = a->space,
		.address = address,
		.size = a->size,
		.kernel = b->grid->kernel->entry->fn->name,
		.at = checked_place(a->site),
		.block = {b->ctaid[0], b->ctaid[1], b->ctaid[2]},
	};

	checked_thread(b, w->number * LANES + lane, r.thread);
	return r;
}

bool checked_repeated(struct checked_site *s, enum check_kind kind)
{
	atomic_ullong *n = atomic_load(&s->counter[kind]);

	if (n)
		atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
	return n;
}

void checked_report(struct warp *w, struct checked_site *s, const struct check_report *r)
{
	const struct interp_checks *c = w->launch->host->checks;

	if (!checked_repeated(s, r->kind))
		atomic_store(&s->counter[r->kind], c->report(c->arg, r));
}
