/*
 * Running any PTX ends in a result or a fault. The kernel accesses only memory that it was given, and the process
 * survives.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/interp/interp.h"

enum { MEMORY = 4096, DEADLINE_NS = 20 * 1000 * 1000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool accessible(void *arg, uint64_t addr, uint64_t *base, uint64_t *size)
{
	*base = (uint64_t)(uintptr_t)arg;
	*size = MEMORY;
	return addr - *base < MEMORY;
}

static uint64_t address(void *arg, const struct ptx_var *v)
{
	return (uint64_t)(uintptr_t)arg + v->line * 16 % MEMORY;
}

static void run(struct interp_kernel *k, uint8_t *memory)
{
	const struct interp_host host = {.arg = memory, .threads = 1, .accessible = accessible, .address = address};
	uint64_t params[32];
	struct timespec t;
	struct interp_launch l = {.host = &host,
		.grid = {2, 1, 1},
		.block = {12, 4, 1},
		.shared = 256,
		.params = params,
		.params_size = sizeof(params)};

	for (unsigned i = 0; i < 32; i++)
		params[i] = i % 5 == 4 ? i : (uint64_t)(uintptr_t)memory + i * 64;
	clock_gettime(CLOCK_MONOTONIC, &t);
	l.deadline = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + DEADLINE_NS;
	if (interp_launch(k, &l) && !l.message[0])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ptx_module *m = ptx_module_create((const char *)data, size);
	struct interp_program *p = m ? interp_create(m) : NULL;
	uint8_t *memory = calloc(1, MEMORY);
	char why[300];
	unsigned n = 0;

	for (struct ptx_function *f = p && memory && !m->error.line ? m->functions : NULL; f && n < 8; f = f->next) {
		struct interp_kernel *k;

		if (!f->is_entry || !f->is_defined)
			continue;
		if (!interp_kernel(p, f, &k, why, sizeof(why))) {
			run(k, memory);
			n++;
		} else if (!why[0]) {
			abort();
		}
	}
	interp_destroy(p);
	ptx_module_destroy(m);
	free(memory);
	return 0;
}
