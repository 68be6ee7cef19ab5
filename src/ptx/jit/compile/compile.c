/* Compiles one kernel: the list of passes. */
#include "ptx/jit/compile/compile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int compile_fail(struct compiler *c, int err, const char *fmt, ...)
{
	va_list ap;

	if (c->err)
		return c->err;
	c->err = err;
	va_start(ap, fmt);
	vsnprintf(c->why, c->why_size, fmt, ap);
	va_end(ap);
	return err;
}

static bool compiler_alloc(struct compiler *c)
{
	const struct ptx_function *f = c->f;
	size_t blocks = f->nblocks + 1u, regs = f->nregs + 1u, entries = f->ninsts + f->nblocks + 2u;

	c->words = (f->nblocks + 63) / 64;
	c->reg_words = (f->nregs + 63) / 64;
	c->order = calloc(blocks, sizeof(*c->order));
	c->position = calloc(blocks, sizeof(*c->position));
	c->loop_of = calloc(blocks, sizeof(*c->loop_of));
	c->loops = calloc(blocks, sizeof(*c->loops));
	c->list = calloc(blocks, sizeof(*c->list));
	c->pending = calloc(blocks * c->words + 1, 8);
	c->keep = calloc(blocks * c->reg_words + 1, 8);
	c->scratch = calloc(2 * c->words + 1, 8);
	c->lazy_nan = calloc(regs, sizeof(*c->lazy_nan));
	c->vars = calloc(regs, sizeof(*c->vars));
	c->pending_vars = calloc(blocks, sizeof(*c->pending_vars));
	c->starts = calloc(blocks, sizeof(*c->starts));
	c->entries = calloc(entries, sizeof(*c->entries));
	c->entry_blocks = calloc(entries, sizeof(*c->entry_blocks));
	return c->order && c->position && c->loop_of && c->loops && c->list && c->pending && c->keep && c->scratch &&
	       c->lazy_nan && c->vars && c->pending_vars && c->starts && c->entries && c->entry_blocks;
}

static void compiler_free(struct compiler *c)
{
	void *all[] = {c->order, c->position, c->loop_of, c->loops, c->list, c->pending, c->keep, c->scratch,
		c->lazy_nan, c->vars, c->pending_vars, c->starts, c->entries, c->entry_blocks, c->cached};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]);
}

static int check_size(struct compiler *c)
{
	const struct ptx_function *f = c->f;

	if (f->nblocks > MAX_COMPILED_BLOCKS || f->ninsts > MAX_COMPILED_INSTS || !f->blocks[0].live_in)
		return compile_fail(c, -E2BIG, "%s has %u instructions in %u blocks", f->name, f->ninsts, f->nblocks);
	if (c->request->k->program->checked)
		return compile_fail(c, -ENOTSUP, "the checked mode interprets");
	if (f->blocks[0].npred)
		return compile_fail(c, -ENOTSUP, "%s begins with a loop", f->name);
	if (c->request->k->has_alloca)
		return compile_fail(c, -ENOTSUP, "%s uses alloca", f->name);
	return 0;
}

/* Without a handler, LLVM ends the process at an error of the code generator. */
static void note_diagnostic(LLVMDiagnosticInfoRef info, void *arg)
{
	struct compiler *c = arg;
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
		return;
	text = LLVMGetDiagInfoDescription(info);
	compile_fail(c, -ENOTSUP, "LLVM reports: %s", text);
	LLVMDisposeMessage(text);
}

static int emit_module(struct compiler *c, struct jit_object *out)
{
	int err;

	c->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(c->context, note_diagnostic, c);
	c->module = LLVMModuleCreateWithNameInContext(c->f->name, c->context);
	c->b = LLVMCreateBuilderInContext(c->context);
	c->prologue = LLVMCreateBuilderInContext(c->context);
	err = compile_emit(c); /* LLVM IR */
	if (!err)
		err = compile_object(c, out); /* optimised, and as machine code */
	if (!err && c->err) {                 /* a diagnostic */
		free(out->bytes);
		free(out->entries);
		*out = (struct jit_object){0};
		err = c->err;
	}
	LLVMDisposeBuilder(c->prologue);
	LLVMDisposeBuilder(c->b);
	LLVMDisposeModule(c->module);
	LLVMContextDispose(c->context);
	return err;
}

int jit_compile(const struct jit_request *r, struct jit_object *out, char *why, size_t size)
{
	struct compiler c = {.request = r, .f = r->f, .x = r->k->entry, .why = why, .why_size = size};
	int err;

	*out = (struct jit_object){0};
	err = check_size(&c);
	if (!err && !compiler_alloc(&c))
		err = -ENOMEM;
	if (!err)
		err = compile_order(&c); /* blocks in the order in which they are tried */
	if (!err)
		err = compile_pending(&c); /* by block: the blocks that may be pending, registers to keep */
	if (!err)
		compile_nans(&c); /* registers whose NaNs are made canonical when they are read */
	if (!err)
		err = emit_module(&c, out);
	compiler_free(&c);
	return err;
}
