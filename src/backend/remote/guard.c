/* The list of threads that use a client. */
#include "backend/remote/guard.h"
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "backend/remote/copy/staged_copy.h"
#include "backend/remote/session/remote.h"
#include "backend/remote/wait/wait.h"

#define LAST_ENDING 3 /* below PTHREAD_DESTRUCTOR_ITERATIONS */

/* Of the process, not of a client. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static struct client_thread *threads;
static pthread_key_t thread_key;
static pthread_once_t thread_key_once = PTHREAD_ONCE_INIT;

static void thread_unlist(void *thread)
{
	struct client_thread *t = thread;

	if (++t->endings < LAST_ENDING) { /* other destructors of this thread use the client, in an unknown order */
		pthread_setspecific(thread_key, t);
		return;
	}
	pthread_mutex_lock(&threads_lock);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	client = NULL;
	pthread_mutex_unlock(&threads_lock);
}

static void thread_key_create(void)
{
	pthread_key_create(&thread_key, thread_unlist);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

static void thread_list(struct client_thread *t)
{
	pthread_once(&thread_key_once, thread_key_create);
	pthread_mutex_lock(&threads_lock);
	t->next = threads;
	t->link = &threads;
	if (threads)
		threads->link = &t->next;
	threads = t;
	t->listed = true;
	pthread_mutex_unlock(&threads_lock);
	pthread_setspecific(thread_key, t);
}

void client_thread_move(void)
{
	struct client *to = atomic_load_explicit(&client_now, memory_order_acquire);
	bool had_one = client != NULL;

	if (!client_thread.listed) /* a thread that is ending stays off the list */
		thread_list(&client_thread);
	atomic_store(&client_thread.using, to);
	client = to;
	if (!had_one)
		return;
	thread_exits_forget();
	call_forget_lane();
	copy_forget_thread();
	streams_forget_thread();
	if (to)
		contexts_follow();
}

void client_thread_join(struct client *c)
{
	client = c;
	client_thread.inside = 1;
}

bool client_in_use(struct client *c)
{
	bool found = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0;

	pthread_mutex_lock(&threads_lock);
	for (struct client_thread *t = threads; t && !found; t = t->next)
		found = atomic_load_explicit(&t->inside, memory_order_acquire) &&
			atomic_load_explicit(&t->using, memory_order_relaxed) == c;
	pthread_mutex_unlock(&threads_lock);
	return found;
}

void client_threads_forked(void)
{
	pthread_mutex_init(&threads_lock, NULL);
	threads = NULL;
	client_thread = (struct client_thread){0};
}
