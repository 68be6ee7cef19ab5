/*
 * Threads that help with large copies.  One thread copies at 7 to 10 GB/s, the device fetches at 50 and more: a few
 * threads together keep it busy.  They are started by the first large copy, and sleep between copies.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "backend/remote/copy/state.h"
#include "backend/remote/guard.h"

#define COPY_THREADS_MAX 3

/* Runs chunks until none is left, or one has failed. */
static void copy_job_work(struct copy_job *j)
{
	unsigned i;

	while (!j->error && (i = atomic_fetch_add(&j->taken, 1)) < j->count) {
		CUresult r = j->chunk(j, i);
		if (r)
			j->error = r;
	}
}

static bool copy_job_has_work(struct copy_job *j)
{
	return !j->error && j->taken < j->count;
}

static void *copy_thread_run(void *arg)
{
	struct client *mine = arg;
	struct copy_threads *t = &mine->copy->threads;
	struct copy_job *j;

	client_thread_join(mine);
	pthread_mutex_lock(&t->lock);
	while (!t->stopping) {
		for (j = t->jobs; j && !copy_job_has_work(j); j = j->next)
			;
		if (!j) {
			pthread_cond_wait(&t->job_added, &t->lock);
			continue;
		}
		j->helpers++;
		pthread_mutex_unlock(&t->lock);
		call_context = j->context;
		copy_job_work(j);
		pthread_mutex_lock(&t->lock);
		if (!--j->helpers)
			pthread_cond_broadcast(&t->helper_left);
	}
	t->count--;
	pthread_cond_broadcast(&t->helper_left);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static int processors_usable(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

/* Lock held. */
static void copy_threads_start(struct copy_threads *t)
{
	int want = processors_usable() - 1;
	sigset_t all, old;
	pthread_t thread;

	sigfillset(&all); /* signal handlers of the application run on its own threads */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (t->count = 0; t->count < want && t->count < COPY_THREADS_MAX; t->count++) {
		if (pthread_create(&thread, NULL, copy_thread_run, client))
			break;
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void copy_job_add(struct copy_threads *t, struct copy_job *j)
{
	pthread_mutex_lock(&t->lock);
	if (t->count < 0)
		copy_threads_start(t);
	j->next = t->jobs;
	t->jobs = j;
	pthread_cond_broadcast(&t->job_added);
	pthread_mutex_unlock(&t->lock);
}

/* Returns when no thread works on the job any more. */
static void copy_job_remove(struct copy_threads *t, struct copy_job *j)
{
	struct copy_job **p = &t->jobs;

	pthread_mutex_lock(&t->lock);
	while (*p != j)
		p = &(*p)->next;
	*p = j->next;
	while (j->helpers)
		pthread_cond_wait(&t->helper_left, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

void copy_threads_stop(struct copy_state *s)
{
	struct copy_threads *t = &s->threads;

	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->job_added);
	while (t->count > 0)
		pthread_cond_wait(&t->helper_left, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

CUresult copy_threads_run(struct copy_job *j)
{
	bool shared = j->count > 1 && client->local; /* a network is slower than one thread */

	j->context = call_context;
	if (shared)
		copy_job_add(&client->copy->threads, j);
	copy_job_work(j);
	if (shared)
		copy_job_remove(&client->copy->threads, j);
	return j->error;
}
