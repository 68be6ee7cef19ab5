/* Prints a module, or a function after a pass, as text for people and tests. */
#include "ptx/parse/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void dump_mods(FILE *o, const struct ptx_inst *in)
{
	const struct ptx_mods *m = &in->m;

	for (unsigned f = 0; f < FIELD_COUNT; f++) {
		unsigned v = (&m->rnd)[f];

		if (!v || f == FIELD_cache || f == FIELD_word || (f >= FIELD_mma_m && f <= FIELD_mma_k))
			continue;
		fprintf(o, ".%s", table_mod_text(f, v));
	}
	if (m->mma_m)
		fprintf(o, ".m%un%uk%u", m->mma_m, m->mma_n, m->mma_k);
	for (unsigned i = 0; i < m->ntypes; i++)
		fprintf(o, ".%s", ptx_type_name(m->type[i]));
}

static void dump_operand(FILE *o, const struct ptx_function *f, const struct ptx_operand *x);

static void dump_list(FILE *o, const struct ptx_function *f, const struct ptx_operand *x)
{
	fputc('{', o);
	for (uint32_t i = 0; i < x->n; i++) {
		fputs(i ? ", " : "", o);
		dump_operand(o, f, &x->elem[i]);
	}
	fputc('}', o);
}

static void dump_address(FILE *o, const struct ptx_function *f, const struct ptx_operand *x)
{
	fputc('[', o);
	if (x->reg != PTX_NOREG)
		fprintf(o, "%s", f->regs[x->reg].name);
	else if (x->var)
		fprintf(o, "%s", x->var->name);
	if (x->imm || (x->reg == PTX_NOREG && !x->var))
		fprintf(o, "%+" PRId64, x->imm);
	fputc(']', o);
}

static void dump_sreg(FILE *o, const struct ptx_operand *x)
{
	fprintf(o, "%%%s", ptx_sreg_name(x->reg));
	if (table_sreg_dims(x->reg) > 1)
		fprintf(o, ".%c", "xyzw"[x->comp & 3]);
	else if (!table_sreg_dims(x->reg))
		fprintf(o, ":%u", x->comp);
}

static void dump_selector(FILE *o, const struct ptx_operand *x)
{
	if (x->comp >= PTX_SEL_BYTES) /* the digits follow a leading 1 */
		fprintf(o, ".%c%0*" PRIx32, x->comp == PTX_SEL_BYTES ? 'b' : 'h', (31 - __builtin_clz(x->n)) / 4,
			x->n & ((1u << (31 - __builtin_clz(x->n))) - 1));
	else if (x->comp)
		fprintf(o, ".%c%d", x->comp < PTX_SEL_H0 ? 'b' : 'h', (x->comp - PTX_SEL_B0) % 4);
}

static void dump_operand(FILE *o, const struct ptx_function *f, const struct ptx_operand *x)
{
	fputs(x->neg ? "!" : "", o);
	switch (x->kind) {
	case PTX_O_NONE:
		fputc('-', o);
		break;
	case PTX_O_REG:
		fputs(f->regs[x->reg].name, o);
		dump_selector(o, x);
		break;
	case PTX_O_IMM:
		fprintf(o, "0x%" PRIx64, (uint64_t)x->imm);
		break;
	case PTX_O_SREG:
		dump_sreg(o, x);
		break;
	case PTX_O_SINK:
		fputc('_', o);
		break;
	case PTX_O_VEC:
	case PTX_O_LABELS:
		dump_list(o, f, x);
		break;
	case PTX_O_ADDR:
		dump_address(o, f, x);
		break;
	case PTX_O_VAR:
		fprintf(o, "&%s%+" PRId64, x->var->name, x->imm);
		break;
	case PTX_O_FUNC:
		fputs(x->fn->name, o);
		break;
	case PTX_O_LABEL:
		fprintf(o, "->%u", x->reg);
		break;
	case PTX_O_PROTO:
		fputs(x->proto->name, o);
		break;
	}
}

static void dump_inst(FILE *o, const struct ptx_function *f, uint32_t i)
{
	const struct ptx_inst *in = &f->insts[i];

	fprintf(o, "%4u  ", i);
	if (in->guard != PTX_NOREG)
		fprintf(o, "@%s%s ", in->guard_not ? "!" : "", f->regs[in->guard].name);
	fputs(ptx_op_name(in->op), o);
	dump_mods(o, in);
	for (unsigned k = 0; k < in->nops; k++) {
		fputs(k ? ", " : " ", o);
		dump_operand(o, f, &in->ops[k]);
	}
	fputc('\n', o);
}

static void dump_insts(FILE *o, const struct ptx_function *f)
{
	for (uint32_t i = 0; i < f->ninsts; i++)
		dump_inst(o, f, i);
}

static void dump_var(FILE *o, const struct ptx_var *v)
{
	static const char *const spaces[] = {
		"generic", "global", "shared", "shared::cluster", "local", "const", "param", "reg", "tex"};

	fprintf(o, "  .%s %s +%" PRIu64 " size %" PRIu64 " align %u%s\n", spaces[v->space], v->name, v->offset, v->size,
		v->align, v->unsized ? " unsized" : "");
}

static void dump_frame(FILE *o, const struct ptx_function *f)
{
	for (uint32_t i = 0; i < f->nparams; i++)
		dump_var(o, f->params[i]);
	for (uint32_t i = 0; i < f->nrets; i++)
		dump_var(o, f->rets[i]);
	for (const struct ptx_var *v = f->vars; v; v = v->next)
		dump_var(o, v);
	fprintf(o, "  params %" PRIu64 " frame %" PRIu64 " local %" PRIu64 "\n", f->param_size, f->param_frame_size,
		f->local_size);
	if (f->is_entry)
		fprintf(o, "  shared %" PRIu64 " local total %" PRIu64 "%s\n", f->shared_static, f->local_total,
			f->local_unbounded ? " or more" : "");
	for (uint32_t i = 0; i < f->nregs; i++)
		fprintf(o, "  %u %s .%s\n", i, f->regs[i].name, ptx_type_name(f->regs[i].type));
}

static void dump_edges(FILE *o, const char *what, const uint32_t *l, uint32_t n)
{
	fprintf(o, "  %s", what);
	for (uint32_t i = 0; i < n; i++)
		fprintf(o, " b%u", l[i]);
}

static void dump_blocks(FILE *o, const struct ptx_function *f)
{
	for (uint32_t b = 0; b < f->nblocks; b++) {
		const struct ptx_block *k = &f->blocks[b];

		fprintf(o, "b%u  %u..%u", b, k->first, k->end - 1);
		dump_edges(o, "to", k->succ, k->nsucc);
		dump_edges(o, "from", k->pred, k->npred);
		fputs(k->rpo == PTX_NOREG ? "  unreachable\n" : "\n", o);
	}
}

static void dump_dominators(FILE *o, const struct ptx_function *f)
{
	for (uint32_t b = 0; b < f->nblocks; b++) {
		const struct ptx_block *k = &f->blocks[b];

		if (k->rpo == PTX_NOREG)
			continue;
		fprintf(o, "b%u  rpo %u  idom b%u  ipdom ", b, k->rpo, k->idom);
		if (k->ipdom == PTX_NOREG)
			fputs("end\n", o);
		else
			fprintf(o, "b%u\n", k->ipdom);
	}
}

static void dump_set(FILE *o, const struct ptx_function *f, const char *what, const uint64_t *set)
{
	fprintf(o, "  %s", what);
	for (uint32_t r = 0; r < f->nregs; r++)
		if (set[r / 64] >> r % 64 & 1)
			fprintf(o, " %s", f->regs[r].name);
}

static void dump_live(FILE *o, const struct ptx_function *f)
{
	for (uint32_t b = 0; b < f->nblocks && f->blocks[b].live_in; b++) {
		fprintf(o, "b%u", b);
		dump_set(o, f, "in", f->blocks[b].live_in);
		dump_set(o, f, "out", f->blocks[b].live_out);
		fputc('\n', o);
	}
}

static void dump_shapes(FILE *o, const struct ptx_function *f)
{
	for (uint32_t r = 0; r < f->nregs; r++) {
		const struct ptx_shape *s = &f->shapes[r];

		fprintf(o, "%s ", f->regs[r].name);
		if (s->kind == PTX_SHAPE_CONST)
			fprintf(o, "const %" PRId64 "\n", s->base);
		else if (s->kind == PTX_SHAPE_AFFINE)
			fprintf(o, "affine %" PRId64 "\n", s->stride);
		else
			fprintf(o, "%s\n",
				s->kind == PTX_SHAPE_NONE      ? "none"
				: s->kind == PTX_SHAPE_UNIFORM ? "uniform"
							       : "varying");
	}
	for (uint32_t b = 0; b < f->nblocks; b++)
		if (f->divergent[b])
			fprintf(o, "b%u divergent\n", b);
}

static void dump_init(FILE *o, const struct ptx_var *v)
{
	if (!v->init)
		return;
	fputs("   ", o);
	for (uint64_t i = 0; i < v->init_size && i < 64; i++)
		fprintf(o, "%s%02x", i % 4 ? "" : " ", v->init[i]);
	fputc('\n', o);
	for (uint32_t i = 0; i < v->nrelocs; i++) {
		const struct ptx_reloc *r = &v->relocs[i];

		fprintf(o, "    +%" PRIu64 " %s%s%+" PRId64 " size %u shift %u\n", r->offset,
			r->generic ? "generic " : "", r->name, r->addend, r->size, r->shift);
	}
}

char *ptx_module_dump(const struct ptx_module *m)
{
	static const char *const linkages[] = {"", " extern", " visible", " weak", " common"};
	char *text = NULL;
	size_t size;
	FILE *o = open_memstream(&text, &size);

	if (!o)
		return NULL;
	fprintf(o, "version %u %s address %u\n", m->version, m->target, m->address_size);
	for (const struct ptx_var *v = m->vars; v; v = v->next) {
		dump_var(o, v);
		dump_init(o, v);
	}
	for (const struct ptx_function *f = m->functions; f; f = f->next)
		fprintf(o, "  %s %s%s%s%s%s\n", f->is_entry ? "entry" : "func", f->name, linkages[f->linkage],
			f->is_defined ? " defined" : "", f->address_taken ? " address taken" : "",
			f->alias_of ? " alias" : "");
	if (fclose(o)) {
		free(text);
		return NULL;
	}
	return text;
}

static int dump_prepare(struct ptx_function *f, char letter)
{
	switch (letter) {
	case 'p':
		return ptx_function_body(f);
	case 'f':
		return f->is_entry ? ptx_kernel_layout(f) : ptx_function_body(f);
	case 'c':
	case 'd':
	case 'l':
		return ptx_function_analyze(f);
	case 'u':
		return f->shapes ? 0 : ptx_function_shapes(f, true);
	}
	return -1;
}

char *ptx_dump(struct ptx_function *f, char letter)
{
	static void (*const dumps[])(FILE *, const struct ptx_function *) = {['p'] = dump_insts,
		['f'] = dump_frame,
		['c'] = dump_blocks,
		['d'] = dump_dominators,
		['l'] = dump_live,
		['u'] = dump_shapes};
	char *text = NULL;
	size_t size;
	FILE *o;

	if (dump_prepare(f, letter))
		return NULL;
	o = open_memstream(&text, &size);
	if (!o)
		return NULL;
	dumps[(unsigned char)letter](o, f);
	if (fclose(o)) {
		free(text);
		return NULL;
	}
	return text;
}
