/* read_code.h - the declarations of a cubin or a PTX text, whichever the bytes are. */
#pragma once

#include "backend/soft/code/ptx_code.h"

struct read_code {
	struct image_code *code; /* NULL after an error */
	struct ptx_module *module;
	char error[320];
};

static void read_ptx(struct read_code *r, const char *text, size_t size)
{
	r->module = ptx_module_create(text, size);
	if (!r->module || ptx_error_format(&r->module->error, r->error, sizeof r->error) < 0)
		return;
	if (!r->module->error.line && !ptx_code_create(&r->code, &r->module, 1))
		for (size_t i = 0; i < r->code->nkernels; i++)
			ptx_code_measure(&r->code->kernels[i], ptx_function_find(r->module, r->code->kernels[i].name));
}

static struct read_code read_code(const void *data, size_t size)
{
	struct read_code r = {0};
	struct image_error err;

	if (image_sniff(data, size) == IMAGE_PTX)
		read_ptx(&r, data, size);
	else if (image_cubin_read(&r.code, data, size, &err))
		snprintf(r.error, sizeof r.error, "%s", err.text);
	return r;
}

static void read_code_finish(struct read_code *r)
{
	image_code_destroy(r->code);
	ptx_module_destroy(r->module);
}
