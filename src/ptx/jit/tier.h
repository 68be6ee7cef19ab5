/*
 * tier.h - when a kernel is compiled, and who waits for it.
 *
 *	interpreted ── enough work ──► cache? ── found ──────────────────────────────► compiled
 *	                                 └─ not there ──► queue ──► compile thread ──┘
 *
 * A kernel starts interpreted.  When its launches have added up to enough work, a compile thread makes code for the
 * variant that these launches need, and blocks that start afterwards run the code.  With GANGWAY_CPU_TIER=jit the first
 * launch waits for the code instead; with GANGWAY_CPU_TIER=interp nothing is compiled.
 *
 * With one processor, compile threads have the lowest priority, and a launch waits for the code once the kernel has been
 * interpreted for longer than its compilation takes.
 *
 * GANGWAY_CPU_TIER=strict is jit for tests: a kernel that the compiler does not support is interpreted, but a launch fails
 * if its kernel has no code for another reason, such as a missing plug-in.
 *
 * Ownership: a kernel owns its code.  A job in the queue or in progress holds a reference to the program, so a program
 * can be released at any time, and is destroyed when the last job has ended.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ptx/jit/jit.h"

struct interp_launch;
struct interp_program;
struct profile_record;

/* LOOKED_UP: the cache has no such code. QUEUED: until the job has ended. */
enum jit_state { JIT_NEW, JIT_LOOKING_UP, JIT_LOOKED_UP, JIT_QUEUED, JIT_READY, JIT_REFUSED };

/* The compiled side of a kernel. Fields without a comment on locking are written by any launching thread. */
struct jit_kernel {
	const struct interp_kernel *kernel;
	_Atomic(struct jit_code *) code[JIT_VARIANTS]; /* set once */
	_Atomic int state[JIT_VARIANTS];               /* enum jit_state; the service changes it */
	atomic_uint launches;
	_Atomic uint64_t work;                 /* instructions * threads of all launches */
	_Atomic uint64_t interpreted_ns;       /* time of launches that began without code */
	_Atomic(char *) failure[JIT_VARIANTS]; /* why there is no code, if not the kernel is the reason; set once */
	struct profile_record *profile;        /* NULL: no profile */
};

struct jit_kernel *jit_kernel_create(const struct interp_kernel *k); /* NULL: this kernel is always interpreted */
void jit_kernel_destroy(struct jit_kernel *j);                       /* no job refers to it any more; NULL is fine */

/* One launch, between begin and end. */
struct jit_launch {
	struct jit_kernel *kernel;
	enum jit_variant variant;
	bool compiled; /* there was code at the beginning */
	uint64_t began;
	_Atomic uint64_t warps[2]; /* for the profile: interpreted, compiled */
};
void jit_launch_begin(struct jit_launch *x, struct jit_kernel *j, const struct interp_launch *l); /* may wait */
void jit_launch_end(struct jit_launch *x);
/* Between them. False, with a sentence in `why`: strict, and the launch must fail. */
bool jit_launch_allowed(const struct jit_launch *x, char *why, size_t size);

/* The code for blocks that start now; NULL: interpret. */
static inline const struct jit_code *jit_launch_code(const struct jit_launch *x)
{
	return x->kernel ? atomic_load_explicit(&x->kernel->code[x->variant], memory_order_acquire) : NULL;
}

/* ---- service.c: the queue and its threads ----------------------------------------------------------- */

enum jit_mode { JIT_MODE_INTERP, JIT_MODE_AUTO, JIT_MODE_JIT };
enum jit_mode jit_mode(void); /* INTERP also if nothing can be compiled in this process */
bool jit_strict(void);
const char *jit_absence(void); /* why nothing can be compiled in this process, though it is wanted; "" if it can be */

/* Looks for the variant in the cache; the state is then READY or LOOKED_UP. */
void jit_look_up(struct jit_kernel *j, enum jit_variant v);
/* Queues the variant, unless it is queued or done. cores: processors that kernels run on. */
void jit_enqueue(struct jit_kernel *j, enum jit_variant v, unsigned cores);
void jit_wait(struct jit_kernel *j, enum jit_variant v); /* until it is no longer queued */
/* Cancels the queued jobs of a program and waits for those in progress. */
void jit_program_settle(struct interp_program *p);
/* Cancels likewise. True: a job is in progress, and then(arg) will be called when the last one has ended. */
bool jit_program_defer(struct interp_program *p, void (*then)(void *arg), void *arg);

/* ---- profile.c: GANGWAY_PROFILE and GANGWAY_PERF ---------------------------------------------------- */

struct profile_record *profile_record_get(const struct interp_kernel *k); /* NULL: no profile is wanted */
void profile_add_launch(struct profile_record *r, uint64_t ns, const struct jit_launch *x);
void profile_add_code(struct profile_record *r, const struct jit_code *code, uint64_t ns, bool cached);
void profile_add_refusal(struct profile_record *r, const char *why);
void perf_add_code(const char *name, enum jit_variant v, const struct jit_code *code);
