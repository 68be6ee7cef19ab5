/*
 * For any text, the PTX parser accepts or refuses it; it never reads out of bounds, loops or leaks, and everything
 * that it accepts satisfies the promises of its header.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_operand(const struct ptx_function *f, const struct ptx_operand *o)
{
	switch (o->kind) {
	case PTX_O_REG:
		if (o->reg >= f->nregs)
			abort();
		break;
	case PTX_O_ADDR:
		if (o->reg != PTX_NOREG && o->reg >= f->nregs)
			abort();
		break;
	case PTX_O_LABEL:
		if (o->reg >= f->ninsts)
			abort();
		break;
	case PTX_O_VEC:
	case PTX_O_LABELS:
		for (uint32_t i = 0; i < o->n; i++)
			check_operand(f, &o->elem[i]);
		break;
	case PTX_O_VAR:
		if (!o->var)
			abort();
		break;
	case PTX_O_FUNC:
		if (!o->fn)
			abort();
		break;
	}
}

static void check_body(const struct ptx_function *f)
{
	if (!f->ninsts || !ptx_inst_ends(&f->insts[f->ninsts - 1]))
		abort();
	for (uint32_t i = 0; i < f->ninsts; i++) {
		const struct ptx_inst *in = &f->insts[i];

		if (in->guard != PTX_NOREG && (in->guard >= f->nregs || f->regs[in->guard].type != PTX_PRED))
			abort();
		for (unsigned k = 0; k < in->nops; k++)
			check_operand(f, &in->ops[k]);
	}
}

static void read_function(struct ptx_function *f)
{
	static const char letters[] = "pcdluf";
	int err = ptx_function_body(f);
	char text[600];

	ptx_error_format(&f->error, text, sizeof text);
	if (err) {
		if (!f->error.line || !f->error.message[0])
			abort();
		return;
	}
	check_body(f);
	if (f->is_entry)
		ptx_kernel_layout(f);
	for (const char *l = letters; *l; l++)
		free(ptx_dump(f, *l));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size, so that a sanitizer detects the first byte out of bounds. */
	char *text = malloc(size ? size : 1);
	struct ptx_module *m;

	if (!text)
		return 0;
	memcpy(text, data, size);
	m = ptx_module_create(text, size);
	free(text);
	if (!m)
		return 0;
	if (!m->error.line) {
		free(ptx_module_dump(m));
		for (struct ptx_function *f = m->functions; f; f = f->next)
			if (f->is_defined)
				read_function(f);
	} else if (!m->error.message[0]) {
		abort();
	}
	ptx_module_destroy(m);
	return 0;
}
