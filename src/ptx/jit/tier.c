/* The decision when a kernel is compiled. */
#include "ptx/jit/tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ptx/interp/core.h"

enum {
	WORK_FIRST = 1000 * 1000, /* instructions * threads that are worth a compilation */
	WORK_AGAIN = 100 * 1000,  /* the same, from the second launch on */
	TIME_AGAIN = 2000 * 1000, /* interpreted nanoseconds that are worth a compilation at the next launch */
	NS_PER_INST = 350 * 1000, /* what the compilation of an instruction takes at most, as a rule */
	MAX_INSTS = 20000,        /* of a kernel that is compiled: a bound on time and memory */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct jit_kernel *jit_kernel_create(const struct interp_kernel *k)
{
	struct profile_record *profile = profile_record_get(k);
	struct jit_kernel *j;

	/* Only the interpreter has the checked mode. */
	if (k->program->checked || (!profile && jit_mode() == JIT_MODE_INTERP))
		return NULL;
	j = calloc(1, sizeof *j);
	if (!j)
		return NULL;
	j->kernel = k;
	j->profile = profile;
	if (jit_mode() != JIT_MODE_INTERP && k->entry->fn->ninsts <= MAX_INSTS)
		return j;
	if (jit_mode() != JIT_MODE_INTERP)
		profile_add_refusal(profile, "too large to compile");
	for (int v = 0; v < JIT_VARIANTS; v++)
		atomic_store(&j->state[v], JIT_REFUSED);
	return j;
}

void jit_kernel_destroy(struct jit_kernel *j)
{
	if (!j)
		return;
	for (int v = 0; v < JIT_VARIANTS; v++)
		jit_code_destroy(atomic_load(&j->code[v])), free(atomic_load(&j->failure[v]));
	free(j);
}

static enum jit_variant launch_variant(const struct interp_launch *l)
{
	if (l->block[0] % LANES == 0)
		return JIT_FULL_AFFINE;
	if ((uint64_t)l->block[0] * l->block[1] * l->block[2] % LANES)
		return JIT_ANY;
	return l->block[0] % (LANES / 2) ? JIT_FULL : JIT_FULL_HALVES;
}

static bool is_worth_compiling(struct jit_kernel *j, unsigned launches, uint64_t work)
{
	return work >= WORK_FIRST ||
	       (launches > 1 && (work >= WORK_AGAIN || atomic_load(&j->interpreted_ns) >= TIME_AGAIN));
}

/* With one processor: the compilation would have been over by now, had the kernel not been running. */
static bool is_worth_waiting(struct jit_kernel *j, unsigned cores)
{
	return cores == 1 && atomic_load(&j->interpreted_ns) / NS_PER_INST >= j->kernel->entry->fn->ninsts;
}

static void launch_decide(struct jit_launch *x, const struct interp_launch *l)
{
	struct jit_kernel *j = x->kernel;
	uint64_t threads = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
	uint64_t work = threads * j->kernel->entry->fn->ninsts;
	unsigned launches = atomic_fetch_add(&j->launches, 1) + 1, cores = l->host->threads ? l->host->threads : 1;
	bool at_once = jit_mode() == JIT_MODE_JIT;

	work += atomic_fetch_add(&j->work, work);
	if (atomic_load(&j->state[x->variant]) >= JIT_READY)
		return;
	if (!at_once && !is_worth_compiling(j, launches, work))
		return;
	if (atomic_load(&j->state[x->variant]) == JIT_NEW)
		jit_look_up(j, x->variant);
	jit_enqueue(j, x->variant, at_once ? 0 : cores);
	if (at_once || is_worth_waiting(j, cores))
		jit_wait(j, x->variant);
}

void jit_launch_begin(struct jit_launch *x, struct jit_kernel *j, const struct interp_launch *l)
{
	*x = (struct jit_launch){.kernel = j, .variant = launch_variant(l)};
	if (!j)
		return;
	launch_decide(x, l);
	x->compiled = jit_launch_code(x);
	/* The time of compiled launches matters to the profile alone. */
	if (j->profile || !x->compiled)
		x->began = now_ns();
}

bool jit_launch_allowed(const struct jit_launch *x, char *why, size_t size)
{
	const char *failure = jit_absence();

	if (!jit_strict())
		return true;
	if (!*failure && x->kernel)
		failure = atomic_load(&x->kernel->failure[x->variant]);
	if (!failure || !*failure)
		return true;
	snprintf(why, size, "not compiled: %s", failure);
	return false;
}

void jit_launch_end(struct jit_launch *x)
{
	struct jit_kernel *j = x->kernel;
	uint64_t ns;

	if (!j || !x->began)
		return;
	ns = now_ns() - x->began;
	if (!x->compiled)
		atomic_fetch_add(&j->interpreted_ns, ns);
	profile_add_launch(j->profile, ns, x);
}
