/* The null engine: reads code, initialises variables, logs launches. */
#include "backend/null/null.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/soft/code/ptx_code.h"

struct null_code {
	struct code code;
	unsigned npieces;
	struct image_code **pieces;
	struct ptx_module **texts; /* NULL for a cubin */
	pthread_mutex_t lock;      /* texts, while a body is parsed */
	struct image_code *info;
	void **init; /* cubin: initial value of each variable, or NULL */
};

static void null_unload(struct code *code)
{
	struct null_code *n = (struct null_code *)code;

	if (!n)
		return;
	for (size_t i = 0; n->init && i < n->info->nglobals; i++)
		free(n->init[i]);
	for (unsigned i = 0; i < n->npieces; i++) {
		if (n->texts)
			ptx_module_destroy(n->texts[i]);
		if (n->pieces)
			image_code_destroy(n->pieces[i]);
	}
	free(n->init);
	free(n->texts);
	free(n->pieces);
	image_code_destroy(n->info);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* Copy the initial values of variables, because the image is valid only during loading. */
static bool copy_initial_values(struct null_code *n)
{
	n->init = calloc(n->info->nglobals + 1, sizeof *n->init);
	for (size_t i = 0; n->init && i < n->info->nglobals; i++) {
		const struct image_global *g = &n->info->globals[i];

		if (!g->init)
			continue;
		n->init[i] = malloc(g->size ? g->size : 1);
		if (!n->init[i])
			return false;
		memcpy(n->init[i], g->init, g->size);
	}
	return n->init != NULL;
}

static CUresult read_text(struct null_code *n, unsigned i, const struct engine_piece *p, struct engine_log *log)
{
	char text[512];

	n->texts[i] = ptx_module_create(p->data, p->size);
	if (!n->texts[i])
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (n->texts[i]->error.line) {
		ptx_error_format(&n->texts[i]->error, text, sizeof text);
		engine_log(log, "%s\n", text);
		return CUDA_ERROR_INVALID_PTX;
	}
	return ptx_code_create(&n->pieces[i], &n->texts[i], 1) ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult read_cubin(struct null_code *n, unsigned i, const struct engine_piece *p, struct engine_log *log)
{
	struct image_error err;
	int r = image_cubin_read(&n->pieces[i], p->data, p->size, &err);

	if (r && r != -ENOMEM)
		engine_log(log, "%s\n", err.text);
	return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : r ? CUDA_ERROR_INVALID_IMAGE : CUDA_SUCCESS;
}

static CUresult read_pieces(struct null_code *n, const struct engine_piece *pieces, struct engine_log *log)
{
	n->pieces = calloc(n->npieces, sizeof *n->pieces);
	n->texts = calloc(n->npieces, sizeof *n->texts);
	if (!n->pieces || !n->texts)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (unsigned i = 0; i < n->npieces; i++) {
		CUresult r = (pieces[i].kind == IMAGE_PTX ? read_text : read_cubin)(n, i, &pieces[i], log);

		if (r)
			return r;
	}
	if (image_code_join(&n->info, n->pieces, n->npieces) || !copy_initial_values(n))
		return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

static CUresult null_load(const struct engine_piece *pieces, unsigned count, const struct engine_device *dev,
	struct engine_log *log, struct code **code)
{
	struct null_code *n = calloc(1, sizeof *n);
	CUresult r;

	(void)dev;
	if (!n)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&n->lock, NULL);
	n->npieces = count;
	r = read_pieces(n, pieces, log);
	if (r) {
		null_unload(&n->code);
		return r;
	}
	n->code = (struct code){
		.kernels = n->info->kernels,
		.nkernels = n->info->nkernels,
		.globals = n->info->globals,
		.nglobals = n->info->nglobals,
		.ptx_version = n->info->sm,
		.binary_version = n->info->sm,
		.const_bytes = n->info->const_bytes,
	};
	*code = &n->code;
	return CUDA_SUCCESS;
}

static void null_measure(struct code *code, const struct image_kernel *kernel)
{
	struct null_code *n = (struct null_code *)code;

	pthread_mutex_lock(&n->lock);
	ptx_code_measure(
		&n->info->kernels[kernel - n->info->kernels], ptx_function_find(n->texts[kernel->piece], kernel->name));
	pthread_mutex_unlock(&n->lock);
}

static uint64_t variable_address(const struct code *code, const uint64_t *addresses, const char *name)
{
	for (size_t i = 0; i < code->nglobals; i++)
		if (!strcmp(code->globals[i].name, name))
			return addresses[i];
	return 0; /* a function: cannot be called here */
}

/* Write the initial value of a PTX variable, with the addresses of other variables in it. */
static void init_from_text(const struct null_code *n, size_t i, const uint64_t *addresses)
{
	const struct ptx_var *v = ptx_var_find(n->texts[n->code.globals[i].piece], n->code.globals[i].name);
	unsigned char *to = (unsigned char *)(uintptr_t)addresses[i];
	uint64_t size = n->code.globals[i].size;

	if (!v || !v->init)
		return;
	memcpy(to, v->init, v->init_size < size ? v->init_size : size);
	for (uint32_t k = 0; k < v->nrelocs; k++) {
		const struct ptx_reloc *r = &v->relocs[k];
		uint64_t value = (variable_address(&n->code, addresses, r->name) + r->addend) >> r->shift;

		if (r->offset <= size && r->size <= size - r->offset && r->size <= sizeof value)
			memcpy(to + r->offset, &value, r->size);
	}
}

static CUresult null_init_globals(struct code *code, const uint64_t *addresses, bool managed)
{
	struct null_code *n = (struct null_code *)code;

	for (size_t i = 0; i < code->nglobals; i++) {
		if (!addresses[i] || code->globals[i].managed != managed)
			continue;
		if (n->texts[code->globals[i].piece])
			init_from_text(n, i, addresses);
		else if (n->init[i])
			memcpy((void *)(uintptr_t)addresses[i], n->init[i], code->globals[i].size);
	}
	return CUDA_SUCCESS;
}

static char *describe_launch(const struct image_kernel *k, const struct launch *l, int *len)
{
	size_t room = strlen(k->name) + 2 * l->params_size + 256;
	char *line = malloc(room);

	if (!line)
		return NULL;
	const unsigned *g = l->grid, *b = l->block;
	int n = snprintf(line, room, "launch %s grid=%u,%u,%u block=%u,%u,%u shared=%zu params=", k->name, g[0], g[1],
		g[2], b[0], b[1], b[2], l->shared);
	for (size_t i = 0; i < l->params_size; i++)
		n += snprintf(line + n, room - n, "%02x", ((const unsigned char *)l->params)[i]);
	line[n++] = '\n';
	*len = n;
	return line;
}

/* One write per line keeps the lines of several threads and processes apart. */
static CUresult null_launch(struct code *code, const struct image_kernel *k, const struct launch *l)
{
	const char *path = secure_getenv("GANGWAY_NULL_LOG");
	int len, fd;
	char *line;

	(void)code;
	if (!path || !*path)
		return CUDA_SUCCESS;
	line = describe_launch(k, l, &len);
	fd = line ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
	bool written = fd >= 0 && write(fd, line, len) == len;
	if (fd >= 0)
		close(fd);
	free(line);
	return written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

const struct engine null_engine = {
	.name = "null",
	.accepts = IMAGE_WANT_CUBIN | IMAGE_WANT_PTX,
	.describe = null_describe,
	.load = null_load,
	.unload = null_unload,
	.measure = null_measure,
	.init_globals = null_init_globals,
	.launch = null_launch,
};
