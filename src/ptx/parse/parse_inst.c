/* Parses one instruction: guard, mnemonic and operands. */
#include "ptx/parse/parse.h"

#include <string.h>

struct ptx_inst *parse_emit(struct parser *p, const struct ptx_inst *in)
{
	struct ptx_function *f = p->f;
	struct ptx_inst *l = arena_push(p->m->arena, f->insts, f->ninsts, sizeof *l);

	if (!l || f->ninsts == UINT32_MAX / 2) {
		parse_fail_memory(p);
		return NULL;
	}
	f->insts = l;
	l[f->ninsts] = *in;
	l[f->ninsts].loc_file = p->loc_file;
	l[f->ninsts].loc_line = p->loc_line;
	return &l[f->ninsts++];
}

static bool parse_guard(struct parser *p, struct ptx_inst *in)
{
	struct ptx_operand o;
	struct token at;

	in->guard = PTX_NOREG;
	if (!parse_accept(p, '@'))
		return true;
	in->guard_not = parse_accept(p, '!');
	at = p->tok;
	if (at.kind != T_IDENT) {
		parse_fail(p, &at, "expected a predicate after '@'");
		return false;
	}
	if (!parse_operand(p, &o))
		return false;
	if (o.kind != PTX_O_REG || p->f->regs[o.reg].type != PTX_PRED || o.imm) {
		parse_fail(p, &at, "a guard must be a predicate register");
		return false;
	}
	in->guard = o.reg;
	return true;
}

static bool parse_mnemonic(struct parser *p, struct mnemonic *mn)
{
	char buf[80];

	mn->nmods = 0;
	mn->base = p->tok;
	if (p->tok.kind != T_IDENT) {
		parse_fail(p, &p->tok, "expected an instruction before %s", token_text(&p->tok, buf, sizeof buf));
		return false;
	}
	parse_next(p);
	while (p->tok.kind == T_DOT) {
		if (mn->nmods == MAX_MODS) {
			parse_fail(p, &p->tok, "too many modifiers");
			return false;
		}
		mn->mods[mn->nmods++] = p->tok;
		parse_next(p);
	}
	return !parse_failed(p);
}

/* Copies the checked operands to their final place, where the fixups will fill in the labels. */
static bool store_operands(struct parser *p, struct ptx_inst *in, const struct operands *ops)
{
	in->nops = ops->n;
	in->ops = arena_alloc(p->m->arena, ops->n, sizeof *in->ops);
	if (!in->ops) {
		parse_fail_memory(p);
		return false;
	}
	memcpy(in->ops, ops->op, ops->n * sizeof *in->ops);
	for (unsigned i = 0; i < ops->n; i++)
		if (in->ops[i].kind == PTX_O_LABEL)
			p->fixups[in->ops[i].n].op = &in->ops[i];
	return true;
}

static void note_barrier(struct ptx_function *f, const struct ptx_inst *in)
{
	switch (in->op) {
	case PTX_OP_bar_sync:
	case PTX_OP_bar_arrive:
	case PTX_OP_bar_red:
	case PTX_OP_barrier_sync:
	case PTX_OP_barrier_arrive:
	case PTX_OP_barrier_red:
		f->has_barrier = true;
	}
}

static void emit_mov(
	struct parser *p, const struct ptx_inst *vector, const struct ptx_operand *to, const struct ptx_operand *from)
{
	struct ptx_inst in = *vector;

	in.op = PTX_OP_mov;
	in.m.vec = 0;
	in.nops = 2;
	in.ops = arena_alloc(p->m->arena, 2, sizeof *in.ops);
	if (!in.ops) {
		parse_fail_memory(p);
		return;
	}
	in.ops[0] = *to;
	in.ops[1] = *from;
	parse_emit(p, &in);
}

/* mov.v2.u32 {%a, %b}, {%b, %a}: through temporaries, since results may be sources of later elements. */
static void emit_vector_mov(struct parser *p, const struct ptx_inst *in, const struct operands *ops)
{
	struct ptx_operand tmp[8];

	for (unsigned i = 0; i < in->m.vec && i < 8; i++) {
		tmp[i] = (struct ptx_operand){.kind = PTX_O_REG,
			.type = in->m.type[0],
			.reg = parse_new_reg(p, "%tmp", in->m.type[0]),
			.pos = ops->op[1].pos};
		emit_mov(p, in, &tmp[i], &ops->op[1].elem[i]);
	}
	for (unsigned i = 0; i < in->m.vec && i < 8; i++)
		if (ops->op[0].elem[i].kind != PTX_O_SINK)
			emit_mov(p, in, &ops->op[0].elem[i], &tmp[i]);
}

void parse_instruction(struct parser *p)
{
	struct ptx_inst in = {.line = p->tok.line};
	const struct op_row *row;
	const struct token *where;
	struct operands ops;
	struct mnemonic mn;
	char why[160];

	if (!parse_guard(p, &in) || !parse_mnemonic(p, &mn))
		return;
	row = table_match(&mn, &in.m, &where, why, sizeof why);
	if (!row) {
		parse_fail(p, where, "%s", why);
		return;
	}
	in.op = table_opcode(row);
	if (!parse_operands(p, row, &ops) || !check_operands(p, row, &in, &ops, &mn.base))
		return;
	if (!parse_expect(p, ';', "';'"))
		return;
	if (in.op == PTX_OP_mov_vector) {
		emit_vector_mov(p, &in, &ops);
		return;
	}
	if (!store_operands(p, &in, &ops))
		return;
	note_barrier(p->f, &in);
	parse_emit(p, &in);
}
