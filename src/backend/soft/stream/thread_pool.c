/*
 * The worker threads.  A worker takes the first stream whose head can run, runs that command, completes it, and
 * repeats.  A worker that finds no stream helps with a soft_parallel() job; without one it sleeps.
 *
 * A thread starts when there is work and no idle worker.  A command may block for long (a host function, a kernel
 * that waits for another stream), so the number of workers is bounded by the ready streams, not by the processors.
 * Workers beyond the number of processors exit after IDLE_SECONDS without work.
 *
 * The first worker starts with the first context, so there is always one.  While the system refuses further threads, the
 * pool is starved: threads that submit or wait run ready commands themselves, because every worker may be blocked.
 */
#include "backend/soft/core/soft.h"

#include <signal.h>
#include <time.h>

#include "backend/soft/stream/queue.h"
#include "host/machine.h"
#include "host/env_number.h"
#include "util/futex.h"

#define MAX_WORKERS  256
#define IDLE_SECONDS 5
#define STACK_NEEDED (512u << 10) /* bytes, to run a command on a thread of the application */

/* One idle worker spins for this long before it sleeps, because waking a thread takes longer than a launch. */
#define SPIN_NS 50000

struct job {
	struct list link;
	void (*fn)(void *arg, uint64_t i, unsigned who);
	void *arg;
	uint64_t n, batch;
	_Atomic uint64_t next;
	unsigned joined, active; /* soft.queue_lock */
	pthread_cond_t done;
};

unsigned soft_parallelism(void)
{
	unsigned n = atomic_load_explicit(&soft.parallelism, memory_order_relaxed);

	if (!n) {
		n = env_number("GANGWAY_CPU_THREADS", MAX_WORKERS, 0);
		if (!n)
			n = machine_processors();
		atomic_store_explicit(&soft.parallelism, n, memory_order_relaxed);
	}
	return n;
}

static void workers_init(void)
{
	pthread_condattr_t attr;

	if (soft.workers.started)
		return;
	soft.workers.started = true;
	for (int i = 0; i < PRIORITIES; i++)
		list_init(&soft.workers.ready[i]);
	list_init(&soft.workers.jobs);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&soft.workers.work, &attr);
	pthread_condattr_destroy(&attr);
}

static void ready_remove(struct stream *s)
{
	list_remove(&s->wait);
	s->ready = false;
	soft.workers.nready--;
}

static struct stream *ready_take(void)
{
	for (int i = PRIORITIES - 1; i >= 0; i--) {
		if (list_empty(&soft.workers.ready[i]))
			continue;
		struct stream *s = container_of(soft.workers.ready[i].next, struct stream, wait);

		ready_remove(s);
		return s;
	}
	return NULL;
}

/* Commands that a thread of the application can run: they end without help from another thread of the application. */
static bool head_is_safe(const struct stream *s)
{
	const unsigned kinds = 1u << COMMAND_EMPTY | 1u << COMMAND_LAUNCH | 1u << COMMAND_COPY | 1u << COMMAND_FILL |
			       1u << COMMAND_RECORD | 1u << COMMAND_MEMOP;

	return kinds >> s->head->ops->kind & 1 && !s->head->blocks;
}

static struct stream *ready_take_safe(void)
{
	for (int i = PRIORITIES - 1; i >= 0; i--) {
		list_each(it, &soft.workers.ready[i])
		{
			struct stream *s = container_of(it, struct stream, wait);

			if (head_is_safe(s)) {
				ready_remove(s);
				return s;
			}
		}
	}
	return NULL;
}

/* The lock is held on entry and on return, and released while the command runs. */
static void stream_run_head(struct stream *s)
{
	struct command *c = s->head;

	pthread_mutex_unlock(&soft.queue_lock);
	queue_run_head(s, c);
	pthread_mutex_lock(&soft.queue_lock);
}

static void job_work(struct job *j, unsigned who)
{
	for (;;) {
		uint64_t i = atomic_fetch_add_explicit(&j->next, j->batch, memory_order_relaxed);

		if (i >= j->n)
			return;
		for (uint64_t end = i + j->batch < j->n ? i + j->batch : j->n; i < end; i++)
			j->fn(j->arg, i, who);
	}
}

/* A job that another worker can join, or NULL. */
static struct job *job_find_joinable(void)
{
	list_each(it, &soft.workers.jobs)
	{
		struct job *j = container_of(it, struct job, link);

		uint64_t next = atomic_load_explicit(&j->next, memory_order_relaxed);

		if (j->joined < soft_parallelism() && next < j->n)
			return j;
	}
	return NULL;
}

/* Join a job, if there is one; the lock is released meanwhile.  False: there is none. */
static bool job_help(void)
{
	struct job *j = job_find_joinable();

	if (!j)
		return false;
	unsigned who = j->joined++;
	j->active++;
	pthread_mutex_unlock(&soft.queue_lock);
	job_work(j, who);
	pthread_mutex_lock(&soft.queue_lock);
	if (--j->active == 0)
		pthread_cond_signal(&j->done);
	return true;
}

/* Spin until new work arrives or SPIN_NS have passed; true: there is work.  One worker at a time spins. */
static bool spin_for_work(void)
{
	unsigned seen = atomic_load(&soft.workers.news);

	if (soft.workers.spinning || soft_parallelism() == 1)
		return false;
	soft.workers.spinning = true;
	pthread_mutex_unlock(&soft.queue_lock);
	for (uint64_t until = soft_now() + SPIN_NS; atomic_load(&soft.workers.news) == seen && soft_now() < until;)
		for (int i = 0; i < 32 && atomic_load_explicit(&soft.workers.news, memory_order_relaxed) == seen; i++)
			cpu_relax();
	pthread_mutex_lock(&soft.queue_lock);
	soft.workers.spinning = false;
	return soft.workers.nready || job_find_joinable();
}

/* Sleep until there is work; true: the worker is superfluous and exits. */
static bool worker_sleep(void)
{
	struct timespec until;
	int err;

	if (spin_for_work())
		return false;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += IDLE_SECONDS;
	soft.workers.idle++;
	err = pthread_cond_timedwait(&soft.workers.work, &soft.queue_lock, &until);
	soft.workers.idle--;
	return err && !soft.workers.nready && soft.workers.count > soft_parallelism();
}

static void *worker_main(void *arg);

/* Workers block all signals, which are for the application, except those that an engine's own faults raise. */
static bool worker_start(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int err = pthread_create(&t, &attr, worker_main, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	soft.workers.count += !err;
	soft.workers.starved = err;
	return !err;
}

bool workers_start_first(void)
{
	bool running;

	pthread_mutex_lock(&soft.queue_lock);
	workers_init();
	running = soft.workers.count || worker_start();
	pthread_mutex_unlock(&soft.queue_lock);
	return running;
}

bool workers_allow_blocking(void)
{
	return !soft.workers.starved || soft.workers.idle > soft.workers.nready || worker_start();
}

/*
 * Called before a thread sleeps until work is complete.  The spinning worker, to which the work was left, may have
 * been preempted: wake or start another one.
 */
static void wake_another_worker(void)
{
	if (!soft.workers.nready || !soft.workers.spinning)
		return;
	if (soft.workers.idle)
		pthread_cond_signal(&soft.workers.work);
	else if (soft.workers.count < MAX_WORKERS)
		worker_start();
}

/*
 * Whether a command can run on the current stack.  Threads of the application may have small stacks, and may have
 * switched to another stack.
 */
static bool stack_is_sufficient(void)
{
	static __thread uintptr_t low __attribute__((tls_model("initial-exec")));
	static __thread uintptr_t high __attribute__((tls_model("initial-exec")));
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	pthread_attr_t attr;
	void *stack;
	size_t size;

	if (!high && !pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &stack, &size)) {
			low = (uintptr_t)stack + STACK_NEEDED;
			high = (uintptr_t)stack + size;
		}
		pthread_attr_destroy(&attr);
	}
	return here > low && here < high;
}

bool workers_run_one(void)
{
	struct stream *s = NULL;

	pthread_mutex_lock(&soft.queue_lock);
	if (soft.workers.starved && soft.workers.nready && stack_is_sufficient() && (s = ready_take_safe()))
		stream_run_head(s);
	else if (soft.workers.started)
		wake_another_worker();
	pthread_mutex_unlock(&soft.queue_lock);
	return s;
}

bool workers_run_stream(struct stream *s)
{
	bool mine;

	if (!stack_is_sufficient())
		return false;
	pthread_mutex_lock(&soft.queue_lock);
	mine = s->ready && head_is_safe(s);
	if (mine) {
		ready_remove(s);
		stream_run_head(s);
	}
	pthread_mutex_unlock(&soft.queue_lock);
	return mine;
}

static void *worker_main(void *arg)
{
	struct stream *s;

	(void)arg;
	pthread_mutex_lock(&soft.queue_lock);
	for (;;) {
		if ((s = ready_take()))
			stream_run_head(s);
		else if (!job_help() && worker_sleep())
			break;
	}
	soft.workers.count--;
	pthread_mutex_unlock(&soft.queue_lock);
	queue_thread_exit();
	return NULL;
}

/* Called when there is new work: wake a worker, or start one if fewer than `limit` exist. */
static void wake_workers(unsigned pending, unsigned limit)
{
	atomic_fetch_add(&soft.workers.news, 1);
	if (pending <= soft.workers.spinning)
		return;
	if (soft.workers.idle)
		pthread_cond_signal(&soft.workers.work);
	if (soft.workers.idle + soft.workers.spinning < pending && soft.workers.count < limit)
		worker_start();
}

void workers_add_ready(struct stream *s)
{
	workers_init();
	list_append(&soft.workers.ready[-s->priority], &s->wait);
	s->ready = true;
	soft.workers.nready++;
	wake_workers(soft.workers.nready, MAX_WORKERS);
}

void soft_parallel(uint64_t n, void (*fn)(void *arg, uint64_t i, unsigned who), void *arg)
{
	unsigned width = soft_parallelism();
	struct job j = {.fn = fn, .arg = arg, .n = n, .joined = 1, .done = PTHREAD_COND_INITIALIZER};

	j.batch = n / (width * 16) + 1;
	if (width == 1 || n == 1) {
		job_work(&j, 0);
		return;
	}
	pthread_mutex_lock(&soft.queue_lock);
	workers_init();
	list_append(&soft.workers.jobs, &j.link);
	for (unsigned i = 1; i < width && i < n; i++)
		wake_workers(i, width + 1);
	pthread_mutex_unlock(&soft.queue_lock);
	job_work(&j, 0);
	pthread_mutex_lock(&soft.queue_lock);
	list_remove(&j.link);
	while (j.active)
		pthread_cond_wait(&j.done, &soft.queue_lock);
	pthread_mutex_unlock(&soft.queue_lock);
	pthread_cond_destroy(&j.done);
}
