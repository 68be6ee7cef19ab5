/*
 * The compile service of a process: the plug-in, the cache, a queue of jobs, and the threads that work on them.
 *
 * The threads start when there are jobs and end when there are none.  They are detached, and nothing waits for them
 * when the process ends: the plug-in's destructors do not run (plugin.c).
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ptx/interp/core.h"
#include "ptx/jit/cache.h"
#include "ptx/jit/target.h"
#include "ptx/jit/tier.h"
#include "util/build_note.h"
#include "util/list.h"
#include "util/own_folder.h"

#define PLUGIN_FILE "libgangway-jit.so"

enum { MAX_THREADS = 4, STACK_SIZE = 16 << 20, LOWEST_PRIORITY = 19 };

struct job {
	struct list link;
	struct jit_kernel *kernel;
	enum jit_variant variant;
};

/* One for each process. */
static struct service {
	pthread_once_t once;
	enum jit_mode mode;
	bool strict;
	const char *absence; /* why nothing can be compiled, though it is wanted; "" if it can be */
	enum jit_isa isa;
	struct jit_target target;
	char path[PATH_MAX], identity[64]; /* of the plug-in */
	struct jit_cache *cache;           /* NULL: none */
	pthread_mutex_t plugin_lock;
	const struct jit_compiler *compiler; /* plugin_lock; NULL: not loaded */
	char plugin_error[512];              /* plugin_lock; "" before the first attempt */

	pthread_mutex_t lock;  /* protects the rest */
	pthread_cond_t change; /* a job has ended */
	struct list jobs, running;
	unsigned threads, limit;
	bool low_priority;
} service = {.once = PTHREAD_ONCE_INIT,
	.absence = "",
	.plugin_lock = PTHREAD_MUTEX_INITIALIZER,
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.change = PTHREAD_COND_INITIALIZER};

/* ---- what this process can do ----------------------------------------------------------------------- */

/* False in a worker of gangway serve, whose sandbox forbids executable memory. */
static bool memory_can_execute(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can;

	if (p == MAP_FAILED)
		return false;
	can = !mprotect(p, page, PROT_READ | PROT_EXEC);
	munmap(p, page);
	return can;
}

static enum jit_mode mode_wanted(void)
{
	const char *tier = secure_getenv("GANGWAY_CPU_TIER");

	if (tier && !strcmp(tier, "interp"))
		return JIT_MODE_INTERP;
	service.strict = tier && !strcmp(tier, "strict");
	return service.strict || (tier && !strcmp(tier, "jit")) ? JIT_MODE_JIT : JIT_MODE_AUTO;
}

/* LLVM obeys variables of its own, and a set-uid program obeys none of the user who starts it. */
static bool compiler_allowed(void)
{
	return !getauxval(AT_SECURE);
}

static void service_init(void)
{
	struct stat st;

	list_init(&service.jobs);
	list_init(&service.running);
	service.mode = compiler_allowed() ? mode_wanted() : JIT_MODE_INTERP;
	if (service.mode == JIT_MODE_INTERP)
		return;
	if (!own_folder_file(PLUGIN_FILE, service.path, sizeof service.path) || stat(service.path, &st))
		service.absence = "there is no " PLUGIN_FILE;
	else if (!memory_can_execute())
		service.absence = "memory cannot be made executable";
	if (*service.absence) {
		service.mode = JIT_MODE_INTERP;
		return;
	}
	/* The build note does not tell two builds of a changed source tree apart. */
	snprintf(service.identity, sizeof service.identity, "%lld %lld.%09ld", (long long)st.st_size,
		(long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	service.isa = jit_target_isa();
	jit_target_describe(service.isa, &service.target);
	service.cache = jit_cache_open();
}

enum jit_mode jit_mode(void)
{
	pthread_once(&service.once, service_init);
	return service.mode;
}

bool jit_strict(void)
{
	return jit_mode() != JIT_MODE_AUTO && service.strict;
}

const char *jit_absence(void)
{
	jit_mode();
	return service.absence;
}

/* ---- one variant ------------------------------------------------------------------------------------ */

static const struct jit_compiler *compiler_load(char *why, size_t size)
{
	const struct jit_compiler *c;

	pthread_mutex_lock(&service.plugin_lock);
	if (!service.compiler && !*service.plugin_error) {
		void *library = dlopen(service.path, RTLD_NOW | RTLD_LOCAL);

		c = library ? dlsym(library, "gangway_jit") : NULL;
		if (!c)
			snprintf(service.plugin_error, sizeof service.plugin_error, "%s", dlerror());
		else if (strcmp(c->build, build_note_text))
			snprintf(service.plugin_error, sizeof service.plugin_error,
				"%.200s is of build %.80s, but this library is of build %.80s", service.path, c->build,
				build_note_text);
		else
			service.compiler = c;
	}
	c = service.compiler;
	snprintf(why, size, "%s", service.plugin_error);
	pthread_mutex_unlock(&service.plugin_lock);
	return c;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct jit_request request_for(const struct jit_kernel *j, enum jit_variant v)
{
	return (struct jit_request){.f = j->kernel->entry->fn,
		.k = j->kernel,
		.variant = v,
		.isa = service.isa,
		.cpu = service.target.cpu,
		.features = service.target.features};
}

/* Hands complete code to the launches: blocks that start from now on run it. */
static void code_publish(struct jit_kernel *j, enum jit_variant v, struct jit_code *code, uint64_t began, bool cached)
{
	perf_add_code(j->kernel->entry->fn->name, v, code);
	profile_add_code(j->profile, code, now_ns() - began, cached);
	atomic_store_explicit(&j->code[v], code, memory_order_release);
}

static bool load_from_cache(struct jit_kernel *j, enum jit_variant v, const uint8_t key[HASH_BYTES])
{
	uint64_t began = now_ns();
	struct jit_code *code;
	struct jit_object o;
	char why[256];
	int err;

	if (!jit_cache_load(service.cache, key, &o))
		return false;
	err = jit_code_create(&o, j->kernel->entry->ninsts, &code, why, sizeof why);
	jit_object_free(&o);
	if (!err)
		code_publish(j, v, code, began, true);
	return !err;
}

/* The compiler refuses kernels that it does not support by -ENOTSUP and -E2BIG. */
static void variant_refuse(struct jit_kernel *j, enum jit_variant v, int err, const char *why)
{
	profile_add_refusal(j->profile, why);
	if (err != -ENOTSUP && err != -E2BIG)
		atomic_store(&j->failure[v], strdup(why));
}

static bool variant_compile(struct jit_kernel *j, enum jit_variant v)
{
	struct jit_request r = request_for(j, v);
	const struct jit_compiler *c;
	struct jit_code *code = NULL;
	struct jit_object o = {0};
	uint8_t key[HASH_BYTES];
	uint64_t began = now_ns();
	char why[512];
	int err = -ENOENT;

	c = compiler_load(why, sizeof why);
	if (c)
		err = c->compile(&r, &o, why, sizeof why);
	if (!err)
		err = jit_code_create(&o, j->kernel->entry->ninsts, &code, why, sizeof why);
	if (err)
		variant_refuse(j, v, err, why);
	else
		code_publish(j, v, code, began, false);
	if (!err && service.cache) {
		jit_cache_key(&r, service.identity, key);
		jit_cache_store(service.cache, key, &o);
	}
	jit_object_free(&o);
	return !err;
}

void jit_look_up(struct jit_kernel *j, enum jit_variant v)
{
	struct jit_request r = request_for(j, v);
	uint8_t key[HASH_BYTES];
	int new = JIT_NEW;

	/* One thread looks it up; meanwhile the others interpret. */
	if (!atomic_compare_exchange_strong(&j->state[v], &new, JIT_LOOKING_UP))
		return;
	if (service.cache)
		jit_cache_key(&r, service.identity, key);
	atomic_store(&j->state[v], service.cache && load_from_cache(j, v, key) ? JIT_READY : JIT_LOOKED_UP);
}

/* ---- the queue -------------------------------------------------------------------------------------- */

static void job_end(struct job *job, bool ok)
{
	struct interp_program *p = job->kernel->kernel->program;
	void (*then)(void *arg) = NULL;
	void *arg = NULL;

	pthread_mutex_lock(&service.lock);
	list_remove(&job->link);
	atomic_store(&job->kernel->state[job->variant], ok ? JIT_READY : JIT_REFUSED);
	if (--p->jobs == 0) {
		then = p->then;
		arg = p->then_arg;
	}
	pthread_cond_broadcast(&service.change);
	pthread_mutex_unlock(&service.lock);
	free(job);
	if (then)
		then(arg);
}

static void *compile_main(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&service.lock);
	if (service.low_priority)
		setpriority(PRIO_PROCESS, (id_t)gettid(), LOWEST_PRIORITY);
	while (!list_empty(&service.jobs)) {
		struct job *job = container_of(service.jobs.next, struct job, link);

		list_remove(&job->link);
		list_append(&service.running, &job->link);
		pthread_mutex_unlock(&service.lock);
		job_end(job, variant_compile(job->kernel, job->variant));
		pthread_mutex_lock(&service.lock);
	}
	service.threads--;
	pthread_mutex_unlock(&service.lock);
	return NULL;
}

/* The threads block all signals, which are for the application. */
static bool thread_start(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	err = pthread_create(&t, &attr, compile_main, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	service.threads += !err;
	return !err;
}

void jit_enqueue(struct jit_kernel *j, enum jit_variant v, unsigned cores)
{
	struct job *job = calloc(1, sizeof *job);
	unsigned limit = cores / 2 > MAX_THREADS ? MAX_THREADS : cores / 2 ? cores / 2 : 1;

	if (!job)
		return;
	*job = (struct job){.kernel = j, .variant = v};
	pthread_mutex_lock(&service.lock);
	service.low_priority = cores == 1;
	if (atomic_load(&j->state[v]) != JIT_LOOKED_UP) {
		pthread_mutex_unlock(&service.lock);
		free(job);
		return;
	}
	list_append(&service.jobs, &job->link);
	atomic_store(&j->state[v], JIT_QUEUED);
	j->kernel->program->jobs++;
	/* Without any thread the job stays queued for the next attempt, and the kernel is interpreted. */
	if (service.threads < limit && !thread_start() && !service.threads) {
		list_remove(&job->link);
		atomic_store(&j->state[v], JIT_LOOKED_UP);
		j->kernel->program->jobs--;
		free(job);
	}
	pthread_mutex_unlock(&service.lock);
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

/* gangway run sets the variable for programs whose standard error is a terminal. */
static void show_progress(const struct jit_kernel *j)
{
	const char *wanted = secure_getenv("GANGWAY_PROGRESS");

	if (wanted && !strcmp(wanted, "1") && isatty(STDERR_FILENO))
		fprintf(stderr, "gangway: compiling kernel %.80s ...\n", j->kernel->entry->fn->name);
}

void jit_wait(struct jit_kernel *j, enum jit_variant v)
{
	struct timespec second;
	bool shown = false;

	clock_gettime(CLOCK_REALTIME, &second); /* the clock of condition variables */
	second.tv_sec++;
	pthread_mutex_lock(&service.lock);
	while (atomic_load(&j->state[v]) == JIT_QUEUED) {
		if (shown)
			pthread_cond_wait(&service.change, &service.lock);
		else if (pthread_cond_timedwait(&service.change, &service.lock, &second) == ETIMEDOUT) {
			show_progress(j);
			shown = true;
		}
	}
	pthread_mutex_unlock(&service.lock);
}

/* The lock is held. */
static void program_cancel(struct interp_program *p)
{
	list_each_safe(it, &service.jobs)
	{
		struct job *job = container_of(it, struct job, link);

		if (job->kernel->kernel->program != p)
			continue;
		list_remove(&job->link);
		p->jobs--;
		free(job);
	}
}

void jit_program_settle(struct interp_program *p)
{
	if (jit_mode() == JIT_MODE_INTERP)
		return;
	pthread_mutex_lock(&service.lock);
	program_cancel(p);
	while (p->jobs)
		pthread_cond_wait(&service.change, &service.lock);
	pthread_mutex_unlock(&service.lock);
}

bool jit_program_defer(struct interp_program *p, void (*then)(void *arg), void *arg)
{
	bool busy;

	if (jit_mode() == JIT_MODE_INTERP)
		return false;
	pthread_mutex_lock(&service.lock);
	program_cancel(p);
	busy = p->jobs;
	if (busy) {
		p->then = then;
		p->then_arg = arg;
	}
	pthread_mutex_unlock(&service.lock);
	return busy;
}
