/* From PTX texts to a program: parsing, linking, and initial values of variables. */
#include "backend/cpu/check.h"
#include "backend/cpu/cpu.h"
#include "backend/soft/code/ptx_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Programs up to this size are parsed completely when loaded, so that errors appear in the same call as with CUDA. */
enum { EAGER_TEXT = 1 << 20 };

static void code_destroy(void *arg)
{
	struct cpu_code *c = arg;

	interp_destroy(c->program);
	image_code_destroy(c->info);
	for (unsigned i = 0; c->modules && i < c->npieces; i++)
		ptx_module_destroy(c->modules[i]);
	free(c->modules);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void cpu_unload(struct code *code)
{
	struct cpu_code *c = (struct cpu_code *)code;

	if (c && !interp_defer(c->program, code_destroy, c))
		code_destroy(c);
}

static void log_ptx(struct engine_log *log, const struct ptx_error *e)
{
	char text[512];

	ptx_error_format(e, text, sizeof text);
	engine_log(log, "%s\n", text);
}

static CUresult piece_read(struct cpu_code *c, unsigned i, const struct engine_piece *p, struct engine_log *log)
{
	c->modules[i] = ptx_module_create(p->data, p->size);
	if (!c->modules[i])
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (c->modules[i]->error.line) {
		log_ptx(log, &c->modules[i]->error);
		return CUDA_ERROR_INVALID_PTX;
	}
	return CUDA_SUCCESS;
}

/* ---- linking ---------------------------------------------------------------------------------------- */

static CUresult link_pieces(struct cpu_code *c, struct engine_log *log)
{
	char why[512];
	int r = ptx_link(c->modules, c->npieces, why, sizeof why);

	if (r == -EINVAL)
		engine_log(log, "error: %s\n", why);
	if (!r)
		r = ptx_code_create(&c->info, c->modules, c->npieces);
	if (r)
		return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
	for (size_t i = 0; i < c->info->nglobals; i++) {
		const struct image_global *g = &c->info->globals[i];

		ptx_var_find(c->modules[g->piece], g->name)->offset = i;
	}
	c->program = interp_create(c->modules[0]);
	if (!c->program)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (check_callbacks())
		interp_set_checked(c->program);
	return CUDA_SUCCESS;
}

/* Parses the bodies of all kernels and of their callees. */
static CUresult parse_kernels(struct cpu_code *c, struct engine_log *log)
{
	for (size_t i = 0; i < c->info->nkernels; i++) {
		struct image_kernel *k = &c->info->kernels[i];
		struct ptx_function *f = ptx_function_find(c->modules[k->piece], k->name);
		int r = ptx_code_measure(k, f);

		if (r == -ENOMEM)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (r) {
			if (f)
				log_ptx(log, &f->error);
			return CUDA_ERROR_INVALID_PTX;
		}
	}
	return CUDA_SUCCESS;
}

/* For kernels of programs too large for parse_kernels. The launch reports the error, if the body has one. */
void cpu_measure(struct code *code, const struct image_kernel *kernel)
{
	struct cpu_code *c = (struct cpu_code *)code;

	pthread_mutex_lock(&c->lock);
	ptx_code_measure(&c->info->kernels[kernel - c->info->kernels],
		ptx_function_find(c->modules[kernel->piece], kernel->name));
	pthread_mutex_unlock(&c->lock);
}

struct missing_symbols {
	struct engine_log *log;
	unsigned n;
};

/*
 * Functions of NVIDIA's device runtime, for launching grids from kernels.  Most programs that refer to one also have
 * kernels that do not: those can run, and launching the others fails.
 */
static bool is_device_runtime(const char *name)
{
	return !strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6);
}

static void report_missing(void *arg, const char *name, bool function)
{
	struct missing_symbols *m = arg;

	if (function && (interp_provides(name) || is_device_runtime(name)))
		return;
	m->n++;
	engine_log(m->log, "error: undefined reference to '%s'\n", name);
}

static CUresult pieces_load(struct cpu_code *c, const struct engine_piece *pieces, struct engine_log *log)
{
	struct missing_symbols missing = {.log = log};
	bool whole = false;
	size_t size = 0;
	CUresult r = CUDA_SUCCESS;

	c->modules = calloc(c->npieces, sizeof *c->modules);
	if (!c->modules)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < c->npieces && !r; i++) {
		r = pieces[i].kind == IMAGE_PTX ? piece_read(c, i, &pieces[i], log) : CUDA_ERROR_NO_BINARY_FOR_GPU;
		size += pieces[i].size;
		whole |= pieces[i].whole;
	}
	if (!r)
		r = link_pieces(c, log);
	if (!r && (whole || size <= EAGER_TEXT))
		r = parse_kernels(c, log);
	if (!r)
		ptx_link_missing(c->modules[0], report_missing, &missing);
	return !r && missing.n ? CUDA_ERROR_INVALID_PTX : r;
}

CUresult cpu_load(const struct engine_piece *pieces, unsigned n, const struct engine_device *dev,
	struct engine_log *log, struct code **code)
{
	struct cpu_code *c = calloc(1, sizeof *c);
	CUresult r;

	(void)dev;
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&c->lock, NULL);
	c->npieces = n;
	r = pieces_load(c, pieces, log);
	if (r) {
		cpu_unload(&c->code);
		return r;
	}
	c->code = (struct code){
		.kernels = c->info->kernels,
		.nkernels = c->info->nkernels,
		.globals = c->info->globals,
		.nglobals = c->info->nglobals,
		.ptx_version = (int)c->info->sm,
		.binary_version = (int)c->info->sm,
		.const_bytes = c->info->const_bytes,
	};
	*code = &c->code;
	return CUDA_SUCCESS;
}

/* ---- variables -------------------------------------------------------------------------------------- */

/* The address of a name in an initialiser: a function or variable that the module defines or declares. */
static uint64_t named_address(const struct ptx_module *m, const char *name, const uint64_t *addresses)
{
	const struct ptx_function *f = ptx_function_find(m, name);
	struct ptx_var *v = f ? NULL : ptx_var_find(m, name);

	if (f)
		return interp_function_address(f);
	v = v ? ptx_var_definition(v) : NULL;
	return v && (v->space == PTX_GLOBAL || v->space == PTX_CONST) ? addresses[v->offset] : 0;
}

static void init_global(const struct cpu_code *c, size_t i, const uint64_t *addresses)
{
	const struct image_global *g = &c->code.globals[i];
	const struct ptx_module *m = c->modules[g->piece];
	const struct ptx_var *v = ptx_var_find(m, g->name);
	unsigned char *to = (unsigned char *)(uintptr_t)addresses[i];

	if (!v || !v->init)
		return;
	memcpy(to, v->init, v->init_size < g->size ? v->init_size : g->size);
	for (uint32_t k = 0; k < v->nrelocs; k++) {
		const struct ptx_reloc *r = &v->relocs[k];
		uint64_t value = named_address(m, r->name, addresses);

		value = (value + (uint64_t)r->addend) >> r->shift;
		if (r->offset <= g->size && r->size <= g->size - r->offset && r->size <= sizeof value)
			memcpy(to + r->offset, &value, r->size);
	}
}

CUresult cpu_init_globals(struct code *code, const uint64_t *addresses, bool managed)
{
	for (size_t i = 0; i < code->nglobals; i++)
		if (addresses[i] && code->globals[i].managed == managed)
			init_global((struct cpu_code *)code, i, addresses);
	return CUDA_SUCCESS;
}
