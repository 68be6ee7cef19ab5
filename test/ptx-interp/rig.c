/* Implements rig.h: an interp_host on plain host memory. */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
	void (*fn)(void *data, uint64_t i);
	void *data;
	uint64_t i;
};

static void *job_main(void *arg)
{
	struct job *j = arg;

	j->fn(j->data, j->i);
	return NULL;
}

static void parallel(void *arg, uint64_t n, void (*fn)(void *data, uint64_t i), void *data)
{
	pthread_t threads[RIG_THREADS];
	struct job jobs[RIG_THREADS];

	(void)arg;
	for (uint64_t i = 0; i < n; i++) {
		jobs[i] = (struct job){fn, data, i};
		pthread_create(&threads[i], NULL, job_main, &jobs[i]);
	}
	for (uint64_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static bool accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	struct rig *r = arg;
	bool found = false;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->nareas && !found; i++) {
		*base = r->areas[i].base;
		*size = r->areas[i].size;
		found = addr - *base < *size;
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

static uint64_t address(void *arg, const struct ptx_var *v)
{
	struct rig *r = arg;

	for (unsigned i = 0; i < r->nareas; i++)
		if (r->areas[i].var == v)
			return r->areas[i].base;
	return 0;
}

static void print(void *arg, const char *text, size_t len)
{
	struct rig *r = arg;

	if (len > sizeof(r->text) - 1 - r->len)
		len = sizeof(r->text) - 1 - r->len;
	memcpy(r->text + r->len, text, len);
	r->len += len;
	r->text[r->len] = 0;
}

static uint64_t device_alloc(void *arg, uint64_t size)
{
	return size > 1 << 20 ? 0 : (uint64_t)(uintptr_t)rig_alloc(arg, size);
}

static void device_free(void *arg, uint64_t addr)
{
	struct rig *r = arg;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->nareas; i++)
		if (r->areas[i].base == addr)
			r->areas[i].size = 0;
	pthread_mutex_unlock(&r->lock);
}

static int nested_kernel(void *arg, struct ptx_function *f, struct interp_kernel **k, char *why, size_t size)
{
	struct rig *r = arg;
	int e;

	pthread_mutex_lock(&r->lock);
	e = interp_kernel(r->program, f, k, why, size);
	pthread_mutex_unlock(&r->lock);
	return e;
}

void *rig_alloc(struct rig *r, size_t size)
{
	void *p = aligned_alloc(256, ((size + 255) & ~(size_t)255) + 256); /* no two allocations are adjacent */

	memset(p, 0, size);
	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->nareas; i++) { /* reuse a freed entry */
		if (r->areas[i].size)
			continue;
		free(r->areas[i].memory);
		r->areas[i] = (struct rig_area){(uint64_t)(uintptr_t)p, size, p, NULL};
		pthread_mutex_unlock(&r->lock);
		return p;
	}
	if (r->nareas == RIG_AREAS)
		abort();
	r->areas[r->nareas++] = (struct rig_area){(uint64_t)(uintptr_t)p, size, p, NULL};
	pthread_mutex_unlock(&r->lock);
	return p;
}

static void init_var(struct rig *r, const struct ptx_var *v, uint8_t *p)
{
	if (v->init)
		memcpy(p, v->init, v->init_size);
	for (uint32_t i = 0; i < v->nrelocs; i++) {
		const struct ptx_reloc *l = &v->relocs[i];
		struct ptx_function *f = ptx_function_find(r->module, l->name);
		struct ptx_var *to = f ? NULL : ptx_var_find(r->module, l->name);
		uint64_t value = (f ? interp_function_address(f) : address(r, to)) + (uint64_t)l->addend;

		value >>= l->shift;
		memcpy(p + l->offset, &value, l->size);
	}
}

void rig_open(struct rig *r, const char *ptx)
{
	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	r->host = (struct interp_host){.arg = r,
		.parallel = parallel,
		.threads = RIG_THREADS,
		.accessible = accessible,
		.address = address,
		.print = print,
		.assertion = print,
		.alloc = device_alloc,
		.release = device_free,
		.kernel = nested_kernel};
	r->module = ptx_module_create(ptx, strlen(ptx));
	if (r->module->error.line) {
		ptx_error_format(&r->module->error, r->message, sizeof(r->message));
		fprintf(stderr, "%s\n", r->message);
		exit(1);
	}
	r->program = interp_create(r->module);
	for (struct ptx_var *v = r->module->vars; v; v = v->next) {
		if (v->space != PTX_GLOBAL && v->space != PTX_CONST)
			continue;
		rig_alloc(r, v->size ? v->size : 1);
		r->areas[r->nareas - 1].var = v;
	}
	for (unsigned i = 0; i < r->nareas; i++)
		init_var(r, r->areas[i].var, r->areas[i].memory);
}

void rig_close(struct rig *r)
{
	interp_destroy(r->program);
	ptx_module_destroy(r->module);
	for (unsigned i = 0; i < r->nareas; i++)
		free(r->areas[i].memory);
	pthread_mutex_destroy(&r->lock);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum interp_fault rig_run(struct rig *r, const char *name, const unsigned grid[3], const unsigned block[3],
	size_t shared, const uint64_t *args, size_t nargs)
{
	struct interp_launch l = {.host = &r->host,
		.grid = {grid[0], grid[1], grid[2]},
		.block = {block[0], block[1], block[2]},
		.shared = shared,
		.params = args,
		.params_size = nargs * 8,
		.stack_limit = r->stack_limit,
		.grid_id = 7,
		.cluster = {r->cluster[0], r->cluster[1], r->cluster[2]},
		.cooperative = r->cooperative,
		.stop = r->stop};
	struct ptx_function *f = ptx_function_find(r->module, name);
	struct interp_kernel *k;
	enum interp_fault fault;
	int e;

	r->len = 0;
	r->text[0] = 0;
	if (!f) {
		fprintf(stderr, "no kernel %s\n", name);
		return INTERP_STOPPED;
	}
	e = interp_kernel(r->program, f, &k, r->message, sizeof(r->message));
	if (e) {
		fprintf(stderr, "%s: %d %s\n", name, e, r->message);
		return INTERP_STOPPED;
	}
	l.deadline = r->timeout_ms ? now() + r->timeout_ms * 1000000 : 0;
	fault = interp_launch(k, &l);
	memcpy(r->message, l.message, sizeof(r->message));
	return fault;
}
