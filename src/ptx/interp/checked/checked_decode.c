/* Puts checking functions in front of decoded instructions. */
#include "ptx/interp/checked/checked_core.h"
#include "ptx/interp/decode/decode.h"

#include <stdlib.h>

/* The checking function of an instruction; NULL: it needs none. */
static exec_fn checked_select(const struct xinst *x)
{
	if (x->run == x_sync)
		return x_checked_sync;
	switch (x->in->op) {
	case PTX_OP_ld:
	case PTX_OP_ldu:
	case PTX_OP_st:
		/* The decoder has checked accesses to named parameters. */
		return x->access == ACCESS_PARAM ? NULL : x_checked;
	case PTX_OP_atom:
	case PTX_OP_atom_cas:
	case PTX_OP_red:
	case PTX_OP_cp_async:
	case PTX_OP_cp_async_mbarrier_arrive:
	case PTX_OP_mbarrier_init:
	case PTX_OP_mbarrier_inval:
	case PTX_OP_mbarrier_arrive:
	case PTX_OP_mbarrier_arrive_drop:
	case PTX_OP_mbarrier_arrive_expect_tx:
	case PTX_OP_mbarrier_expect_tx:
	case PTX_OP_mbarrier_complete_tx:
	case PTX_OP_mbarrier_test_wait:
	case PTX_OP_mbarrier_test_wait_parity:
	case PTX_OP_mbarrier_try_wait:
	case PTX_OP_mbarrier_try_wait_parity:
		return x_checked;
	case PTX_OP_membar:
	case PTX_OP_fence:
	case PTX_OP_fence_proxy:
		return x_checked_order;
	default:
		return NULL;
	}
}

/* The variables of the address operands. Those of .param memory have no bounds of their own. */
static void site_find_variables(struct decoder *d, struct checked_site *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->in->nops && n < 2; i++) {
		const struct ptx_operand *o = &s->in->ops[i];
		const struct ptx_var *v = NULL;

		if (o->kind != PTX_O_ADDR)
			continue;
		if (o->reg != PTX_NOREG)
			v = d->origins[o->reg];
		else if (o->var)
			v = ptx_var_definition(o->var);
		s->var[n++] = v && v->space != PTX_PARAM && (v->size || v->unsized) ? v : NULL;
	}
}

void checked_wrap(struct decoder *d, struct xinst *x)
{
	exec_fn run = checked_select(x);
	struct checked_site *s = run ? calloc(1, sizeof(*s)) : NULL;

	if (!run)
		return;
	if (!s) {
		decode_no_memory(d);
		return;
	}
	s->in = x->in;
	s->fn = d->fn;
	site_find_variables(d, s);
	s->next = d->func->sites;
	d->func->sites = s;
	x->data = s;
	if (x->run == x_sync) {
		s->run = x->op;
		x->op = run;
	} else {
		s->run = x->run;
		x->run = run;
	}
}

void checked_sites_destroy(struct checked_site *s)
{
	struct checked_site *next;

	for (; s; s = next) {
		next = s->next;
		free(s);
	}
}
