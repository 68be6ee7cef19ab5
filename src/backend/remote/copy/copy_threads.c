/*
 * Threads that help with large copies.  One thread copies at 7 to 10 GB/s, the device fetches at 50 and more:
 * a few together keep it busy.  They are started when first needed, and sleep between copies.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "backend/remote/copy/staged_copy.h"

#define HELPERS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static struct copy_job *jobs;
static int helpers = -1; /* not started */

/* As long as there are chunks; an error ends it for all. */
static void work(struct copy_job *j)
{
	unsigned i;

	while (!j->error && (i = atomic_fetch_add(&j->taken, 1)) < j->count) {
		CUresult r = j->chunk(j, i);
		if (r)
			j->error = r;
	}
}

static bool has_more(struct copy_job *j)
{
	return !j->error && j->taken < j->count;
}

static void *help(void *arg)
{
	struct copy_job *j;

	pthread_mutex_lock(&lock);
	for (;;) {
		for (j = jobs; j && !has_more(j); j = j->next)
			;
		if (!j) {
			pthread_cond_wait(&more, &lock);
			continue;
		}
		j->inside++;
		pthread_mutex_unlock(&lock);
		call_context = j->context;
		work(j);
		pthread_mutex_lock(&lock);
		if (!--j->inside)
			pthread_cond_broadcast(&left);
	}
	return arg;
}

static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* Lock held. */
static void start(void)
{
	int want = processors() - 1;
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all); /* the application's handlers run on its own threads */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (helpers = 0; helpers < want && helpers < HELPERS; helpers++) {
		if (pthread_create(&thread, NULL, help, NULL))
			break;
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void finish(struct copy_job *j)
{
	struct copy_job **p = &jobs;

	pthread_mutex_lock(&lock);
	while (*p != j)
		p = &(*p)->next;
	*p = j->next;
	while (j->inside)
		pthread_cond_wait(&left, &lock);
	pthread_mutex_unlock(&lock);
}

CUresult copy_threads_run(struct copy_job *j)
{
	bool shared = j->count > 1 && remote.local;

	j->context = call_context;
	if (shared) {
		pthread_mutex_lock(&lock);
		if (helpers < 0)
			start();
		j->next = jobs;
		jobs = j;
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&lock);
	}
	work(j);
	if (shared)
		finish(j);
	return j->error;
}
